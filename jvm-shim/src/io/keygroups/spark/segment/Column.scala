package io.keygroups.spark.segment

import io.keygroups.spark.Failures
import org.apache.spark.unsafe.Platform

/** A binary column of a block: fixed in width, or with offsets into its data. */
final class Column private (width: Int, offsets: Long, data: Long) {
  def address(row: Int): Long =
    if (width > 0) data + row.toLong * width else data + Platform.getInt(null, offsets + (row.toLong << 2))

  def length(row: Int): Int =
    if (width > 0) width
    else {
      val at = offsets + (row.toLong << 2)
      Platform.getInt(null, at + 4) - Platform.getInt(null, at)
    }
}

object Column {

  /**
   * A column of mapped memory, checked once so that reads need no check.
   *
   * @param base address of the mapping, which starts at byte `start` of the file and is `size` bytes long
   * @param isMapped whether the data is in the mapping; otherwise addresses are positions in the file
   */
  def checked(base: Long, start: Long, size: Long, rows: Int, width: Int, offsets: Long, data: Long, bytes: Long,
      path: String, isMapped: Boolean = true): Column = {
    def place(at: Long, length: Long): Long = {
      if (length > 0 && (at < start || at - start > size - length)) throw Failures.damaged(path, "a column lies outside")
      base + at - start
    }
    val dataAt = if (isMapped) place(data, bytes) else data
    if (width > 0) {
      if (bytes < rows.toLong * width) throw Failures.damaged(path, "a column is too short")
      new Column(width, 0, dataAt)
    } else {
      val offsetsAt = place(offsets, (rows + 1L) * 4)
      checkOffsets(offsetsAt, rows, bytes, path)
      new Column(0, offsetsAt, dataAt)
    }
  }

  private def checkOffsets(at: Long, rows: Int, bytes: Long, path: String): Unit = {
    var previous = Platform.getInt(null, at)
    if (previous < 0) throw Failures.damaged(path, "an offset is negative")
    var row = 1
    while (row <= rows) {
      val offset = Platform.getInt(null, at + (row.toLong << 2))
      if (offset < previous) throw Failures.damaged(path, "offsets go back")
      previous = offset
      row += 1
    }
    if (previous > bytes) throw Failures.damaged(path, "an offset lies outside of the data")
  }
}
