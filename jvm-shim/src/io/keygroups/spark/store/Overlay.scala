package io.keygroups.spark.store

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.Path

import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.keys.{KeyOrder, KeyProbe}
import io.keygroups.spark.memory.{Arena, Bytes, OffHeap}
import org.apache.spark.unsafe.Platform

/**
 * The uncommitted writes of a session: a hash table over rows that are appended outside of the heap. Rows are never
 * moved; a value of the same length is replaced in place, any other makes a new row that supersedes the old one.
 *
 * @param order rows that share a locator are chained where there are prefix scans
 * @param hasLists a key may have several rows, each put after the one before
 * @param expectedRows rows of the last batch, to size the table
 */
final class Overlay(order: KeyOrder, hasLists: Boolean, expectedRows: Int) {
  import Overlay._

  private val prefixed = order != KeyOrder.Hashed && !order.isInstanceOf[KeyOrder.Ordered]
  private val hashedLocators = order == KeyOrder.Hashed
  private val headers = new Arena
  private val keys = new Arena
  private val values = new Arena
  private val headerPages = scala.collection.mutable.ArrayBuffer.empty[Long]
  private var table = new AddressTable(expectedRows)
  private var chains = if (prefixed) new AddressTable(expectedRows) else null
  private var count = 0

  /** Rows appended so far, superseded ones included. */
  def rows: Int = count
  def bytes: Long = keys.bytes + values.bytes + count.toLong * HeaderBytes

  /** The newest row of the key, 0 if there is none. */
  def find(hash: Long, base: AnyRef, offset: Long, length: Int): Long = {
    var slot = table.first(hash)
    while (table.used(slot)) {
      val row = table.candidate(slot, hash)
      if (row != 0 && keyLength(row) == length && Bytes.equal(null, keyAddress(row), base, offset, length)) return row
      slot = table.next(slot)
    }
    0L
  }

  /** The newest row of the key that an older row holds. */
  def newestOf(row: Long): Long =
    if (!hasLists && !isSuperseded(row)) row
    else find(tableHash(row), null, keyAddress(row), keyLength(row))

  /** The rows that others were put after or that stand alone, in order of (locator, key), of one locator or of all. */
  def sorted(locator: Option[Long], accept: Long => Boolean): Array[Long] = {
    val found = new RowList
    def take(row: Long): Unit = if (older(row) == 0 && !isSuperseded(row) && accept(row)) found.add(row)
    locator match {
      case Some(wanted) =>
        var row = chain(wanted)
        while (row != 0) {
          take(row)
          row = next(row)
        }
      case None =>
        var i = 0
        while (i < count) {
          take(row(i))
          i += 1
        }
    }
    found.sorted()
  }

  /** The newest row of the locator; `next` leads to older ones. */
  def chain(locator: Long): Long = {
    var slot = chains.first(locator & HashMask)
    while (chains.used(slot)) {
      val row = chains.candidate(slot, locator & HashMask)
      if (row != 0 && Overlay.locator(row) == locator) return row
      slot = chains.next(slot)
    }
    0L
  }

  /** Row number `index`, in the order of appending. */
  def row(index: Int): Long = headerPages(index / HeadersPerPage) + (index % HeadersPerPage).toLong * HeaderBytes

  /**
   * Write a value or a tombstone.
   *
   * @param existing what `find` gave for the key
   * @param isNew nothing below this overlay holds the key
   */
  def write(existing: Long, probe: KeyProbe, value: ValueBytes, isNew: Boolean): Unit = {
    if (existing == 0) insert(newRow(probe, value, if (isNew) New else 0), probe)
    else if (isAppended(existing)) replace(existing, newRow(probe, value, flags(existing) & New), probe)
    else if (value.isTombstone) setFlags(existing, flags(existing) | Tombstone)
    else if (valueLength(existing) == value.length) {
      Bytes.copy(value.base, value.offset, null, valueAddress(existing), value.length)
      setFlags(existing, flags(existing) & ~Tombstone)
    } else replace(existing, newRow(probe, value, flags(existing) & New), probe)
  }

  /**
   * Put values after those that the key has. A key without any is appended to as well: the change feed tells it from a put.
   *
   * @param exists whether the key has any, here or below, that are seen
   * @param isNew nothing below this overlay holds the key
   */
  def append(existing: Long, probe: KeyProbe, value: ValueBytes, exists: Boolean, isNew: Boolean): Unit =
    if (existing == 0 && (exists || isNew)) insert(newRow(probe, value, if (isNew) Appended | New else Appended), probe)
    else if (existing == 0 || !exists) write(existing, probe, value, isNew)
    else {
      val row = newRow(probe, value, Appended | (flags(existing) & New))
      table.replace(probe.keyHash, existing, row)
      Platform.putLong(null, row + 48, existing)
    }

  /** Write all rows to a new file. KeyGroupsException: the local disk is full. */
  def writeTo(folder: Path, family: Int): ChunkMessage = ChunkFile.write(folder, family, count, keys, values)(writeHeaders)

  def release(): Unit = {
    Seq(headers, keys, values).foreach(_.release())
    table.release()
    if (prefixed) chains.release()
  }

  private def newRow(probe: KeyProbe, value: ValueBytes, flags: Int): Long = {
    val row = newHeader()
    val length = if (value.isTombstone) 0 else value.length
    val key = ChunkFile.append(keys, probe.base, probe.offset, probe.length)
    val data = ChunkFile.append(values, value.base, value.offset, length)
    val numbered = (count << NumberShift) | flags | (if (value.isTombstone) Tombstone else 0)
    ChunkFile.fillHeader(row, probe.locator, probe.h, probe.length, length, numbered)
    Platform.putLong(null, row + 24, key)
    Platform.putLong(null, row + 32, data)
    Platform.putLong(null, row + 40, 0L)
    Platform.putLong(null, row + 48, 0L)
    count += 1
    if (prefixed) link(row, probe.locator)
    row
  }

  private def insert(row: Long, probe: KeyProbe): Unit = {
    if (table.isFull) table = table.grown(row => tableHash(row))
    table.add(probe.keyHash, row)
  }

  /** The row takes the place of another, and of all that the other was put after. */
  private def replace(existing: Long, row: Long, probe: KeyProbe): Unit = {
    table.replace(probe.keyHash, existing, row)
    var old = existing
    while (old != 0) {
      setFlags(old, flags(old) | Superseded)
      Platform.putLong(null, old + 32, row) // the old value is dead: its place says what superseded it
      old = older(old)
    }
  }

  private def link(row: Long, locator: Long): Unit = {
    val head = chain(locator)
    Platform.putLong(null, row + 40, head)
    if (head != 0) chains.replace(locator & HashMask, head, row)
    else {
      if (chains.isFull) chains = chains.grown(row => Overlay.locator(row) & HashMask)
      chains.add(locator & HashMask, row)
    }
  }

  private def tableHash(row: Long): Long =
    if (hashedLocators) Overlay.locator(row) & HashMask else KeyProbe.hash(null, keyAddress(row), keyLength(row))

  private def newHeader(): Long = {
    val row = headers.allocate(HeaderBytes)
    if (count % HeadersPerPage == 0) headerPages += row
    row
  }

  private def writeHeaders(channel: FileChannel): Unit = {
    val buffer: ByteBuffer = OffHeap.allocate(ChunkFile.HeaderBytes * math.max(1, math.min(count, HeadersPerPage)))
    val start = OffHeap.address(buffer)
    try {
      var index = 0
      while (index < count) {
        val rows = math.min(HeadersPerPage, count - index)
        copyHeaders(row(index), rows, start)
        buffer.clear().limit(rows * ChunkFile.HeaderBytes)
        while (buffer.hasRemaining) channel.write(buffer)
        index += rows
      }
    } finally OffHeap.free(buffer)
  }

  private def copyHeaders(from: Long, rows: Int, to: Long): Unit = {
    var i = 0
    while (i < rows) {
      Bytes.copy(null, from + i.toLong * HeaderBytes, null, to + i.toLong * ChunkFile.HeaderBytes, ChunkFile.HeaderBytes)
      i += 1
    }
  }
}

/**
 * A row: the header of a chunk's row, with its number above its flags; key address 8, value address 8, the next row of its
 * locator 8, the row that it was put after 8.
 */
object Overlay {
  val HeaderBytes = 56
  val HeadersPerPage: Int = io.keygroups.spark.memory.PagePool.PageBytes / HeaderBytes
  val HashMask: Long = (1L << 48) - 1

  val Superseded = 1
  val New = 2
  val Tombstone = 4
  /** The values come after those of an older row, here or below. */
  val Appended = 8
  private val NumberShift = 4

  def locator(row: Long): Long = Platform.getLong(null, row)
  def keyLength(row: Long): Int = Platform.getInt(null, row + 12)
  def valueLength(row: Long): Int = Platform.getInt(null, row + 16)
  def flags(row: Long): Int = Platform.getInt(null, row + 20)
  def number(row: Long): Int = flags(row) >>> NumberShift
  def isTombstone(row: Long): Boolean = (flags(row) & Tombstone) != 0
  def isAppended(row: Long): Boolean = (flags(row) & Appended) != 0
  /** Nothing below the overlay held the key when it was written. */
  def isNew(row: Long): Boolean = (flags(row) & New) != 0
  def isSuperseded(row: Long): Boolean = (flags(row) & Superseded) != 0
  def keyAddress(row: Long): Long = Platform.getLong(null, row + 24)
  def valueAddress(row: Long): Long = Platform.getLong(null, row + 32)
  /** The row that took the place of a superseded one. */
  def successor(row: Long): Long = Platform.getLong(null, row + 32)
  def next(row: Long): Long = Platform.getLong(null, row + 40)
  /** The row that an appended one was put after, 0 if that is not in this overlay. */
  def older(row: Long): Long = Platform.getLong(null, row + 48)
  /** The first of the rows that were put one after another. */
  def oldest(row: Long): Long = {
    var first = row
    while (older(first) != 0) first = older(first)
    first
  }

  private def setFlags(row: Long, flags: Int): Unit = Platform.putInt(null, row + 20, flags)
}
