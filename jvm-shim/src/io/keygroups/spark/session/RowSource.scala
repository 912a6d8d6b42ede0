package io.keygroups.spark.session

import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.Part

/** Living rows of a family, one after another, each key once. */
trait RowSource {
  /** Go to the next row; false at the end. */
  def next(): Boolean

  def locator: Long
  def keyAddress: Long
  def keyLength: Int
  def valueLength: Int
  /** Copy the value to a place in an array. */
  def copyValue(target: Array[Byte], at: Long): Unit

  /** Whether the source reads an overlay after the session has spilled it. */
  def pins(overlay: Overlay): Boolean

  /**
   * The source of the rows that are still to come, after the session has spilled an overlay.
   *
   * @param overlays what the session has in place of the overlays that the source began with
   * @param parts the same of the segments
   * @param last what comes next is above this bound; None if the scan is at its beginning
   */
  def moved(overlays: Array[Overlay], parts: Array[Part], last: Option[KeyBound]): RowSource
}

/**
 * A source over overlays and segments, which stands at a row of one of them.
 *
 * @param requireOpen throws if the session has ended
 */
abstract class StoredRows(merge: SegmentMerge, requireOpen: () => Unit) extends RowSource {
  private var skipped = 0

  /** A row is not returned: removed, expired, replaced. Millions in a row take longer than memory stays after a session's end. */
  protected def skip(): Unit = {
    skipped += 1
    if (skipped % StoredRows.SkippedPerCheck == 0) requireOpen()
  }

  /** The overlay's row; 0 if the source stands at the row of `merge`. */
  protected var overlayRow = 0L

  override def locator: Long = if (overlayRow != 0) OverlayRow.locator(overlayRow) else merge.locator
  override def keyAddress: Long = if (overlayRow != 0) OverlayRow.keyAddress(overlayRow) else merge.keyAddress
  override def keyLength: Int = if (overlayRow != 0) OverlayRow.keyLength(overlayRow) else merge.keyLength
  override def valueLength: Int = if (overlayRow != 0) OverlayRow.valueLength(overlayRow) else merge.valueLength
  override def copyValue(target: Array[Byte], at: Long): Unit =
    if (overlayRow != 0) Bytes.copy(null, OverlayRow.valueAddress(overlayRow), target, at, OverlayRow.valueLength(overlayRow))
    else merge.copyValue(target, at)
}

private[session] object StoredRows {
  val SkippedPerCheck = 4096
}
