package io.keygroups.spark.segment

import java.nio.ByteBuffer

import io.keygroups.spark.Failures
import io.keygroups.spark.memory.OffHeap
import org.apache.spark.unsafe.Platform

/**
 * From a locator to the few rows that can have it: buckets of equal width over the range of locators, 1 to 2 rows each,
 * so a lookup costs one miss here and one in the keys. It takes 2 to 4 bytes a row.
 *
 * A partition owns every N-th key group only; `stride` closes these gaps, or N - 1 of N buckets would be empty.
 *
 * @param locators address of the block's locators
 * @param partitions N, 0 if unknown
 */
final class RadixIndex(locators: Long, rows: Int, partitions: Int, path: String) {
  private val stride = if (partitions > 1 && sameResidue(partitions)) partitions else 1
  private val reciprocal = (RadixIndex.HashRange + stride - 1) / stride
  private val first = dense(locator(0))
  private val range = dense(locator(rows - 1)) - first
  private val shift = math.max(0, 64 - java.lang.Long.numberOfLeadingZeros(range) - bits(rows))
  val buckets: Int = (range >>> shift).toInt + 1
  private val memory: ByteBuffer = OffHeap.allocate((buckets + 1) * 4)
  private val index = OffHeap.address(memory)
  fill()

  val bytes: Int = memory.capacity()

  /** The bucket of a locator; -1 if it lies outside of the block's range. */
  def bucket(target: Long): Long = {
    val distance = dense(target) - first
    if (distance < 0) -1 else math.min(distance >>> shift, buckets.toLong)
  }

  /** The first row of a bucket; its last is the one before `start(bucket + 1)`. */
  def start(bucket: Long): Int = Platform.getInt(null, index + (bucket << 2))

  /** The first row whose locator is not below this one; `rows` if there is none. */
  def lowerBound(target: Long): Int = {
    val bucket = this.bucket(target)
    if (bucket < 0) return 0
    if (bucket >= buckets) return rows
    var low = start(bucket)
    var high = start(bucket + 1)
    while (high - low > 8) {
      val middle = (low + high) >>> 1
      if (locator(middle) < target) low = middle + 1 else high = middle
    }
    while (low < high && locator(low) < target) low += 1
    low
  }

  def release(): Unit = OffHeap.free(memory)

  private def locator(row: Int): Long = Platform.getLong(null, locators + (row.toLong << 3))

  /** The locator without the gaps between owned key groups; it keeps the order. */
  private def dense(locator: Long): Long =
    ((((locator >>> 48) * reciprocal) >>> 48) << 48) | (locator & (RadixIndex.HashRange - 1))

  private def sameResidue(n: Int): Boolean = {
    val residue = (locator(0) >>> 48) % n
    var group = -1L
    var row = 0
    while (row < rows) {
      val next = locator(row) >>> 48
      if (next != group) {
        if (next % n != residue) return false
        group = next
      }
      row += 1
    }
    true
  }

  private def bits(rows: Int): Int = math.max(1, 31 - Integer.numberOfLeadingZeros(math.max(1, rows)))

  private def fill(): Unit = {
    var bucket = -1L
    var previous = 0L
    var row = 0
    while (row < rows) {
      val current = locator(row)
      if (current < previous) throw Failures.damaged(path, "locators go back")
      previous = current
      val to = (dense(current) - first) >>> shift
      while (bucket < to) {
        bucket += 1
        Platform.putInt(null, index + (bucket << 2), row)
      }
      row += 1
    }
    while (bucket < buckets) {
      bucket += 1
      Platform.putInt(null, index + (bucket << 2), rows)
    }
  }
}

object RadixIndex {
  private val HashRange = 1L << 48
}
