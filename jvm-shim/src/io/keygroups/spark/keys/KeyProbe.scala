package io.keygroups.spark.keys

import io.keygroups.spark.memory.Bytes
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/**
 * A key as lookups see it: its stored bytes, and the numbers that say where its row lies. One object per session and
 * family, set anew for each row; not thread-safe.
 */
abstract class KeyProbe(shape: KeyShape, maxParallelism: Int) {
  private val partitionHash = shape.hash.orNull

  var base: AnyRef = _
  var offset: Long = 0
  var length: Int = 0
  /** 48 bits of the hash of the stored bytes. */
  var keyHash: Long = 0
  var keyGroup: Int = 0
  /** Where the row lies in a segment: see `KeyOrder`. */
  var locator: Long = 0

  /** Hold a key. */
  def set(key: UnsafeRow): Unit

  /** Hold what all keys with this scan prefix begin with; the fields of a key are not valid afterwards. */
  def setPrefix(prefix: UnsafeRow): Unit

  /** Whether a stored key, by its address and length, begins with the prefix that was set; valid after the next `set`. */
  def prefixTest: (Long, Int) => Boolean

  /** A stored key, now in an array that nobody else changes, as a row. */
  def row(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow

  /** By Spark's hash of the partitioning columns; 0 if there are none. */
  protected final def keyGroupOf(key: UnsafeRow): Int =
    if (partitionHash == null) 0 else Math.floorMod(partitionHash(key), maxParallelism)

  protected final def hashedLocator(hash: Long): Long = (keyGroup.toLong << 48) | hash
}

object KeyProbe {
  def hash(base: AnyRef, offset: Long, length: Int): Long = Bytes.hash(base, offset, length) >>> 16

  def hash(row: UnsafeRow): Long = hash(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)

  def apply(shape: KeyShape, maxParallelism: Int): KeyProbe = shape.order match {
    case KeyOrder.Ordered(ordinals) => new OrderedKeyProbe(shape, ordinals, maxParallelism)
    case KeyOrder.Timed => new TimedKeyProbe(shape, maxParallelism)
    case _ => new PlainKeyProbe(shape, maxParallelism)
  }
}

/** Keys stored as their UnsafeRow, which takes no copy. */
final class PlainKeyProbe(shape: KeyShape, maxParallelism: Int) extends KeyProbe(shape, maxParallelism) {
  private val prefixProjection: UnsafeProjection = if (shape.prefixColumns == 0) null else shape.prefix
  private val tested = new UnsafeRow(shape.schema.length)
  private var wanted: UnsafeRow = _

  override def set(key: UnsafeRow): Unit = {
    base = key.getBaseObject
    offset = key.getBaseOffset
    length = key.getSizeInBytes
    keyHash = KeyProbe.hash(base, offset, length)
    keyGroup = keyGroupOf(key)
    locator = hashedLocator(if (prefixProjection == null) keyHash else KeyProbe.hash(prefixProjection(key)))
  }

  override def setPrefix(prefix: UnsafeRow): Unit = {
    wanted = prefixProjection(prefix).copy()
    keyGroup = keyGroupOf(prefix)
    locator = hashedLocator(KeyProbe.hash(wanted))
  }

  override def prefixTest: (Long, Int) => Boolean = {
    val prefix = wanted
    (key, keyLength) => {
      tested.pointTo(null, key, keyLength)
      prefixProjection(tested) == prefix
    }
  }

  override def row(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow = {
    val row = new UnsafeRow(shape.schema.length)
    row.pointTo(bytes, offset, length)
    row
  }
}
