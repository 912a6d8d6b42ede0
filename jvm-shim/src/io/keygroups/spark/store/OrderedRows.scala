package io.keygroups.spark.store

import io.keygroups.spark.keys.{KeyProbe, TimedKeyProbe}
import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.Part
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

  /** Whether a stored key lies below this one. */
  def isAbove(key: Long, keyLength: Int): Boolean =
    Bytes.compare(null, key, keyLength, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length) < 0
}

object KeyBound {
  /** Where a probe stands. */
  def of(probe: KeyProbe): KeyBound = new KeyBound(probe.locator, copy(probe))

  /** Behind all keys that begin with what a probe holds; None if nothing can be. */
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

/**
 * Rows in the order of (locator, key): those of the segments and those that the overlays held when the scan began, by their
 * present values.
 *
 * @param overlays newest first
 * @param parts newest first
 * @param wanted only rows of this locator
 * @param from only rows from here on
 * @param until only rows below
 * @param horizon rows of segments written until then have expired
 */
final class OrderedRows(overlays: Array[Overlay], parts: Array[Part], wanted: Option[Long], from: Option[KeyBound],
    until: Option[KeyBound], merge: SegmentMerge) extends StoredRows(merge) {
  private val heads = overlays.map(_.sorted(wanted, isInside).iterator.buffered)
  private var merging = advance()

  def this(overlays: Array[Overlay], parts: Array[Part], wanted: Option[Long], from: Option[KeyBound],
      until: Option[KeyBound], horizon: Long) =
    this(overlays, parts, wanted, from, until, new SegmentMerge(parts, wanted.orElse(from.map(_.locator)),
      wanted.orElse(until.map(_.locator)).getOrElse(Long.MaxValue), horizon))

  override def next(): Boolean = {
    if (isAtMerge) merging = advance()
    isAtMerge = false
    while (merging || heads.exists(_.hasNext)) {
      val first = heads.filter(_.hasNext).map(_.head).reduceOption((a, b) => if (OrderedRows.compare(b, a) < 0) b else a)
      val order = first.fold(-1)(compareMerge)
      if (order <= 0) { // the segments' row comes first, or the overlays' row takes its place
        if (stand(merge.keyAddress, merge.keyLength)) {
          isAtMerge = true
          if (order == 0) pass(first.get)
          return true
        }
        if (order == 0) pass(first.get)
        merging = advance()
      } else {
        pass(first.get)
        if (stand(Overlay.keyAddress(first.get), Overlay.keyLength(first.get))) return true
      }
    }
    false
  }

  private var isAtMerge = false

  /** Take the key's newest row; false if it was removed. */
  private def stand(key: Long, keyLength: Int): Boolean = {
    val hash = KeyProbe.hash(null, key, keyLength)
    written = overlays.iterator.map(_.find(hash, null, key, keyLength)).find(_ != 0).getOrElse(0L)
    if (written != 0) !Overlay.isTombstone(written) else merge.isLive
  }

  private def pass(row: Long): Unit =
    heads.foreach(head => while (head.hasNext && OrderedRows.compare(head.head, row) == 0) head.next())

  /** The order of the segments' row and a written one; 1 if the segments are at their end. */
  private def compareMerge(row: Long): Int =
    if (!merging) 1
    else {
      val order = java.lang.Long.compare(merge.locator, Overlay.locator(row))
      if (order != 0) order
      else Bytes.compare(null, merge.keyAddress, merge.keyLength, null, Overlay.keyAddress(row), Overlay.keyLength(row))
    }

  private def advance(): Boolean = {
    var more = merge.next()
    while (more && from.exists(_.isAbove(merge.keyAddress, merge.keyLength))) more = merge.next()
    more && until.forall(_.isAbove(merge.keyAddress, merge.keyLength))
  }

  private def isInside(row: Long): Boolean = {
    val key = Overlay.keyAddress(row)
    val length = Overlay.keyLength(row)
    !from.exists(_.isAbove(key, length)) && until.forall(_.isAbove(key, length))
  }
}

object OrderedRows {
  /** The order of two rows of overlays. */
  def compare(a: Long, b: Long): Int = {
    val order = java.lang.Long.compare(Overlay.locator(a), Overlay.locator(b))
    if (order != 0) order
    else Bytes.compare(null, Overlay.keyAddress(a), Overlay.keyLength(a), null, Overlay.keyAddress(b), Overlay.keyLength(b))
  }
}
