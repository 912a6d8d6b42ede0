package org.apache.spark.sql.execution.streaming.state.keygroups.bench

import java.util.Random

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{LongType, StructField, StructType}

/**
 * The rows of a store of `count` keys: one key row and one value row, written in place, as Spark's operators reuse theirs.
 *
 * A key is one long (an UnsafeRow of 16 bytes) that mixes its ordinal, so no provider is handed sorted keys. A value is
 * `valueLongs` longs (8 + 8 * valueLongs bytes), half of each random, so that compression has something to do but not all.
 */
final class Rows(val count: Int, valueLongs: Int) {
  val keySchema: StructType = Rows.longs("key", 1)
  val valueSchema: StructType = Rows.longs("value", valueLongs)
  val bytesPerRow: Int = Rows.bytes(1) + Rows.bytes(valueLongs)

  private val keyRow = Rows.row(1)
  private val valueRow = Rows.row(valueLongs)
  private val order = Rows.shuffled(count)
  private var current = 0L

  /** Points the key row at the ordinal-th key, the order in which a store is loaded. */
  def key(ordinal: Int): UnsafeRow = {
    current = Rows.mix(ordinal)
    keyRow.setLong(0, current)
    keyRow
  }

  /** Points the key row at the step-th key of a fixed random order that visits each key once in `count` steps. */
  def randomKey(step: Long): UnsafeRow = key(order((step % count).toInt))

  /** Fills the value row for the current key as `version` writes it. */
  def value(version: Long): UnsafeRow = {
    valueRow.setLong(0, (current >>> 32) << 16 | (version & 0xffff))
    var column = 1
    while (column < valueLongs) {
      valueRow.setLong(column, current * (2 * column + 1) >>> 32)
      column += 1
    }
    valueRow
  }

  /** Fails unless `value` is one that was written for the current key. */
  def check(value: UnsafeRow): Unit = Rows.check(current, value)
}

object Rows {
  /** Fails unless `value` is one that was written for `key`, so that no wrong answer counts as a fast one. */
  def check(key: Long, value: UnsafeRow): Unit =
    if (value == null || value.getLong(0) >>> 16 != key >>> 32) {
      throw new IllegalStateException(s"the store answered $value for key $key")
    }

  private def longs(name: String, columns: Int): StructType =
    StructType((0 until columns).map(i => StructField(s"$name$i", LongType, nullable = false)))

  /** Bytes of an UnsafeRow of `columns` longs: a word of null bits and a word a column. */
  private def bytes(columns: Int): Int = UnsafeRow.calculateBitSetWidthInBytes(columns) + 8 * columns

  private def row(columns: Int): UnsafeRow = {
    val row = new UnsafeRow(columns)
    row.pointTo(new Array[Byte](bytes(columns)), bytes(columns))
    row
  }

  /** Murmur3's 64-bit finaliser: one to one, so distinct ordinals give distinct keys. */
  private def mix(ordinal: Long): Long = {
    var h = ordinal * 0x9e3779b97f4a7c15L
    h = (h ^ h >>> 33) * 0xff51afd7ed558ccdL
    h = (h ^ h >>> 33) * 0xc4ceb9fe1a85ec53L
    h ^ h >>> 33
  }

  private def shuffled(count: Int): Array[Int] = {
    val order = Array.range(0, count)
    val random = new Random(42)
    var i = count - 1
    while (i > 0) {
      val j = random.nextInt(i + 1)
      val swapped = order(i)
      order(i) = order(j)
      order(j) = swapped
      i -= 1
    }
    order
  }
}
