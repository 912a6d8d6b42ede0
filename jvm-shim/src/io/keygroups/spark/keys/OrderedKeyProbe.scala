package io.keygroups.spark.keys

import io.keygroups.spark.memory.Bytes
import org.apache.spark.sql.catalyst.expressions.{BoundReference, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.unsafe.Platform

/** Bytes that are built anew for each key, in one array. */
private final class KeyBuffer {
  var bytes = new Array[Byte](64)

  def reserve(size: Int): Unit = if (bytes.length < size) bytes = java.util.Arrays.copyOf(bytes, 2 * size)

  def append(row: UnsafeRow, at: Int): Unit =
    Bytes.copy(row.getBaseObject, row.getBaseOffset, bytes, Platform.BYTE_ARRAY_OFFSET + at, row.getSizeInBytes)
}

/**
 * Keys of range scans: the ordering columns, encoded so that bytes sort as they do, then the key's UnsafeRow, which decides
 * among equals. The locator is the first 8 bytes, so the rows of all key groups are in one order.
 */
final class OrderedKeyProbe(shape: KeyShape, ordinals: Seq[Int], maxParallelism: Int)
  extends KeyProbe(shape, maxParallelism) {
  private val encoding = new OrderEncoding(shape.schema, ordinals)
  private val buffer = new KeyBuffer

  override def set(key: UnsafeRow): Unit = {
    buffer.reserve(encoding.width + key.getSizeInBytes)
    encoding.write(key, buffer.bytes)
    buffer.append(key, encoding.width)
    point(encoding.width + key.getSizeInBytes)
    keyHash = KeyProbe.hash(base, offset, length)
    keyGroup = keyGroupOf(key)
  }

  /** @param prefix the ordering columns, or the first of them */
  override def setPrefix(prefix: UnsafeRow): Unit = {
    buffer.reserve(encoding.width)
    java.util.Arrays.fill(buffer.bytes, 0, encoding.width, 0.toByte)
    point(encoding.writePrefix(prefix, buffer.bytes))
  }

  override def prefixTest: (Long, Int) => Boolean = {
    val prefix = java.util.Arrays.copyOf(buffer.bytes, length)
    (key, keyLength) =>
      keyLength >= prefix.length && Bytes.equal(null, key, prefix, Platform.BYTE_ARRAY_OFFSET, prefix.length)
  }

  override def row(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow = {
    val row = new UnsafeRow(shape.schema.length)
    row.pointTo(bytes, offset + encoding.width, length - encoding.width)
    row
  }

  private def point(size: Int): Unit = {
    base = buffer.bytes
    offset = Platform.BYTE_ARRAY_OFFSET
    length = size
    locator = OrderedKeyProbe.locator(buffer.bytes, size)
  }
}

private object OrderedKeyProbe {
  /** The first 8 bytes as a number; without the last bit, so that it is not negative. */
  def locator(bytes: Array[Byte], size: Int): Long = {
    var locator = 0L
    var i = 0
    while (i < 8) {
      locator = (locator << 8) | (if (i < size) bytes(i) & 0xff else 0)
      i += 1
    }
    locator >>> 1
  }
}

/** Keys that end with a timestamp: the other columns as an UnsafeRow, then the timestamp so that its bytes sort as it does. */
final class TimedKeyProbe(shape: KeyShape, maxParallelism: Int) extends KeyProbe(shape, maxParallelism) {
  import TimedKeyProbe.TimeBytes

  private val columns = shape.schema.length
  private val prefixProjection = shape.prefix
  private val buffer = new KeyBuffer
  private lazy val joined = UnsafeProjection.create(
    shape.schema.zipWithIndex.map { case (field, i) => BoundReference(i, field.dataType, field.nullable) })

  override def set(key: UnsafeRow): Unit = {
    val rest = prefixProjection(key)
    val size = rest.getSizeInBytes
    buffer.reserve(size + TimeBytes)
    buffer.append(rest, 0)
    val time = java.lang.Long.reverseBytes(key.getLong(columns - 1) ^ Long.MinValue)
    Platform.putLong(buffer.bytes, Platform.BYTE_ARRAY_OFFSET + size.toLong, time)
    point(size + TimeBytes)
    keyHash = KeyProbe.hash(base, offset, length)
    keyGroup = keyGroupOf(key)
    locator = hashedLocator(KeyProbe.hash(base, offset, size))
  }

  override def setPrefix(prefix: UnsafeRow): Unit = {
    val rest = prefixProjection(prefix)
    buffer.reserve(rest.getSizeInBytes)
    buffer.append(rest, 0)
    point(rest.getSizeInBytes)
    keyGroup = keyGroupOf(prefix)
    locator = hashedLocator(KeyProbe.hash(base, offset, length))
  }

  override def prefixTest: (Long, Int) => Boolean = {
    val prefix = java.util.Arrays.copyOf(buffer.bytes, length)
    (key, keyLength) => keyLength == prefix.length + TimeBytes &&
      Bytes.equal(null, key, prefix, Platform.BYTE_ARRAY_OFFSET, prefix.length)
  }

  override def row(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow = {
    val rest = new UnsafeRow(columns - 1)
    rest.pointTo(bytes, offset, length - TimeBytes)
    val time = new UnsafeRow(1)
    time.pointTo(new Array[Byte](16), Platform.BYTE_ARRAY_OFFSET, 16)
    time.setLong(0, java.lang.Long.reverseBytes(Platform.getLong(bytes, offset + length - TimeBytes)) ^ Long.MinValue)
    joined(new JoinedRow(rest, time)).copy()
  }

  private def point(size: Int): Unit = {
    base = buffer.bytes
    offset = Platform.BYTE_ARRAY_OFFSET
    length = size
  }
}

object TimedKeyProbe {
  /** Bytes of the timestamp at the end of a key. */
  val TimeBytes = 8
}
