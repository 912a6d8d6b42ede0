package io.keygroups.spark.operators

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._

/**
 * Schemas as Spark records them. Its checks and its state reader turn each schema of an operator into one of Avro, which has
 * identifiers for names, and neither maps whose keys are no texts, nor intervals, nor collations. A column of another kind is
 * recorded as one whose values lie in the row in the same way: an interval as its number, such a map as its bytes. Its metadata
 * have the column as it is.
 */
private[operators] object Recordable {
  /** Metadata: the column as it was declared, in a schema of its own. */
  private val Declared = "keygroups.declared"

  def of(family: StateStoreColFamilySchema): StateStoreColFamilySchema = family.copy(
    keySchema = of(family.keySchema),
    valueSchema = of(family.valueSchema),
    keyStateEncoderSpec = family.keyStateEncoderSpec.map {
      case NoPrefixKeyStateEncoderSpec(schema) => NoPrefixKeyStateEncoderSpec(of(schema))
      case PrefixKeyScanStateEncoderSpec(schema, columns) => PrefixKeyScanStateEncoderSpec(of(schema), columns)
      case RangeKeyScanStateEncoderSpec(schema, columns) => RangeKeyScanStateEncoderSpec(of(schema), columns)
      case other => other
    },
    userKeyEncoderSchema = family.userKeyEncoderSchema.map(of))

  /** A schema of the same rows that Spark can record. Spark also wants each column of a value to be nullable. */
  def of(schema: StructType): StructType = StructType(schema.zip(plain(schema)).map { case (declared, plain) =>
    if (plain.name == declared.name && plain.dataType == nullable(declared.dataType)) plain.copy(metadata = declared.metadata)
    else plain.copy(metadata =
      new MetadataBuilder().withMetadata(declared.metadata).putString(Declared, StructType(Seq(declared)).json).build())
  })

  /** The schema as it was declared. */
  def declared(recorded: StructType): StructType = StructType(recorded.map { column =>
    if (!column.metadata.contains(Declared)) column
    else DataType.fromJson(column.metadata.getString(Declared)).asInstanceOf[StructType].head
  })

  private def plain(schema: StructType): StructType = StructType(
    names(schema.map(_.name)).zip(schema).map { case (name, field) => StructField(name, plain(field.dataType)) })

  private def plain(kind: DataType): DataType = kind match {
    case schema: StructType => plain(schema)
    case ArrayType(element, _) => ArrayType(plain(element))
    case MapType(key: StringType, value, _) if key == StringType => MapType(key, plain(value))
    case _: MapType => BinaryType
    case _: DayTimeIntervalType => LongType
    case _: StringType => StringType
    case _ => kind
  }

  private def nullable(kind: DataType): DataType = kind match {
    case schema: StructType => StructType(schema.map(field => StructField(field.name, nullable(field.dataType))))
    case ArrayType(element, _) => ArrayType(nullable(element))
    case MapType(key, value, _) => MapType(nullable(key), nullable(value))
    case _ => kind
  }

  /** Identifiers for names, each another one. */
  private def names(all: Seq[String]): Seq[String] = all.foldLeft(Seq.empty[String]) { (taken, name) =>
    val spelled = name.map(char => if (char.isLetterOrDigit) char else '_')
    val start = if (spelled.headOption.exists(char => char.isLetter || char == '_')) spelled else s"_$spelled"
    taken :+ Iterator.iterate(start)(_ + "_").find(one => !taken.contains(one) && (one == name || !all.contains(one))).get
  }
}
