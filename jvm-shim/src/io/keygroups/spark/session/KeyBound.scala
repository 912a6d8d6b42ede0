package io.keygroups.spark.session

import io.keygroups.spark.keys.{KeyProbe, TimedKeyProbe}
import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.{Block, Part}
import org.apache.spark.unsafe.Platform

/** The bytes of a key, as a bound of a scan. */
final class KeyBound(val locator: Long, private val bytes: Array[Byte]) {
  private val untimed = bytes.length - TimedKeyProbe.TimeBytes

  /** Whether both are the same key but for the timestamp at its end. */
  def isOfSameKey(other: KeyBound): Boolean =
    bytes.length == other.bytes.length && java.util.Arrays.equals(bytes, 0, untimed, other.bytes, 0, untimed)

  /** Whether a stored key is the same but for the timestamp at its end. */
  def isOfSameKey(key: Long, keyLength: Int): Boolean =
    keyLength == bytes.length && Bytes.equal(null, key, bytes, Platform.BYTE_ARRAY_OFFSET, untimed)

  /** Whether a stored key of this locator lies below this bound in the order of (locator, key). */
  def isAbove(keyLocator: Long, key: Long, keyLength: Int): Boolean =
    keyLocator < locator || keyLocator == locator && isAbove(key, keyLength)

  /** The block of a part where rows above this bound begin; the number of blocks if there is none. */
  def blockIn(part: Part): Int = part.blockOf(locator, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length)

  /** The first row of a block that is not below this bound. */
  def rowIn(block: Block): Int = block.lowerBound(locator, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length)

  /** Whether a stored key lies below this bound. */
  def isAbove(key: Long, keyLength: Int): Boolean =
    Bytes.compare(null, key, keyLength, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length) < 0
}

object KeyBound {
  /** The key that a probe holds. */
  def of(probe: KeyProbe): KeyBound = new KeyBound(probe.locator, copy(probe))

  /** The smallest key above the one at the beginning of an array. */
  def above(locator: Long, bytes: Array[Byte], keyLength: Int): KeyBound =
    new KeyBound(locator, java.util.Arrays.copyOf(java.util.Arrays.copyOf(bytes, keyLength), keyLength + 1))

  /** The smallest key above all keys that begin with what a probe holds; None if there can be none. */
  def after(probe: KeyProbe): Option[KeyBound] = {
    val bytes = copy(probe)
    var last = bytes.length - 1
    while (last >= 0 && bytes(last) == -1) last -= 1
    if (last < 0) None
    else {
      bytes(last) = (bytes(last) + 1).toByte
      Some(new KeyBound(Long.MaxValue, java.util.Arrays.copyOf(bytes, last + 1)))
    }
  }

  private def copy(probe: KeyProbe): Array[Byte] = {
    val bytes = new Array[Byte](probe.length)
    Bytes.copy(probe.base, probe.offset, bytes, Platform.BYTE_ARRAY_OFFSET, probe.length)
    bytes
  }
}
