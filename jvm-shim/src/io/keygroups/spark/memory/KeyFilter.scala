package io.keygroups.spark.memory

import org.apache.spark.unsafe.Platform

/**
 * A Bloom filter of keys, each with four bits in one word: a question costs one cache miss. Of absent keys about 1 in 85 looks
 * as if it were there once the filter is full.
 *
 * @param capacity keys that it is for, with 12 bits for each
 */
final class KeyFilter(val capacity: Int) {
  private val words = math.min((capacity * 12L >>> 6) + 1, (Int.MaxValue >>> 3).toLong)
  private val memory = OffHeap.allocate((words << 3).toInt)
  private val address = OffHeap.address(memory)
  private var count = 0

  Platform.setMemory(address, 0, words << 3)
  IndexMemory.add(words << 3)

  /** How many more keys it is for. */
  def room: Int = capacity - count

  /** Add the 48 bits of a key's hash. */
  def add(hash: Long): Unit = {
    val place = word(hash)
    Platform.putLong(null, place, Platform.getLong(null, place) | KeyFilter.bits(hash))
    count += 1
  }

  /** Whether a key with this hash may have been added. */
  def mayHold(hash: Long): Boolean = {
    val bits = KeyFilter.bits(hash)
    (Platform.getLong(null, word(hash)) & bits) == bits
  }

  def release(): Unit = {
    IndexMemory.add(-(words << 3))
    OffHeap.free(memory)
  }

  /** The upper 32 bits choose the word, the lower 24 the bits in it. */
  private def word(hash: Long): Long = address + ((((hash >>> 16) * words) >>> 32) << 3)
}

private object KeyFilter {
  def bits(hash: Long): Long =
    (1L << hash) | (1L << (hash >>> 6)) | (1L << (hash >>> 12)) | (1L << (hash >>> 18)) // a shift uses six bits
}
