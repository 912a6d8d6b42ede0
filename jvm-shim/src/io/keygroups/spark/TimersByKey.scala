package io.keygroups.spark

import io.keygroups.spark.bridge.FamilyMessage
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.execution.streaming.state.{RangeKeyScanStateEncoderSpec, UnsafeRowPair}
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * The timers of a keyed function as transformWithState stores them a second time, by key: a keyed function stores them once, by
 * time, and needs no other order.
 *
 * @param name of the family in which they are stored
 */
private[spark] final class TimersByKey private (val name: String, keySchema: StructType, val valueSchema: StructType) {
  def encoder: RangeKeyScanStateEncoderSpec = RangeKeyScanStateEncoderSpec(keySchema, Seq(0))

  /** Rows of key and time from rows of time and key. One row object serves all, as in each scan. */
  def byKey(rows: Iterator[UnsafeRowPair]): Iterator[UnsafeRowPair] = {
    val swap = UnsafeProjection.create(Seq(1, 0).map(i => BoundReference(i, keySchema(i).dataType, keySchema(i).nullable)))
    val pair = new UnsafeRowPair()
    rows.map(row => pair.withRows(swap(row.key), row.value))
  }
}

private[spark] object TimersByKey {
  private val Stored =
    Seq("$eventTimers", "$procTimers").map(clock => s"${clock}_keyToTimestamp" -> s"${clock}_timestampToKey").toMap

  /** The timers that are meant by the name of a family which the version does not have. */
  def stored(name: String, families: Iterable[FamilyMessage]): Option[TimersByKey] =
    for {
      byTime <- Stored.get(name) if !families.exists(_.name == name)
      family <- families.find(_.name == byTime)
    } yield new TimersByKey(byTime, schema(family.key_schema), schema(family.value_schema))

  private def schema(json: String): StructType = DataType.fromJson(json).asInstanceOf[StructType]
}
