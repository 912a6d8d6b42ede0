package io.keygroups.spark.session

import io.keygroups.spark.bridge.FamilyMessage
import io.keygroups.spark.keys.KeyShape
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * A column family: rows of one schema, with a key space of their own.
 *
 * @param id its number in segments
 * @param values how values are stored
 * @param hasLists a key has any number of values
 * @param isInternal Spark's own bookkeeping, whose keys are not counted as the user's
 */
final case class Family(id: Int, name: String, shape: KeyShape, values: ValueCodec, hasLists: Boolean, isInternal: Boolean,
    message: FamilyMessage) {

  /** The family with values as their UnsafeRows, as workers write them: they rewrite all if the schema changes. */
  def plain: Family =
    if (message.encoding == PlainValues.Encoding) this
    else {
      val columns = DataType.fromJson(message.value_schema).asInstanceOf[StructType].length
      copy(values = new PlainValues(columns), message = message.copy(encoding = PlainValues.Encoding))
    }
}

object Family {
  /** Begins the name of a family that says which operator's workers write the store: `keygroups.partition.tables`. */
  private val Operator = "$operator_"

  def isOfWorker(name: String): Boolean = name.startsWith(Operator)
}
