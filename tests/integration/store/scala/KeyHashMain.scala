package io.keygroups.spark.keys

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GetStructField, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** For a key of each type, prints who hashes it and how many of its rows have the hash that Spark's expression gives. */
object KeyHashMain {
  private val random = new Random(11)
  private val window = StructType(Seq(StructField("start", TimestampType), StructField("end", TimestampType)))
  private val nested = StructType(Seq(StructField("name", StringType), StructField("window", window)))
  private val types = Seq(BooleanType, ByteType, ShortType, IntegerType, LongType, DateType, TimestampType, TimestampNTZType,
    DecimalType(9, 2), DecimalType(18, 0), DecimalType(38, 4), StringType, StringType("UTF8_LCASE"), BinaryType, FloatType,
    DoubleType, ArrayType(IntegerType), window, nested)

  def main(args: Array[String]): Unit = {
    types.foreach(dataType => report(dataType.sql, keyOf(dataType), Seq(Seq(0))))
    report("all", keyOf(types: _*), types.indices.map(Seq(_)))
    report("shared ones", keyOf(IntegerType, nested, StringType, LongType), Seq(Seq(3), Seq(1), Seq(2), Seq(0)))
    report("start of a window", keyOf(LongType, nested), Seq(Seq(1, 1, 0), Seq(0)))
  }

  private def keyOf(types: DataType*): StructType =
    StructType(types.zipWithIndex.map { case (dataType, i) => StructField(s"c$i", dataType) })

  private def report(name: String, schema: StructType, ways: Seq[Seq[Int]]): Unit = {
    val shape = KeyShape(schema, KeyOrder.Hashed, ways)
    val hash = shape.hash.get
    val spark = HashPartitioning(ways.map(expression(schema, _)), 1).partitionIdExpression.children.head
    val rows = Seq.fill(300)(key(schema))
    val equal = rows.count(row => hash(row) == spark.eval(row).asInstanceOf[Int])
    val different = rows.map(hash(_)).distinct.length
    println(s"$name: ${if (shape.hash.get eq hash) "shared" else "projected"}, $equal equal, ${different > 1}")
  }

  private def expression(schema: StructType, way: Seq[Int]) = {
    val outer: Expression = BoundReference(way.head, schema(way.head).dataType, nullable = true)
    way.tail.foldLeft(outer)((struct, i) => GetStructField(struct, i))
  }

  private def key(schema: StructType): UnsafeRow = UnsafeProjection.create(schema)(row(schema)).copy()

  private def row(schema: StructType): InternalRow = InternalRow.fromSeq(schema.map(field => value(field.dataType)))

  private def value(dataType: DataType): Any = if (random.nextInt(6) == 0) null else dataType match {
    case BooleanType => random.nextBoolean()
    case ByteType => random.nextInt().toByte
    case ShortType => random.nextInt().toShort
    case IntegerType | DateType => random.nextInt()
    case LongType | TimestampType | TimestampNTZType => random.nextLong()
    case decimal: DecimalType => Decimal(BigDecimal(random.nextInt(1 << 20), decimal.scale), decimal.precision, decimal.scale)
    case _: StringType => UTF8String.fromString(random.nextString(random.nextInt(9)))
    case BinaryType => random.nextBytes(random.nextInt(17))
    case FloatType => random.nextFloat()
    case DoubleType => random.nextDouble()
    case ArrayType(element, _) => new GenericArrayData(Seq.fill(3)(value(element)).toArray[Any])
    case struct: StructType => row(struct)
  }
}
