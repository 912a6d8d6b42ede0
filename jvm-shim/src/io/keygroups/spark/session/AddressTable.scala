package io.keygroups.spark.session

import java.nio.ByteBuffer

import io.keygroups.spark.memory.{OffHeap, WriteMemory}
import org.apache.spark.unsafe.Platform

/**
 * Open addressing over addresses of rows. A slot holds the address (48 bits) and 16 bits of the hash, so that most rows
 * of other keys are passed over without a look at them. Hashes have 48 bits.
 */
final class AddressTable(expectedRows: Int) {
  private val slots = Integer.highestOneBit(math.max(512, math.min(expectedRows, 1 << 26) / 2 * 3)) << 1
  private val memory: ByteBuffer = OffHeap.allocate(slots * 8)
  private val start = OffHeap.address(memory)
  WriteMemory.add(slots * 8L)
  Platform.setMemory(null, start, slots * 8L, 0.toByte)
  private val mask = slots - 1
  private val limit = (slots * 0.7).toInt
  private var entries = 0

  def isFull: Boolean = entries >= limit

  def first(hash: Long): Int = hash.toInt & mask
  def next(slot: Int): Int = (slot + 1) & mask
  def used(slot: Int): Boolean = read(slot) != 0

  /** The row in a slot, 0 if its hash is another for sure. */
  def candidate(slot: Int, hash: Long): Long = {
    val word = read(slot)
    if ((word >>> 48) == (hash >>> 32)) word & Overlay.HashMask else 0L
  }

  def add(hash: Long, row: Long): Unit = {
    var slot = first(hash)
    while (used(slot)) slot = next(slot)
    write(slot, hash, row)
    entries += 1
  }

  def replace(hash: Long, old: Long, row: Long): Unit = {
    var slot = first(hash)
    while ((read(slot) & Overlay.HashMask) != old) slot = next(slot)
    write(slot, hash, row)
  }

  /** A table of twice the size with the same rows; this one is released. */
  def grown(hash: Long => Long): AddressTable = {
    val larger = new AddressTable(slots)
    var slot = 0
    while (slot < slots) {
      val row = read(slot) & Overlay.HashMask
      if (row != 0) larger.add(hash(row), row)
      slot += 1
    }
    release()
    larger
  }

  def release(): Unit = {
    WriteMemory.add(-slots * 8L)
    OffHeap.free(memory)
  }

  private def read(slot: Int): Long = Platform.getLong(null, start + (slot.toLong << 3))
  private def write(slot: Int, hash: Long, row: Long): Unit =
    Platform.putLong(null, start + (slot.toLong << 3), ((hash >>> 32) << 48) | row)
}
