package io.keygroups.spark.session

import org.apache.spark.unsafe.Platform

/**
 * The header of an overlay's row, by its address: the header of a chunk's row with a turn above its flags, key address 8,
 * value address 8, the next row of its locator 8, the row that it was appended to 8.
 */
object OverlayRow {
  val HeaderBytes = 56

  val Superseded = 1
  val New = 2
  val Tombstone = 4
  /** The values come after those of an older row, in this overlay or below it. */
  val Appended = 8
  private val TurnShift = 4

  def locator(row: Long): Long = Platform.getLong(null, row)
  def keyLength(row: Long): Int = Platform.getInt(null, row + 12)
  def valueLength(row: Long): Int = Platform.getInt(null, row + 16)
  def flags(row: Long): Int = Platform.getInt(null, row + 20)
  /** The number of the first row that its key had in this overlay: where a scan in the order of appending returns the key. */
  def turn(row: Long): Int = flags(row) >>> TurnShift
  def isTombstone(row: Long): Boolean = (flags(row) & Tombstone) != 0
  def isAppended(row: Long): Boolean = (flags(row) & Appended) != 0
  /** Nothing below the overlay held the key when it was written. */
  def isNew(row: Long): Boolean = (flags(row) & New) != 0
  def isSuperseded(row: Long): Boolean = (flags(row) & Superseded) != 0
  def keyAddress(row: Long): Long = Platform.getLong(null, row + 24)
  def valueAddress(row: Long): Long = Platform.getLong(null, row + 32)
  def next(row: Long): Long = Platform.getLong(null, row + 40)
  /** The row that an appended one was appended to, 0 if that is not in this overlay. */
  def older(row: Long): Long = Platform.getLong(null, row + 48)
  /** The order of two rows: by locator, then by key. */
  def compare(a: Long, b: Long): Int = {
    val order = java.lang.Long.compare(locator(a), locator(b))
    if (order != 0) order
    else io.keygroups.spark.memory.Bytes.compare(null, keyAddress(a), keyLength(a), null, keyAddress(b), keyLength(b))
  }

  private[session] def fill(row: Long, turn: Int, flags: Int, key: Long, value: Long): Unit = {
    setFlags(row, (turn << TurnShift) | flags)
    Platform.putLong(null, row + 24, key)
    Platform.putLong(null, row + 32, value)
    setNext(row, 0L)
    setOlder(row, 0L)
  }
  private[session] def setFlags(row: Long, flags: Int): Unit = Platform.putInt(null, row + 20, flags)
  private[session] def setNext(row: Long, next: Long): Unit = Platform.putLong(null, row + 40, next)
  private[session] def setOlder(row: Long, older: Long): Unit = Platform.putLong(null, row + 48, older)
}
