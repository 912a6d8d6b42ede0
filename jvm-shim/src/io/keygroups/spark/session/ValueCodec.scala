package io.keygroups.spark.session

import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.Block
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** How a value is stored. */
trait ValueCodec {
  /** Point `target` at the stored form of a value. */
  def write(value: UnsafeRow, target: ValueBytes): ValueBytes

  /** The value stored in an array that nobody else changes. */
  def read(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow

  /** The value of a row of a segment, as a row of its own. */
  def read(block: Block, row: Int): UnsafeRow = {
    val bytes = new Array[Byte](block.valueLength(row))
    block.copyValue(row, bytes, Platform.BYTE_ARRAY_OFFSET)
    read(bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length)
  }

  /** The value stored outside of the heap, as a row of its own. */
  def read(address: Long, length: Int): UnsafeRow = {
    val bytes = new Array[Byte](length)
    Bytes.copy(null, address, bytes, Platform.BYTE_ARRAY_OFFSET, length)
    read(bytes, Platform.BYTE_ARRAY_OFFSET, length)
  }
}

/** Values stored as their UnsafeRow. */
final class PlainValues(fields: Int) extends ValueCodec {
  override def write(value: UnsafeRow, target: ValueBytes): ValueBytes = target.set(value)

  override def read(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow = {
    val row = new UnsafeRow(fields)
    row.pointTo(bytes, offset, length)
    row
  }
}

object PlainValues {
  /** The name that a catalog has for it. */
  val Encoding = "unsaferow"
}

/** Another codec, which is made when it is needed: Spark's own cannot be made for some types, and workers need none. */
final class LaterValues(make: => ValueCodec) extends ValueCodec {
  private lazy val made = make
  override def write(value: UnsafeRow, target: ValueBytes): ValueBytes = made.write(value, target)
  override def read(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow = made.read(bytes, offset, length)
}

/**
 * Values stored by an encoder of Spark's, which knows the schemas that the family has had.
 *
 * @param encode a value as bytes
 * @param decode bytes as a value, which is good until the next call
 */
final class EncodedValues(encode: UnsafeRow => Array[Byte], decode: Array[Byte] => UnsafeRow) extends ValueCodec {
  override def write(value: UnsafeRow, target: ValueBytes): ValueBytes = synchronized(target.set(encode(value)))

  override def read(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow = synchronized {
    val start = (offset - Platform.BYTE_ARRAY_OFFSET).toInt
    decode(java.util.Arrays.copyOfRange(bytes, start, start + length)).copy()
  }
}
