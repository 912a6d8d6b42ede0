package io.keygroups.spark.session

import io.keygroups.spark.bridge.FamilyMessage
import io.keygroups.spark.keys.KeyProbe
import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.Block
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.RecordType
import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals
import org.apache.spark.unsafe.Platform

/**
 * The rows of one family that versions changed, as Spark's state reader wants them: what happened, key, value (null of a
 * removed key), and the batch. Of a batch whose writes were kept all come, in their order; of any other a key comes once,
 * with what it was at its end. Of a list each value comes by itself.
 *
 * @param changes versions with the rows that they changed only, oldest first; released at the end
 */
final class ChangeFeed(changes: Seq[LoadedVersion], family: Family) {
  private val probe = KeyProbe(family.shape, changes.headOption.fold(1)(_.maxParallelism))

  def records: SparkInternals.Changes =
    SparkInternals.changes(changes.iterator.flatMap(recordsOf), () => changes.foreach(_.release()))

  private def recordsOf(change: LoadedVersion): Iterator[SparkInternals.Change] =
    for {
      known <- change.catalog.families.iterator.filter(_.name == family.name)
      number = requireReadable(known)
      segment <- change.segments.iterator
      block <- segment.part(number).iterator.flatMap(_.blocks)
      row <- Iterator.range(0, block.rows)
      (kind, value) <- valuesOf(block, row)
    } yield (kind, keyOf(block, row), value, change.key.version - 1)

  private def requireReadable(known: FamilyMessage): Int = {
    StoredForm.requireReadable(known, family)
    known.id
  }

  private def valuesOf(block: Block, row: Int): Iterator[(RecordType.Value, UnsafeRow)] =
    if (block.isTombstone(row)) Iterator.single((RecordType.DELETE_RECORD, null))
    else if (!family.hasLists) {
      Iterator.single((RecordType.PUT_RECORD, family.values.read(block, row)))
    } else {
      val first = if (block.isAppended(row)) RecordType.MERGE_RECORD else RecordType.PUT_RECORD
      val bytes = new Array[Byte](block.valueLength(row))
      block.copyValue(row, bytes, Platform.BYTE_ARRAY_OFFSET)
      val kinds = Iterator.single(first) ++ Iterator.continually(RecordType.MERGE_RECORD)
      kinds.zip(new ValueList(family.values, bytes))
    }

  private def keyOf(block: Block, row: Int): UnsafeRow = {
    val length = block.keyLength(row)
    probe.row(copy(block.keyAddress(row), length), Platform.BYTE_ARRAY_OFFSET, length)
  }

  private def copy(address: Long, length: Int): Array[Byte] = {
    val bytes = new Array[Byte](length)
    Bytes.copy(null, address, bytes, Platform.BYTE_ARRAY_OFFSET, length)
    bytes
  }
}
