package io.keygroups.spark.session

import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.keys.{KeyOrder, KeyProbe}
import io.keygroups.spark.memory.{Arena, Bytes}

/**
 * The uncommitted writes of a session to one family: a hash table over rows that are appended outside of the heap. Rows are
 * never moved; a value of the same length is replaced in place, any other value makes a new row that supersedes the old one.
 *
 * @param order rows that share a locator are chained where there are prefix scans
 * @param hasLists a key may have several rows, each appended to the one before
 * @param expectedRows rows of the last batch, to size the table
 */
final class Overlay(order: KeyOrder, hasLists: Boolean, expectedRows: Int) {
  import Overlay._
  import OverlayRow.{flags, isAppended, isSuperseded, keyAddress, keyLength, next, older}

  private val prefixed = order != KeyOrder.Hashed && !order.isInstanceOf[KeyOrder.Ordered]
  private val hashedLocators = order == KeyOrder.Hashed
  private val headers = new OverlayHeaders
  private val keys = new Arena
  private val values = new Arena
  private var table = new AddressTable(expectedRows)
  private var chains = if (prefixed) new AddressTable(expectedRows) else null

  /** Rows appended so far, superseded ones included. */
  def rows: Int = headers.rows
  def bytes: Long = keys.bytes + values.bytes + rows.toLong * OverlayRow.HeaderBytes

  /** Row number `index`, in the order of appending. */
  def row(index: Int): Long = headers.row(index)

  /** The newest row of the key, 0 if there is none. */
  def find(probe: KeyProbe): Long = find(probe.keyHash, probe.base, probe.offset, probe.length)

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

  /** The first row of each key, in order of (locator, key), of one locator or of all. */
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
        while (i < rows) {
          take(row(i))
          i += 1
        }
    }
    found.sorted()
  }

  /** The newest row of the locator; `next` leads to older ones. */
  private def chain(locator: Long): Long = {
    var slot = chains.first(locator & HashMask)
    while (chains.used(slot)) {
      val row = chains.candidate(slot, locator & HashMask)
      if (row != 0 && OverlayRow.locator(row) == locator) return row
      slot = chains.next(slot)
    }
    0L
  }

  /**
   * Write a value or a tombstone.
   *
   * @param existing what `find` returned for the key
   * @param isNew nothing below this overlay holds the key
   */
  def write(existing: Long, probe: KeyProbe, value: ValueBytes, isNew: Boolean): Unit = {
    if (existing == 0) insert(newRow(probe, value, if (isNew) OverlayRow.New else 0, rows), probe)
    else if (isAppended(existing)) replace(existing, probe, value)
    else if (value.isTombstone) OverlayRow.setFlags(existing, flags(existing) | OverlayRow.Tombstone)
    else if (OverlayRow.valueLength(existing) == value.length) {
      Bytes.copy(value.base, value.offset, null, OverlayRow.valueAddress(existing), value.length)
      OverlayRow.setFlags(existing, flags(existing) & ~OverlayRow.Tombstone)
    } else replace(existing, probe, value)
  }

  /**
   * Append values to those of a key. An append to a key without values is kept as such: the change feed tells it from a put.
   *
   * @param exists whether the key has visible values, here or below
   * @param isNew nothing below this overlay holds the key
   */
  def append(existing: Long, probe: KeyProbe, value: ValueBytes, exists: Boolean, isNew: Boolean): Unit =
    if (existing == 0 && (exists || isNew)) {
      insert(newRow(probe, value, if (isNew) OverlayRow.Appended | OverlayRow.New else OverlayRow.Appended, rows), probe)
    } else if (existing == 0 || !exists) write(existing, probe, value, isNew)
    else {
      val row = newRow(probe, value, OverlayRow.Appended | (flags(existing) & OverlayRow.New), OverlayRow.turn(existing))
      table.replace(probe.keyHash, existing, row)
      OverlayRow.setOlder(row, existing)
    }

  /** Write all rows to a new file. KeyGroupsException: the local disk is full. */
  def writeTo(files: SessionFiles, family: Int): ChunkMessage =
    ChunkFile.write(files, family, rows, keys, values)(headers.writeTo)

  def release(): Unit = {
    headers.release()
    keys.release()
    values.release()
    table.release()
    if (prefixed) chains.release()
  }

  private def newRow(probe: KeyProbe, value: ValueBytes, flags: Int, turn: Int): Long = {
    val row = headers.add()
    val length = if (value.isTombstone) 0 else value.length
    val key = ChunkFile.append(keys, probe.base, probe.offset, probe.length)
    val data = ChunkFile.append(values, value.base, value.offset, length)
    ChunkFile.fillHeader(row, probe.locator, probe.keyGroup, probe.length, length, flags = 0)
    OverlayRow.fill(row, turn, flags | (if (value.isTombstone) OverlayRow.Tombstone else 0), key, data)
    if (prefixed) link(row, probe.locator)
    row
  }

  private def insert(row: Long, probe: KeyProbe): Unit = {
    if (table.isFull) table = table.grown(row => tableHash(row))
    table.add(probe.keyHash, row)
  }

  /** A new row replaces another, and all rows that the other was appended to. */
  private def replace(existing: Long, probe: KeyProbe, value: ValueBytes): Unit = {
    val row = newRow(probe, value, flags(existing) & OverlayRow.New, OverlayRow.turn(existing))
    table.replace(probe.keyHash, existing, row)
    var old = existing
    while (old != 0) {
      OverlayRow.setFlags(old, flags(old) | OverlayRow.Superseded)
      old = older(old)
    }
  }

  private def link(row: Long, locator: Long): Unit = {
    val head = chain(locator)
    OverlayRow.setNext(row, head)
    if (head != 0) chains.replace(locator & HashMask, head, row)
    else {
      if (chains.isFull) chains = chains.grown(row => OverlayRow.locator(row) & HashMask)
      chains.add(locator & HashMask, row)
    }
  }

  private def tableHash(row: Long): Long =
    if (hashedLocators) OverlayRow.locator(row) & HashMask else KeyProbe.hash(null, keyAddress(row), keyLength(row))
}

object Overlay {
  /** Hashes have 48 bits, as addresses have. */
  val HashMask: Long = (1L << 48) - 1
}
