package io.keygroups.spark.segment

import io.keygroups.spark.Failures

/** Checks where a layout says that buffers lie, once: later reads are by raw address. */
private[segment] object LayoutCheck {

  /** Every block has rows, and comes after the one before; the file is as long as it was when it was described. */
  def blocks(view: SegmentView, fileBytes: Long): Unit = {
    def demand(holds: Boolean, found: String): Unit = if (!holds) throw Failures.damaged(view.path, found)
    demand(fileBytes == view.bytes, s"$fileBytes bytes where ${view.bytes} were written")
    demand(view.blocks.forall(b => b.rows > 0 && b.family >= 0), "a block without rows")
    demand(view.blocks.map(_.rows.toLong).sum == view.rows, s"blocks that have not ${view.rows} rows")
  }

  /** The first byte of a block's buffers in the file, and the one behind the last: of all, or of all but the values' data. */
  def extent(b: BlockLayout, withValues: Boolean, fileBytes: Long, path: String): (Long, Long) = {
    val rows = b.rows.toLong
    def buffer(at: Long, length: Long): (Long, Long) =
      if (at >= 0 && length >= 0 && length <= fileBytes && at <= fileBytes - length) (at, at + length)
      else throw Failures.damaged(path, s"a buffer of $length bytes at byte $at of $fileBytes")
    def optional(at: Long, length: Long): Option[(Long, Long)] = if (at == -1) None else Some(buffer(at, length))
    def column(width: Int, offsets: Long, data: Long, bytes: Long, withData: Boolean): Seq[(Long, Long)] = {
      if (width < 0) throw Failures.damaged(path, s"a column of width $width")
      val wanted = if (width > 0) Seq.empty else Seq(buffer(offsets, (rows + 1) * 4))
      val content = if (bytes == 0) None else Some(buffer(data, bytes))
      if (withData) wanted ++ content else wanted
    }
    val buffers = Seq(buffer(b.locator, rows * 8), buffer(b.keyGroup, rows * 2)) ++
      column(b.keyWidth, b.keyOffsets, b.keyData, b.keyBytes, withData = true) ++
      column(b.valueWidth, b.valueOffsets, b.valueData, b.valueBytes, withValues) ++
      optional(b.valueValidity, (rows + 7) / 8) ++ optional(b.appended, (rows + 7) / 8) ++ optional(b.written, rows * 4)
    (buffers.map(_._1).min, buffers.map(_._2).max)
  }
}
