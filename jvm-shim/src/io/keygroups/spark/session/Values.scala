package io.keygroups.spark.session

import io.keygroups.spark.Failures
import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.Block
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** A value to be written, a list of values, or a tombstone. */
final class ValueBytes {
  var base: AnyRef = _
  var offset: Long = 0
  var length: Int = 0
  var isTombstone: Boolean = false
  private var list = new Array[Byte](256)

  def set(value: UnsafeRow): ValueBytes = point(value.getBaseObject, value.getBaseOffset, value.getSizeInBytes)
  def set(value: Array[Byte]): ValueBytes = point(value, Platform.BYTE_ARRAY_OFFSET.toLong, value.length)

  /** Become a list: of each value its length, in 8 bytes, and its bytes. Two lists one after the other are a list. */
  def setList(values: Array[UnsafeRow], codec: ValueCodec): ValueBytes = {
    var size = 0
    values.foreach { value =>
      codec.write(value, this)
      val end = ValueBytes.checked(size.toLong + ValueList.LengthBytes + length)
      if (list.length < end) list = java.util.Arrays.copyOf(list, math.min(2L * end, ValueBytes.MaxBytes.toLong).toInt)
      Platform.putLong(list, Platform.BYTE_ARRAY_OFFSET.toLong + size, length.toLong)
      Bytes.copy(base, offset, list, Platform.BYTE_ARRAY_OFFSET.toLong + size + ValueList.LengthBytes, length)
      size = end
    }
    point(list, Platform.BYTE_ARRAY_OFFSET.toLong, size)
  }

  /** KeyGroupsException: the value is too long for a chunk. */
  def requireStorable(): Unit = {
    ValueBytes.checked(length.toLong)
    ()
  }

  def tombstone(): ValueBytes = {
    point(null, 0, 0)
    isTombstone = true
    this
  }

  private def point(base: AnyRef, offset: Long, length: Int): ValueBytes = {
    this.base = base
    this.offset = offset
    this.length = length
    isTombstone = false
    this
  }
}

private object ValueBytes {
  /** A chunk has 2 GiB of values at most: one value, and an overlay that is not full. */
  val MaxBytes: Int = 1 << 30

  def checked(bytes: Long): Int = if (bytes <= MaxBytes) bytes.toInt else throw Failures.tooLongToWrite(bytes, MaxBytes)
}

/** Bytes that are stored for a key. */
trait StoredValue {
  def length: Int
  /** Copy them to a place in an array. */
  def copy(target: Array[Byte], at: Long): Unit
}

/** Those of a row of an overlay. */
final class OverlayValue(row: Long) extends StoredValue {
  override val length: Int = OverlayRow.valueLength(row)
  override def copy(target: Array[Byte], at: Long): Unit = Bytes.copy(null, OverlayRow.valueAddress(row), target, at, length)
}

/** Those of a row of a segment. */
final class SealedValue(block: Block, row: Int) extends StoredValue {
  override val length: Int = block.valueLength(row)
  override def copy(target: Array[Byte], at: Long): Unit = block.copyValue(row, target, at)
}

/** The values of one key of a family with many, in the order in which they were put. */
final class ValueList(codec: ValueCodec, bytes: Array[Byte]) extends Iterator[UnsafeRow] {
  private var at = 0

  override def hasNext: Boolean = at < bytes.length

  override def next(): UnsafeRow = {
    if (!hasNext) throw new NoSuchElementException("end of values")
    val length = ValueList.lengthAt(bytes, at)
    val row = codec.read(bytes, Platform.BYTE_ARRAY_OFFSET + at.toLong + ValueList.LengthBytes, length)
    at += ValueList.LengthBytes + length
    row
  }
}

object ValueList {
  val LengthBytes = 8
  /** The longest array that every JVM allocates. */
  private val MaxArray = Int.MaxValue - 15

  /** Stored lists as one list. KeyGroupsException: it is too long. */
  def concatenated(pieces: List[StoredValue]): Array[Byte] = {
    var size = 0L
    pieces.foreach(piece => size += piece.length)
    if (size > MaxArray) throw Failures.tooLongToRead(size, MaxArray)
    val bytes = new Array[Byte](size.toInt)
    var at = Platform.BYTE_ARRAY_OFFSET.toLong
    pieces.foreach { piece =>
      piece.copy(bytes, at)
      at += piece.length
    }
    bytes
  }

  /** The length of the value that begins at `at`; KeyGroupsException if the bytes have no room for it. */
  private def lengthAt(bytes: Array[Byte], at: Int): Int = {
    val room = bytes.length - at - LengthBytes
    val length = if (room < 0) -1L else Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + at.toLong)
    if (length < 0 || length > room) {
      throw Failures.damaged("that of a list of values", s"a value of $length bytes where $room are left")
    }
    length.toInt
  }
}
