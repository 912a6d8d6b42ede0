package io.keygroups.spark.store

/** Living rows of a family, one after another, each key once. */
trait RowSource {
  /** Go to the next row; false at the end. */
  def next(): Boolean

  def locator: Long
  def keyAddress: Long
  def keyLength: Int
  def valueAddress: Long
  def valueLength: Int
}

/** A row of an overlay or of a segment, whichever a source stands at. */
abstract class StoredRows(merge: SegmentMerge) extends RowSource {
  /** The overlay's row; 0 for that of `merge`. */
  protected var written = 0L

  override def locator: Long = if (written != 0) Overlay.locator(written) else merge.locator
  override def keyAddress: Long = if (written != 0) Overlay.keyAddress(written) else merge.keyAddress
  override def keyLength: Int = if (written != 0) Overlay.keyLength(written) else merge.keyLength
  override def valueAddress: Long = if (written != 0) Overlay.valueAddress(written) else merge.valueAddress
  override def valueLength: Int = if (written != 0) Overlay.valueLength(written) else merge.valueLength
}
