package io.keygroups.spark.session

import io.keygroups.spark.keys.KeyProbe
import io.keygroups.spark.segment.{Block, FileReads, Part}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Lookups in the sealed segments that a session sees of a family. The last row found is kept in fields, so that a
 * lookup allocates nothing.
 *
 * @param horizon rows that were written until then have expired
 */
final class SealedRows(horizon: Long) {
  private var newestFirst = Array.empty[Part]
  /** How many of them are the session's own, and what these hold. */
  private var ownParts = 0
  private val ownKeys = new SpilledKeys
  private var block: Block = _
  private var row = 0
  private var expired = false

  def parts: Array[Part] = newestFirst

  /**
   * See these parts, newest first.
   *
   * @param own of segments that the session has sorted
   * @param base of the version that it began with
   */
  def see(own: Array[Part], base: Array[Part]): Unit = {
    ownKeys.see(own) // first: if there is no memory for it, the segments that are seen stay those that it knows
    newestFirst = own ++ base
    ownParts = own.length
  }

  /** Forget what takes memory, and see nothing. */
  def release(): Unit = see(Array.empty, Array.empty)

  /** Whether a key is stored, expired or not. */
  def contains(probe: KeyProbe): Boolean = {
    val stored = locate(first(probe.keyHash), probe.locator, probe.base, probe.offset, probe.length) >= 0 && !block.isTombstone(row)
    expired = stored && block.isExpired(row, horizon)
    stored
  }

  /** Whether the key of the last lookup has expired. */
  def foundExpired: Boolean = expired

  /** Whether a key is stored and not expired. */
  def isVisible(probe: KeyProbe): Boolean = contains(probe) && !expired

  /** The value of a key; null if it is not stored or has expired. */
  def get(probe: KeyProbe, codec: ValueCodec): UnsafeRow =
    if (isVisible(probe)) codec.read(block, row) else null

  /** Whether a lookup may have to read a file. */
  def haveValuesInFiles: Boolean = newestFirst.exists(_.blocks.exists(_.hasValuesInFile))

  /** Add the read of a key's value, if that is in a file alone. */
  def readLater(probe: KeyProbe, reads: FileReads): Unit = if (isVisible(probe)) block.readLater(row, reads)

  /**
   * The values of a key: those of its newest row, after those of the older rows that it was appended to. They live as long
   * as the newest: compaction makes one row of them.
   *
   * @param hash 48 bits of the hash of the key
   * @param later values that come after all of these
   */
  def gather(hash: Long, locator: Long, base: AnyRef, offset: Long, length: Int, later: List[StoredValue]): List[StoredValue] = {
    var pieces = later
    var at = locate(first(hash), locator, base, offset, length)
    if (at >= 0 && later.isEmpty && block.isExpired(row, horizon)) return pieces
    while (at >= 0) {
      if (!block.isTombstone(row)) pieces ::= new SealedValue(block, row)
      at = if (block.isAppended(row)) locate(at + 1, locator, base, offset, length) else -1
    }
    pieces
  }

  /** The number of the first part that may have a key. */
  private def first(hash: Long): Int = if (ownParts == 0 || ownKeys.mayHold(hash)) 0 else ownParts

  /** Find the newest row of a key in parts from number `from` on; the number of its part, or -1. */
  private def locate(from: Int, locator: Long, base: AnyRef, offset: Long, length: Int): Int = {
    var i = from
    while (i < newestFirst.length) {
      val part = newestFirst(i)
      val at = part.blockOf(locator, base, offset, length)
      if (at < part.blocks.length) {
        val found = part.find(at, locator, base, offset, length)
        if (found >= 0) {
          block = part.blocks(at)
          row = found
          return i
        }
      }
      i += 1
    }
    -1
  }
}
