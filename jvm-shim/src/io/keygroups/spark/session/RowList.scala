package io.keygroups.spark.session

/** Addresses of overlays' rows, without an object for each. */
private[session] final class RowList {
  private var rows = new Array[Long](8)
  private var size = 0

  def add(row: Long): Unit = {
    if (size == rows.length) rows = java.util.Arrays.copyOf(rows, 2 * size)
    rows(size) = row
    size += 1
  }

  /** The rows in order of (locator, key). */
  def sorted(): Array[Long] = {
    val result = java.util.Arrays.copyOf(rows, size)
    if (size > 1) sort(result, java.util.Arrays.copyOf(result, size), 0, size)
    result
  }

  /** Merge sort of `from` until `until`; both arrays hold the same there. */
  private def sort(target: Array[Long], source: Array[Long], from: Int, until: Int): Unit =
    if (until - from > 1) {
      val middle = (from + until) >>> 1
      sort(source, target, from, middle)
      sort(source, target, middle, until)
      var left = from
      var right = middle
      var at = from
      while (at < until) {
        if (right == until || (left < middle && OverlayRow.compare(source(left), source(right)) <= 0)) {
          target(at) = source(left)
          left += 1
        } else {
          target(at) = source(right)
          right += 1
        }
        at += 1
      }
    }
}
