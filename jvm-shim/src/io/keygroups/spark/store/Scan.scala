package io.keygroups.spark.store

import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.MappedSegment
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair
import org.apache.spark.unsafe.Platform

/**
 * Rows of a session: first those of the segments, merged, that no overlay holds; then those of the overlays.
 *
 * The session may write while a scan goes on. A row that an overlay got after the scan began is not met there any more,
 * so if it takes the place of a segment's row, it is given out in that row's turn: no key is lost, none comes twice.
 *
 * @param overlays newest first
 * @param segments newest first
 * @param locator only rows of this locator, for a prefix scan
 * @param accept a last test of the key
 */
final class Scan(session: Session, overlays: Array[Overlay], segments: Array[MappedSegment], locator: Option[Long],
    accept: UnsafeRow => Boolean) extends Iterator[UnsafeRowPair] {
  private val era = session.era
  private val merge = new SegmentMerge(segments, locator)
  private val limits = overlays.map(_.rows)
  private val written = overlays.indices.reverseIterator.flatMap(rowsOf)
  private val tested = new UnsafeRow(session.keyFields)
  private val pair = new UnsafeRowPair()
  private var nextKey: UnsafeRow = _
  private var nextValue: UnsafeRow = _

  override def hasNext: Boolean = {
    if (nextKey == null) {
      session.requireOpen()
      if (session.era != era) throw new IllegalStateException("a scan can't go on after its session has committed")
      findNext()
    }
    nextKey != null
  }

  override def next(): UnsafeRowPair = {
    if (!hasNext) throw new NoSuchElementException("end of scan")
    pair.withRows(nextKey, nextValue)
    nextKey = null
    pair
  }

  private def findNext(): Unit = {
    while (nextKey == null && merge.next()) emitSealed()
    while (nextKey == null && written.hasNext) {
      val (overlay, row) = written.next()
      emitWritten(overlay, row)
    }
  }

  private def emitSealed(): Unit = {
    val newer = newerRow(merge.keyAddress, merge.keyLength, overlays.length)
    if (newer != 0) emitLate(newer)
    else if (!merge.isTombstone) emit(merge.keyAddress, merge.keyLength, merge.valueAddress, merge.valueLength)
  }

  private def emitWritten(overlay: Int, row: Long): Unit = {
    val newer = newerRow(Overlay.keyAddress(row), Overlay.keyLength(row), overlay)
    if (newer != 0) emitLate(newer)
    else if (!Overlay.isTombstone(row)) emitRow(row)
  }

  /** A row of a newer overlay in the turn of an older one, unless it has a turn of its own. */
  private def emitLate(row: Long): Unit = if (!hasOwnTurn && !Overlay.isTombstone(row)) emitRow(row)

  private var hasOwnTurn = false

  /** The row of a key in the overlays that are newer than number `overlay`, 0 if there is none. */
  private def newerRow(address: Long, length: Int, overlay: Int): Long = {
    var i = 0
    if (overlay > 0) {
      val hash = KeyProbe.hash(null, address, length)
      while (i < overlay) {
        val row = overlays(i).find(hash, null, address, length)
        if (row != 0) {
          hasOwnTurn = Overlay.number(row) < limits(i)
          return row
        }
        i += 1
      }
    }
    0L
  }

  private def emitRow(row: Long): Unit =
    emit(Overlay.keyAddress(row), Overlay.keyLength(row), Overlay.valueAddress(row), Overlay.valueLength(row))

  private def emit(key: Long, keyLength: Int, value: Long, valueLength: Int): Unit = {
    tested.pointTo(null, key, keyLength)
    if (accept(tested)) {
      val bytes = new Array[Byte](keyLength + valueLength)
      val start = Platform.BYTE_ARRAY_OFFSET.toLong
      Bytes.copy(null, key, bytes, start, keyLength)
      Bytes.copy(null, value, bytes, start + keyLength, valueLength)
      nextKey = new UnsafeRow(session.keyFields)
      nextKey.pointTo(bytes, start, keyLength)
      nextValue = new UnsafeRow(session.valueFields)
      nextValue.pointTo(bytes, start + keyLength, valueLength)
    }
  }

  /** The living rows that an overlay held when the scan began, by their present values. */
  private def rowsOf(overlay: Int): Iterator[(Int, Long)] = {
    val rows = locator match {
      case None => Iterator.range(0, limits(overlay)).map(overlays(overlay).row)
      case Some(wanted) => Iterator.iterate(overlays(overlay).chain(wanted))(Overlay.next).takeWhile(_ != 0)
    }
    rows.map(current(overlay, _)).filter(_ != 0).map(overlay -> _)
  }

  /** A superseded row's successor, if that came after the scan began and so has no turn of its own; else 0. */
  private def current(overlay: Int, row: Long): Long =
    if (!Overlay.isSuperseded(row)) row
    else if (Overlay.number(Overlay.successor(row)) < limits(overlay)) 0L
    else newest(row)

  private def newest(row: Long): Long = {
    var last = row
    while (Overlay.isSuperseded(last)) last = Overlay.successor(last)
    last
  }
}
