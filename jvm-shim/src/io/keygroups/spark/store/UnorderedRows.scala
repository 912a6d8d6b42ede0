package io.keygroups.spark.store

import io.keygroups.spark.keys.KeyProbe
import io.keygroups.spark.segment.Part

/**
 * First the rows of the segments, merged, that no overlay holds; then those of the overlays.
 *
 * The session may write while a scan goes on. New keys show until the segments are through. Any other row that it writes
 * has no turn of its own; it takes that of the row in whose place it came: no key is lost, none comes twice.
 *
 * @param overlays newest first
 * @param parts newest first
 * @param horizon rows of segments written until then have expired
 */
final class UnorderedRows(overlays: Array[Overlay], merge: SegmentMerge)
  extends StoredRows(merge) {
  /** Rows of each overlay when the scan began, and when the segments were through. */
  private val begun = overlays.map(_.rows)
  private var limits: Array[Int] = _
  private lazy val turns = overlays.indices.reverseIterator.flatMap(rowsOf)

  def this(overlays: Array[Overlay], parts: Array[Part], horizon: Long) =
    this(overlays, new SegmentMerge(parts, None, Long.MaxValue, horizon))

  override def next(): Boolean = {
    written = 0
    if (limits == null) {
      while (merge.next()) {
        val newer = newerRow(merge.keyAddress, merge.keyLength, overlays.length)
        if (newer == 0) { if (merge.isLive) return true }
        else if (isLate(newer)) return stand(newer)
      }
      limits = overlays.map(_.rows)
    }
    while (turns.hasNext) {
      val (overlay, row) = turns.next()
      val newer = newerRow(Overlay.keyAddress(row), Overlay.keyLength(row), overlay)
      if (newer == 0) { if (!Overlay.isTombstone(row)) return stand(row) }
      else if (isLate(newer)) return stand(newer)
    }
    false
  }

  private def stand(row: Long): Boolean = {
    written = row
    true
  }

  /** A row of a newer overlay in the turn of an older one, unless it has a turn of its own. */
  private def isLate(row: Long): Boolean = !hasOwnTurn && !Overlay.isTombstone(row)

  private var hasOwnTurn = false

  /** The row of a key in the overlays that are newer than number `overlay`, 0 if there is none. */
  private def newerRow(address: Long, length: Int, overlay: Int): Long = {
    var i = 0
    if (overlay > 0) {
      val hash = KeyProbe.hash(null, address, length)
      while (i < overlay) {
        val row = overlays(i).find(hash, null, address, length)
        if (row != 0) {
          hasOwnTurn = hasTurn(i, Overlay.oldest(row))
          return row
        }
        i += 1
      }
    }
    0L
  }

  /** The living rows that an overlay held when the scan began, by their present values. */
  private def rowsOf(overlay: Int): Iterator[(Int, Long)] = {
    val rows = Iterator.range(0, limits(overlay)).map(overlays(overlay).row)
    rows.map(current(overlay, _)).filter(_ != 0).map(overlay -> _)
  }

  /**
   * The newest row of the key that a row was the first of in its overlay; 0 if another row has the turn: of rows put one
   * after another the oldest has it, of a superseded row its successor, unless that came after the scan began.
   */
  private def current(overlay: Int, row: Long): Long =
    if (Overlay.older(row) != 0 || !hasTurn(overlay, row)) 0L
    else if (Overlay.isSuperseded(row) && hasTurn(overlay, Overlay.successor(row))) 0L
    else overlays(overlay).newestOf(row)

  private def hasTurn(overlay: Int, row: Long): Boolean = {
    val number = Overlay.number(row)
    number < begun(overlay) || (Overlay.isNew(row) && (limits == null || number < limits(overlay)))
  }
}
