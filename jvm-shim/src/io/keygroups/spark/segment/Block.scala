package io.keygroups.spark.segment

import java.nio.ByteBuffer

import io.keygroups.spark.Failures
import io.keygroups.spark.memory.{Bytes, IndexMemory, OffHeap}
import org.apache.spark.unsafe.Platform

/**
 * The rows of one record batch of a mapped segment, in order of (locator, key). Rows are numbered from 0.
 *
 * @param ownBytes of memory that no file backs: of the index, and of what was copied
 */
final class Block private (memory: BlockMemory, locators: Long, keyGroups: Long, validity: Long, appends: Long, times: Long,
    keys: Column, values: ValueColumn, val rows: Int, index: RadixIndex, val ownBytes: Long) {
  val firstLocator: Long = locator(0)
  val lastLocator: Long = locator(rows - 1)
  def indexBytes: Int = index.bytes

  def locator(row: Int): Long = Platform.getLong(null, locators + (row.toLong << 3))
  def keyGroup(row: Int): Int = Platform.getShort(null, keyGroups + (row.toLong << 1)) & 0xffff
  def keyAddress(row: Int): Long = keys.address(row)
  def keyLength(row: Int): Int = keys.length(row)
  def valueLength(row: Int): Int = values.length(row)
  /** Copy a value to a place in an array. */
  def copyValue(row: Int, target: Array[Byte], at: Long): Unit = values.copy(row, target, at)
  /** Whether its values are in the file alone. */
  def hasValuesInFile: Boolean = values.isInFile
  /** Add the read of a value, if that is in the file alone. */
  def readLater(row: Int, reads: FileReads): Unit = values.readLater(row, reads)
  def isTombstone(row: Int): Boolean =
    validity != 0 && (Platform.getByte(null, validity + (row >>> 3)) & (1 << (row & 7))) == 0

  /** The row's values are appended to those of older segments. */
  def isAppended(row: Int): Boolean =
    appends != 0 && (Platform.getByte(null, appends + (row >>> 3)) & (1 << (row & 7))) != 0

  /** The row was written until then, in seconds since 1970; false if its time is unknown. */
  def isExpired(row: Int, horizon: Long): Boolean =
    times != 0 && horizon != 0 && {
      val written = Integer.toUnsignedLong(Platform.getInt(null, times + (row.toLong << 2)))
      written != 0 && written <= horizon
    }

  /** The order of a row's key and another key. */
  def compareKey(row: Int, base: AnyRef, offset: Long, length: Int): Int =
    Bytes.compare(null, keyAddress(row), keyLength(row), base, offset, length)

  /** The first row whose locator is not below this one. */
  def lowerBound(locator: Long): Int = index.lowerBound(locator)

  /** The first row that is not below a key. */
  def lowerBound(locator: Long, base: AnyRef, offset: Long, length: Int): Int = {
    var low = index.lowerBound(locator)
    var high = rows
    while (low < high) {
      val middle = (low + high) >>> 1
      if (compare(middle, locator, base, offset, length) < 0) low = middle + 1 else high = middle
    }
    low
  }

  /** The row of a key, -1 if it has none. */
  def find(locator: Long, base: AnyRef, offset: Long, length: Int): Int = {
    val bucket = index.bucket(locator)
    if (bucket < 0 || bucket >= index.buckets || !index.mayHold(bucket, locator)) return -1
    var row = index.start(bucket)
    val end = index.start(bucket + 1)
    if (end - row > Block.Crowded) return search(locator, base, offset, length)
    while (row < end) { // straight to the keys: a look at the locators first would cost a cache miss more
      if (keyLength(row) == length && Bytes.equal(null, keyAddress(row), base, offset, length)) return row
      row += 1
    }
    -1
  }

  /** Many rows share the locator (the entries of one scan prefix): they are in the order of their keys. */
  private def search(locator: Long, base: AnyRef, offset: Long, length: Int): Int = {
    val row = lowerBound(locator, base, offset, length)
    if (row < rows && compare(row, locator, base, offset, length) == 0) row else -1
  }

  private def compare(row: Int, locator: Long, base: AnyRef, offset: Long, length: Int): Int = {
    val order = java.lang.Long.compare(this.locator(row), locator)
    if (order != 0) order else compareKey(row, base, offset, length)
  }

  def release(): Unit = {
    IndexMemory.add(-ownBytes)
    index.release()
    memory.release()
  }
}

/**
 * Memory that a block lies in.
 *
 * @param start of the buffer's bytes in the file
 * @param isOwn whether no other block lies in it
 */
private[segment] final class BlockMemory(val buffer: ByteBuffer, val start: Long, isOwn: Boolean) {
  def release(): Unit = if (isOwn) OffHeap.free(buffer)
}

object Block {
  /** Rows of a bucket above which a binary search beats comparing keys. */
  private val Crowded = 16

  /**
   * The block of a file that is mapped, or else of the part that holds the block. Every buffer is checked to lie inside before
   * it is read.
   *
   * @param mapped the whole file; null if it is not mapped
   * @param withValues otherwise the values stay in the file, and the rest is copied: a page fault would read the disk's whole
   *   read-ahead, up to 8 MB, most of it values
   * @param copyLimit bytes of index memory up to which the rest is copied into memory, else into a file
   */
  def map(file: SegmentFile, mapped: ByteBuffer, layout: BlockLayout, withValues: Boolean, partitions: Int, path: String,
      copyLimit: Long): Block = {
    val (first, end) = LayoutCheck.extent(layout, withValues, file.size, path)
    val start = first & ~7L
    val size = end - start
    if (size > Int.MaxValue) throw Failures.damaged(path, s"a block of $size bytes")
    val copied = if (!withValues && IndexMemory.take(size, copyLimit)) size else 0L
    var memory: BlockMemory = null
    var done = false
    try {
      memory =
        if (mapped != null) new BlockMemory(mapped, 0, isOwn = false)
        else if (withValues) new BlockMemory(file.map(start, size), start, isOwn = true)
        else if (copied > 0) new BlockMemory(file.copy(start, size.toInt), start, isOwn = true)
        else new BlockMemory(file.mapCopy(start, size), start, isOwn = true)
      val block = in(memory, file, layout, withValues, partitions, path, copied)
      done = true
      block
    } finally if (!done) {
      IndexMemory.add(-copied)
      if (memory != null) memory.release()
    }
  }

  private def in(memory: BlockMemory, file: SegmentFile, layout: BlockLayout, withValues: Boolean, partitions: Int,
      path: String, copied: Long): Block = {
    val start = memory.start
    val size = memory.buffer.limit().toLong
    val base = OffHeap.address(memory.buffer)
    val keys = Column.checked(base, start, size, layout.rows, layout.keyWidth, layout.keyOffsets, layout.keyData,
      layout.keyBytes, path)
    val values = Column.checked(base, start, size, layout.rows, layout.valueWidth, layout.valueOffsets,
      layout.valueData, layout.valueBytes, path, isMapped = withValues)
    val validity = if (layout.valueValidity < 0) 0L else base + layout.valueValidity - start
    val appends = if (layout.appended < 0) 0L else base + layout.appended - start
    val times = if (layout.written < 0) 0L else base + layout.written - start
    val locators = base + layout.locator - start
    val index = new IndexBuilder(file, layout.locator, layout.rows, path).build(locators, partitions)
    IndexMemory.add(index.bytes.toLong)
    new Block(memory, locators, base + layout.keyGroup - start, validity, appends, times, keys,
      new ValueColumn(values, if (withValues) null else file), layout.rows, index, index.bytes + copied)
  }
}
