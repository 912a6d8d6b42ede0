package io.keygroups.spark.session

import io.keygroups.spark.keys.KeyProbe
import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.Part

/**
 * Which rows an ordered scan returns: of one locator, or from one key to another, or all.
 *
 * @param rest only rows from this bound on, in the order of (locator, key): the rest of a scan that was read up to there
 */
final case class KeyRange(locator: Option[Long] = None, from: Option[KeyBound] = None, until: Option[KeyBound] = None,
    rest: Option[KeyBound] = None) {
  def isInside(row: Long): Boolean = {
    val (key, length) = (OverlayRow.keyAddress(row), OverlayRow.keyLength(row))
    !from.exists(_.isAbove(key, length)) && until.forall(_.isAbove(key, length)) &&
      !rest.exists(_.isAbove(OverlayRow.locator(row), key, length))
  }

  /** The rows of these parts from the first possible key to the last possible locator. */
  def merge(parts: Array[Part], horizon: Long): SegmentMerge = new SegmentMerge(parts, MergeStart(locator, rest.orElse(from)),
    locator.orElse(until.map(_.locator)).getOrElse(Long.MaxValue), horizon)
}

/**
 * Rows in the order of (locator, key): those of the segments and those that the overlays held when the scan began, by their
 * present values. When an overlay is spilled, the scan continues in the segment that replaced it, above its last key.
 *
 * @param overlays newest first
 * @param parts newest first
 * @param horizon rows of segments that were written until then have expired
 * @param requireOpen see `StoredRows`
 */
final class OrderedRows private (overlays: Array[Overlay], range: KeyRange, merge: SegmentMerge, horizon: Long, requireOpen: () => Unit)
  extends StoredRows(merge, requireOpen) {
  /** Of each overlay its rows, and the next of them. */
  private val rows = overlays.map(_.sorted(range.locator, range.isInside))
  private val at = new Array[Int](rows.length)
  private var merging = advance()
  private var isAtMerge = false

  def this(overlays: Array[Overlay], parts: Array[Part], range: KeyRange, horizon: Long, requireOpen: () => Unit) =
    this(overlays, range, range.merge(parts, horizon), horizon, requireOpen)

  override def pins(overlay: Overlay): Boolean = false

  override def moved(overlays: Array[Overlay], parts: Array[Part], last: Option[KeyBound]): RowSource =
    new OrderedRows(overlays, parts, range.copy(rest = last.orElse(range.rest)), horizon, requireOpen)

  override def next(): Boolean = {
    if (isAtMerge) merging = advance()
    isAtMerge = false
    var first = smallest()
    while (merging || first != 0) {
      val order = if (first == 0) -1 else compareMerge(first)
      if (order <= 0) { // the segments' row comes first, or the overlays' row takes its place
        isAtMerge = stand(merge.keyAddress, merge.keyLength)
        if (order == 0) pass(first)
        if (isAtMerge) return true
        merging = advance()
      } else {
        pass(first)
        if (stand(OverlayRow.keyAddress(first), OverlayRow.keyLength(first))) return true
      }
      skip()
      first = smallest()
    }
    false
  }

  /** The smallest of the overlays' remaining rows, 0 if there is none. */
  private def smallest(): Long = {
    var first = 0L
    var i = 0
    while (i < rows.length) {
      if (at(i) < rows(i).length) {
        val row = rows(i)(at(i))
        if (first == 0 || OverlayRow.compare(row, first) < 0) first = row
      }
      i += 1
    }
    first
  }

  /** Stand at the key's newest row; false if that is removed or expired. */
  private def stand(key: Long, keyLength: Int): Boolean = {
    overlayRow = 0
    if (overlays.length > 0) {
      val hash = KeyProbe.hash(null, key, keyLength)
      var i = 0
      while (i < overlays.length && overlayRow == 0) {
        overlayRow = overlays(i).find(hash, null, key, keyLength)
        i += 1
      }
    }
    if (overlayRow != 0) !OverlayRow.isTombstone(overlayRow) else merge.isLive
  }

  /** Skip the rows of a key in all overlays. */
  private def pass(row: Long): Unit = {
    var i = 0
    while (i < rows.length) {
      while (at(i) < rows(i).length && OverlayRow.compare(rows(i)(at(i)), row) == 0) at(i) += 1
      i += 1
    }
  }

  /** The order of the segments' row and a row of an overlay; 1 if the segments are at their end. */
  private def compareMerge(row: Long): Int =
    if (!merging) 1
    else {
      val order = java.lang.Long.compare(merge.locator, OverlayRow.locator(row))
      if (order != 0) order
      else Bytes.compare(null, merge.keyAddress, merge.keyLength, null, OverlayRow.keyAddress(row), OverlayRow.keyLength(row))
    }

  private def advance(): Boolean = {
    merge.next() && range.until.forall(_.isAbove(merge.keyAddress, merge.keyLength))
  }
}
