package io.keygroups.spark.segment

import io.keygroups.spark.Failures
import io.keygroups.spark.memory.OffHeap
import org.apache.spark.unsafe.Platform

/**
 * Builds the radix index of a block, and checks that its locators ascend.
 *
 * It reads the locators from the file, not through the mapping: lookups need the index only, so these pages (8 bytes a row)
 * stay out of the process until a scan reads them.
 *
 * @param position where in the file the block's locators begin
 */
private[segment] final class IndexBuilder(file: SegmentFile, position: Long, rows: Int, path: String) {
  private val chunk = OffHeap.allocate(math.min(rows, IndexBuilder.ChunkRows) * 8)
  private val address = OffHeap.address(chunk)

  /**
   * The index of the block mapped elsewhere.
   *
   * @param locators address of the mapped locators
   * @param partitions N, 0 if unknown
   */
  def build(locators: Long, partitions: Int): RadixIndex =
    try {
      val first = read(0, 1)
      val last = read(rows - 1, 1)
      if (last < first) throw Failures.damaged(path, "locators go back")
      val strides = if (partitions > 1) Iterator(partitions, 1) else Iterator(1)
      strides.flatMap(stride => index(locators, new Scale(first, last, rows, stride))).next()
    } finally OffHeap.free(chunk)

  /** None if the key groups differ modulo the scale's stride. */
  private def index(locators: Long, scale: Scale): Option[RadixIndex] = {
    val memory = OffHeap.allocate((scale.buckets + 1) * 4)
    var done = false
    try {
      done = fill(OffHeap.address(memory), scale)
      if (done) Some(new RadixIndex(locators, rows, scale, memory)) else None
    } finally if (!done) OffHeap.free(memory)
  }

  private def fill(index: Long, scale: Scale): Boolean = {
    val residue = (read(0, 1) >>> 48) % scale.stride
    val entries = new Entries(rows)
    var bucket = -1L
    var previous = 0L
    var from = 0
    while (from < rows) {
      val count = math.min(IndexBuilder.ChunkRows, rows - from)
      read(from, count)
      var i = 0
      while (i < count) {
        val locator = Platform.getLong(null, address + (i.toLong << 3))
        if (locator < previous) throw Failures.damaged(path, "locators go back")
        if (((locator ^ previous) >>> 48) != 0 && (locator >>> 48) % scale.stride != residue) return false
        previous = locator
        val to = scale.bucket(locator)
        while (bucket < to) {
          bucket += 1
          Platform.putInt(null, index + (bucket << 2), from + i)
        }
        val entry = index + (bucket << 2)
        Platform.putInt(null, entry, Platform.getInt(null, entry) | entries.mark(locator))
        i += 1
      }
      from += count
    }
    while (bucket < scale.buckets) {
      bucket += 1
      Platform.putInt(null, index + (bucket << 2), rows)
    }
    true
  }

  /** Bring `count` locators from `row` on into the chunk; the first of them. */
  private def read(row: Int, count: Int): Long = {
    file.readFully(chunk.duplicate().limit(count * 8), position + row * 8L)
    Platform.getLong(null, address)
  }
}

private object IndexBuilder {
  /** 512 kB at a time: what was read is still in the cache when it is looked at. */
  val ChunkRows: Int = 1 << 16
}
