package io.keygroups.spark.memory

import java.nio.ByteOrder

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.Platform

/** Rows as bytes. UnsafeRows are multiples of 8 bytes long, and mostly short: words beat Platform.copyMemory's call. */
object Bytes {
  private val littleEndian = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN

  /** xxh64 with seed 0, as every xxHash library computes it. */
  def hash(base: AnyRef, offset: Long, length: Int): Long = XXH64.hashUnsafeBytes(base, offset, length, 0L)

  def copy(fromBase: AnyRef, from: Long, toBase: AnyRef, to: Long, length: Int): Unit = {
    if (length > 256 || (length & 7) != 0) Platform.copyMemory(fromBase, from, toBase, to, length.toLong)
    else {
      var at = 0
      while (at < length) {
        Platform.putLong(toBase, to + at, Platform.getLong(fromBase, from + at))
        at += 8
      }
    }
  }

  def equal(aBase: AnyRef, a: Long, bBase: AnyRef, b: Long, length: Int): Boolean = {
    var at = 0
    while (at + 8 <= length) {
      if (Platform.getLong(aBase, a + at) != Platform.getLong(bBase, b + at)) return false
      at += 8
    }
    while (at < length) {
      if (Platform.getByte(aBase, a + at) != Platform.getByte(bBase, b + at)) return false
      at += 1
    }
    true
  }

  /** Order of bytes as unsigned numbers, as Arrow sorts binary columns; a prefix comes before what it begins. */
  def compare(aBase: AnyRef, a: Long, aLength: Int, bBase: AnyRef, b: Long, bLength: Int): Int = {
    val common = math.min(aLength, bLength)
    var at = 0
    while (at + 8 <= common) {
      val x = Platform.getLong(aBase, a + at)
      val y = Platform.getLong(bBase, b + at)
      if (x != y) return if (littleEndian) compareUnsigned(reverse(x), reverse(y)) else compareUnsigned(x, y)
      at += 8
    }
    while (at < common) {
      val difference = (Platform.getByte(aBase, a + at) & 0xff) - (Platform.getByte(bBase, b + at) & 0xff)
      if (difference != 0) return difference
      at += 1
    }
    Integer.compare(aLength, bLength)
  }

  private def reverse(x: Long): Long = java.lang.Long.reverseBytes(x)
  private def compareUnsigned(x: Long, y: Long): Int = java.lang.Long.compareUnsigned(x, y)
}
