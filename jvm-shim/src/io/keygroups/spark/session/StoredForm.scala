package io.keygroups.spark.session

import io.keygroups.spark.Failures
import io.keygroups.spark.bridge.FamilyMessage
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{DataType, NullType, StructField, StructType}

import scala.util.Try

/**
 * The part of a family's declaration that says how the bytes of its rows are read. The rows of a checkpoint were checked by
 * the family in its catalog; read as those of another family they could point outside of themselves.
 */
object StoredForm {
  /** What Spark's deduplication stores as value: one column without content. */
  private val Placeholder = StructType(Seq(StructField("__dummy__", NullType)))

  /** KeyGroupsException unless rows of `known`, as the catalog of a version has it, can be read as those of `family`. */
  def requireReadable(known: FamilyMessage, family: Family): Unit = {
    val declared = family.message
    if (known.encoding != declared.encoding) {
      throw Failures.setting(s"the values of column family '${family.name}' are in another encoding (expected " +
        s"${known.encoding}, found ${declared.encoding}): set spark.sql.streaming.stateStore.encodingFormat to " +
        known.encoding)
    }
    demand(family, known.lists == declared.lists, s"lists ${declared.lists}", s"lists ${known.lists}")
    demand(family, keyForm(known.encoder) == keyForm(declared.encoder), declared.encoder, known.encoder)
    demand(family, isSame(known.key_schema, declared.key_schema), declared.key_schema, known.key_schema)
    if (known.encoding == PlainValues.Encoding) {
      demand(family, hasReadableValues(known.value_schema, declared.value_schema), declared.value_schema, known.value_schema)
    }
  }

  /** Some of Spark's state readers declare no column for the placeholder. Rows without columns are read at no address. */
  private def hasReadableValues(known: String, declared: String): Boolean =
    isSame(known, declared) || (columns(declared).contains(Seq.empty) && schema(known).contains(Placeholder))

  /** Mostly they are equal, and parsing takes longer than the rest of opening a family, which each batch does. */
  private def isSame(known: String, declared: String): Boolean = known == declared || columns(known) == columns(declared)

  private def demand(family: Family, holds: Boolean, expected: String, found: String): Unit =
    if (!holds) throw Failures.unfit(family.name, expected, found)

  /** Keys of equal form have their UnsafeRow at the same place. */
  private def keyForm(encoder: String): String =
    if (encoder.contains("RangeKeyScan") || encoder.contains("Timestamp")) encoder else "row"

  /** For each column whether its value is at a fixed place in the row; None if this is not a schema. */
  private def columns(json: String): Option[Seq[Boolean]] = schema(json).map(_.map(f => UnsafeRow.isFixedLength(f.dataType)))

  private def schema(json: String): Option[StructType] =
    Try(DataType.fromJson(json)).toOption.collect { case s: StructType => s }
}
