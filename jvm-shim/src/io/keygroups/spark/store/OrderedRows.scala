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
  /** Of each overlay its rows, and the next of them. */
  private val rows = overlays.map(_.sorted(wanted, isInside))
  private val at = new Array[Int](rows.length)
  private var merging = advance()
  private var isAtMerge = false

  def this(overlays: Array[Overlay], parts: Array[Part], wanted: Option[Long], from: Option[KeyBound],
      until: Option[KeyBound], horizon: Long) =
    this(overlays, parts, wanted, from, until, new SegmentMerge(parts, wanted.orElse(from.map(_.locator)),
      wanted.orElse(until.map(_.locator)).getOrElse(Long.MaxValue), horizon))

  override def next(): Boolean = {
    if (isAtMerge) merging = advance()
    isAtMerge = false
    var first = smallest()
    while (merging || first != 0) {
      val order = if (first == 0) -1 else compareMerge(first)
      if (order <= 0) { // the segments' row comes first, or the overlays' row takes its place
        isAtMerge = stand(merge.keyAddress, merge.keyLength)
        if (order == 0) pass(first)
        if (isAtMerge) return true
        merging = advance()
      } else {
        pass(first)
        if (stand(Overlay.keyAddress(first), Overlay.keyLength(first))) return true
      }
      first = smallest()
    }
    false
  }

  /** The first of the overlays' rows that are still to come, 0 if there is none. */
  private def smallest(): Long = {
    var first = 0L
    var i = 0
    while (i < rows.length) {
      if (at(i) < rows(i).length) {
        val row = rows(i)(at(i))
        if (first == 0 || OrderedRows.compare(row, first) < 0) first = row
      }
      i += 1
    }
    first
  }

  /** Take the key's newest row; false if it was removed. */
  private def stand(key: Long, keyLength: Int): Boolean = {
    written = 0
    if (overlays.length > 0) {
      val hash = KeyProbe.hash(null, key, keyLength)
      var i = 0
      while (i < overlays.length && written == 0) {
        written = overlays(i).find(hash, null, key, keyLength)
        i += 1
      }
    }
    if (written != 0) !Overlay.isTombstone(written) else merge.isLive
  }

  /** Go past the rows of a key. */
  private def pass(row: Long): Unit = {
    var i = 0
    while (i < rows.length) {
      while (at(i) < rows(i).length && OrderedRows.compare(rows(i)(at(i)), row) == 0) at(i) += 1
      i += 1
    }
  }

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
