package io.keygroups.spark.store

import io.keygroups.spark.Failures
import io.keygroups.spark.bridge.FamilyMessage
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{DataType, StructType}

import scala.util.Try

/**
 * What of a family says how the bytes of its rows are read. Rows of a checkpoint were checked by the family that its catalog
 * has; read as those of another they would point outside of themselves.
 */
object StoredForm {

  /** KeyGroupsException unless rows of `known`, as the catalog of a version has it, can be read as those of `family`. */
  def requireSame(known: FamilyMessage, family: Family): Unit = {
    val declared = family.message
    if (known.encoding != declared.encoding) {
      throw Failures.setting(s"the values of column family '${family.name}' are kept in another encoding (expected " +
        s"${known.encoding}, found ${declared.encoding}): set spark.sql.streaming.stateStore.encodingFormat to " +
        known.encoding)
    }
    demand(family, known.lists == declared.lists, s"lists ${declared.lists}", s"lists ${known.lists}")
    demand(family, keyForm(known.encoder) == keyForm(declared.encoder), declared.encoder, known.encoder)
    demand(family, isSame(known.key_schema, declared.key_schema), declared.key_schema, known.key_schema)
    if (known.encoding == PlainValues.Encoding) {
      demand(family, isSame(known.value_schema, declared.value_schema), declared.value_schema, known.value_schema)
    }
  }

  /** Mostly they are equal: a session opens each family with each batch, and parsing takes longer than the rest of it. */
  private def isSame(known: String, declared: String): Boolean = known == declared || columns(known) == columns(declared)

  private def demand(family: Family, holds: Boolean, expected: String, found: String): Unit =
    if (!holds) throw Failures.unfit(family.name, expected, found)

  /** Keys of equal form have their UnsafeRow at the same place. */
  private def keyForm(encoder: String): String =
    if (encoder.contains("RangeKeyScan") || encoder.contains("Timestamp")) encoder else "row"

  /** For each column whether its value is where the row has it, or elsewhere; None if this is no schema. */
  private def columns(json: String): Option[Seq[Boolean]] =
    Try(DataType.fromJson(json)).toOption.collect { case s: StructType => s.map(f => UnsafeRow.isFixedLength(f.dataType)) }
}
