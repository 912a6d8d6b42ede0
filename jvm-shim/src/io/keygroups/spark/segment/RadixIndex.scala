package io.keygroups.spark.segment

import java.nio.ByteBuffer

import io.keygroups.spark.memory.OffHeap
import org.apache.spark.unsafe.Platform

/**
 * From a locator to the few rows that can have it: buckets of equal width over the range of locators, 1 to 2 rows each,
 * so a lookup costs one miss here and one in the keys. It takes 2 to 4 bytes a row.
 *
 * @param locators address of the block's locators
 * @param memory an entry for each bucket, and one that says where the last ends
 */
final class RadixIndex private[segment] (locators: Long, rows: Int, scale: Scale, memory: ByteBuffer) {
  private val index = OffHeap.address(memory)
  private val entries = new Entries(rows)

  val buckets: Int = scale.buckets
  val bytes: Int = memory.limit()

  /** The bucket of a locator that the block may have; -1 or `buckets` if it lies outside of the block's range. */
  def bucket(target: Long): Long = scale.bucket(target)

  /** The first row of a bucket; its last is the one before `start(bucket + 1)`. */
  def start(bucket: Long): Int = entries.row(entry(bucket))

  /** Whether a bucket may have a locator: of those that it does not have, it rules out some nine in ten. */
  def mayHold(bucket: Long, target: Long): Boolean = entries.mayHold(entry(bucket), target)

  private def entry(bucket: Long): Int = Platform.getInt(null, index + (bucket << 2))

  /** The first row whose locator is not below this one; `rows` if there is none. */
  def lowerBound(target: Long): Int = {
    val bucket = scale.bucketOfBound(target)
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
}

/**
 * What is known of a bucket, in 32 bits: its first row, and in the bits that this leaves one that is set for each of its
 * locators. 2 million rows leave 11 bits.
 *
 * @param rows of the block
 */
private[segment] final class Entries(rows: Int) {
  private val rowBits = 32 - Integer.numberOfLeadingZeros(rows)
  private val rowMask = (1 << rowBits) - 1
  private val marks = 32 - rowBits

  def row(entry: Int): Int = entry & rowMask

  /** The bit for a locator: by its low 16 bits, as the upper ones choose the bucket. */
  def mark(locator: Long): Int = 1 << (rowBits + (((locator & 0xffff) * marks) >>> 16).toInt)

  def mayHold(entry: Int, locator: Long): Boolean = (entry & mark(locator)) != 0
}

/**
 * Buckets of equal width over a range of locators.
 *
 * @param stride a partition owns every N-th key group only; this closes the gaps, or N - 1 of N buckets would be empty. The
 *   top bits of locators in the order of a range scan are no key groups, but a few rows can look as if they were.
 */
private[segment] final class Scale(firstLocator: Long, lastLocator: Long, rows: Int, val stride: Int) {
  private val reciprocal = (Scale.HashRange + stride - 1) / stride
  private val owned = group(firstLocator) % stride
  private val first = dense(firstLocator)
  private val range = dense(lastLocator) - first
  private val shift = math.max(0, 64 - java.lang.Long.numberOfLeadingZeros(range) - Scale.bits(rows))

  val buckets: Int = (range >>> shift).toInt + 1

  /** The bucket of a locator in one of the owned key groups; for another locator any bucket. */
  def bucket(target: Long): Long = at(dense(target))

  /** The bucket where a locator belongs, which may lie between the owned key groups, as the bounds of range scans do. */
  def bucketOfBound(target: Long): Long = {
    val run = runOf(target)
    val beside = group(target) - run * stride - owned
    if (beside == 0) bucket(target)
    else if (beside < 0) at(run << 48)
    else at((run << 48) | (Scale.HashRange - 1))
  }

  private def at(place: Long): Long = {
    val distance = place - first
    if (distance < 0) -1 else math.min(distance >>> shift, buckets.toLong)
  }

  /** The locator without the gaps between owned key groups: that keeps the order among those. */
  private def dense(locator: Long): Long = (runOf(locator) << 48) | (locator & (Scale.HashRange - 1))

  /** In which run of `stride` key groups a locator lies. */
  private def runOf(locator: Long): Long = (group(locator) * reciprocal) >>> 48

  private def group(locator: Long): Long = locator >>> 48
}

private[segment] object Scale {
  private val HashRange = 1L << 48
  private def bits(rows: Int): Int = math.max(1, 31 - Integer.numberOfLeadingZeros(math.max(1, rows)))
}
