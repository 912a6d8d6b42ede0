package io.keygroups.spark.operators

import java.nio.charset.StandardCharsets.UTF_8

import io.keygroups.spark.keys.{KeyOrder, KeyProbe, KeyShape}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.streaming.state.keygroups.WorkerInternals
import org.apache.spark.sql.types._

/**
 * The rows that a worker gets: the function's columns, then the key as an UnsafeRow, its partition hash, and its locator.
 *
 * @param columns what the function sees
 * @param key what its state is kept by
 */
private[operators] final class KeyedInput(columns: Seq[Expression], key: Seq[Attribute], input: Seq[Attribute])
  extends Serializable {
  private val keySchema = StructType(key.map(column => StructField(column.name, column.dataType, column.nullable)))

  val schema: StructType = StructType(
    columns.zipWithIndex.map { case (column, i) =>
      val name = column match {
        case named: NamedExpression => named.name
        case _ => s"_$i"
      }
      StructField(name, column.dataType) // nullable: the first row has none
    } ++ Seq(
      StructField("__key", BinaryType, nullable = false),
      StructField("__locator", LongType, nullable = false)))

  /**
   * A first row with the view in place of a key, then the rows. One row object serves all: each is written to an Arrow batch
   * before the next is asked for.
   */
  def of(view: String, rows: Iterator[InternalRow], maxParallelism: Int): Iterator[InternalRow] = {
    val first = new JoinedRow(new GenericInternalRow(columns.length), InternalRow(view.getBytes(UTF_8), 0L))
    Iterator.single[InternalRow](first) ++ keyed(rows, maxParallelism)
  }

  private def keyed(rows: Iterator[InternalRow], maxParallelism: Int): Iterator[InternalRow] = {
    val data = UnsafeProjection.create(columns, input)
    val keyOf = UnsafeProjection.create(key.map(WorkerInternals.normalized), input)
    val probe = KeyProbe(KeyShape(keySchema, KeyOrder.Hashed, keySchema.indices.map(Seq(_))), maxParallelism)
    val where = new GenericInternalRow(2)
    val both = new JoinedRow()
    rows.map { row =>
      val bytes = keyOf(row)
      probe.set(bytes)
      where.update(0, bytes.getBytes)
      where.setLong(1, probe.locator)
      both(data(row), where)
    }
  }
}
