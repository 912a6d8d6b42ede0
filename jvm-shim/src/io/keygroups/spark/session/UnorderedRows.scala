package io.keygroups.spark.session

import io.keygroups.spark.keys.KeyProbe
import io.keygroups.spark.segment.Part

/**
 * All rows of a family in no order: first the rows of the segments, merged, that no overlay holds; then those of the overlays.
 *
 * The session may write during the scan. New keys are returned until the segments are read to their end. Any other row that
 * the session writes is returned in place of the row that it replaced: no key is lost, none comes twice. For that the scan
 * needs the order in which the rows were appended, which sorted segments do not have: it keeps the overlays that it began
 * with after they are spilled.
 *
 * @param overlays newest first
 * @param parts newest first
 * @param horizon rows of segments that were written until then have expired
 * @param requireOpen see `StoredRows`
 */
final class UnorderedRows private (overlays: Array[Overlay], merge: SegmentMerge, requireOpen: () => Unit)
  extends StoredRows(merge, requireOpen) {
  /** Rows of each overlay when the scan began, and when the segments were read to their end. */
  private val begun = overlays.map(_.rows)
  private var limits: Array[Int] = _
  private lazy val turns = overlays.indices.reverseIterator.flatMap(rowsOf)

  def this(overlays: Array[Overlay], parts: Array[Part], horizon: Long, requireOpen: () => Unit) =
    this(overlays, new SegmentMerge(parts, MergeStart(), Long.MaxValue, horizon), requireOpen)

  override def pins(overlay: Overlay): Boolean = overlays.exists(_ eq overlay)

  override def moved(overlays: Array[Overlay], parts: Array[Part], last: Option[KeyBound]): RowSource = this

  override def next(): Boolean = {
    overlayRow = 0
    if (limits == null) {
      while (merge.next()) {
        val newer = newerRow(merge.keyAddress, merge.keyLength, overlays.length)
        if (newer == 0) { if (merge.isLive) return true }
        else if (isLate(newer)) return stand(newer)
        skip()
      }
      limits = overlays.map(_.rows)
    }
    while (turns.hasNext) {
      val (overlay, row) = turns.next()
      val newer = newerRow(OverlayRow.keyAddress(row), OverlayRow.keyLength(row), overlay)
      if (newer == 0) { if (!OverlayRow.isTombstone(row)) return stand(row) }
      else if (isLate(newer)) return stand(newer)
      skip()
    }
    false
  }

  private def stand(row: Long): Boolean = {
    overlayRow = row
    true
  }

  /** A row of a newer overlay in the turn of an older one, unless its key has a turn of its own there. */
  private def isLate(row: Long): Boolean = !hasOwnTurn && !OverlayRow.isTombstone(row)

  /** Whether the key of the last `newerRow` has a turn in one of those overlays. */
  private var hasOwnTurn = false

  /** The newest row of a key in the overlays that are newer than number `overlay`, 0 if there is none. */
  private def newerRow(address: Long, length: Int, overlay: Int): Long = {
    var newest = 0L
    hasOwnTurn = false
    if (overlay > 0) {
      val hash = KeyProbe.hash(null, address, length)
      var i = 0
      while (i < overlay && !hasOwnTurn) {
        val row = overlays(i).find(hash, null, address, length)
        if (row != 0) {
          if (newest == 0) newest = row
          hasOwnTurn = hasTurn(i, row)
        }
        i += 1
      }
    }
    newest
  }

  /** The newest rows of the keys that have a turn in an overlay, in the order of their turns. */
  private def rowsOf(overlay: Int): Iterator[(Int, Long)] =
    Iterator.range(0, limits(overlay)).map(current(overlay, _)).filter(_ != 0).map(overlay -> _)

  /** The newest row of the key whose turn is this number; 0 if none has it. */
  private def current(overlay: Int, number: Int): Long = {
    val row = overlays(overlay).row(number)
    if (OverlayRow.turn(row) == number && hasTurn(overlay, row)) overlays(overlay).newestOf(row) else 0L
  }

  /** Keys that the overlay held when the scan began have a turn, and new ones until the segments were read to their end. */
  private def hasTurn(overlay: Int, row: Long): Boolean = {
    val turn = OverlayRow.turn(row)
    turn < begun(overlay) || (OverlayRow.isNew(row) && (limits == null || turn < limits(overlay)))
  }
}
