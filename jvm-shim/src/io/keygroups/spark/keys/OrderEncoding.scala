package io.keygroups.spark.keys

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStoreErrors
import org.apache.spark.sql.types._

/**
 * Columns as bytes that sort as the columns do: for each a marker (0 negative, 1 not negative, 2 null, so nulls are last, as in
 * Spark's RangeKeyScanStateEncoder), then the value, big-endian, with all bits of a negative float inverted.
 */
final class OrderEncoding(schema: StructType, ordinals: Seq[Int]) {
  private val columns = ordinals.toArray
  private val types = columns.map(i => OrderEncoding.checked(schema(i), i))
  private val used = types.map(1 + OrderEncoding.width(_)).sum

  /** Bytes of each encoding: a multiple of 8, so that what follows is aligned. */
  val width: Int = (used + 7) / 8 * 8

  /** Write the ordering columns of a key. */
  def write(row: UnsafeRow, target: Array[Byte]): Unit = {
    var at = 0
    var i = 0
    while (i < columns.length) {
      at = writeColumn(row, columns(i), types(i), target, at)
      i += 1
    }
  }

  /** Write a row of the first ordering columns or of all; returns the bytes that they take. */
  def writePrefix(row: UnsafeRow, target: Array[Byte]): Int = {
    var at = 0
    var i = 0
    while (i < row.numFields) {
      at = writeColumn(row, i, types(i), target, at)
      i += 1
    }
    if (row.numFields == columns.length) width else at
  }

  private def writeColumn(row: UnsafeRow, ordinal: Int, kind: DataType, target: Array[Byte], at: Int): Int = {
    val size = OrderEncoding.width(kind)
    if (row.isNullAt(ordinal)) {
      target(at) = 2
      java.util.Arrays.fill(target, at + 1, at + 1 + size, 0.toByte)
    } else {
      val bits = OrderEncoding.bits(row, ordinal, kind)
      val isNegative = (bits >>> (size * 8 - 1) & 1) != 0
      val isFloating = kind == FloatType || kind == DoubleType
      target(at) = if (isNegative) 0 else 1
      val ordered = if (isNegative && isFloating) ~bits else bits
      var i = 0
      while (i < size) {
        target(at + 1 + i) = (ordered >>> (8 * (size - 1 - i))).toByte
        i += 1
      }
    }
    at + 1 + size
  }
}

private object OrderEncoding {
  def width(kind: DataType): Int = kind match {
    case BooleanType | ByteType => 1
    case ShortType => 2
    case IntegerType | FloatType => 4
    case _ => 8
  }

  def bits(row: UnsafeRow, ordinal: Int, kind: DataType): Long = kind match {
    case BooleanType => if (row.getBoolean(ordinal)) 1L else 0L
    case ByteType => row.getByte(ordinal).toLong
    case ShortType => row.getShort(ordinal).toLong
    case IntegerType => row.getInt(ordinal).toLong
    case FloatType => java.lang.Float.floatToRawIntBits(row.getFloat(ordinal)).toLong
    case DoubleType => java.lang.Double.doubleToRawLongBits(row.getDouble(ordinal))
    case _ => row.getLong(ordinal)
  }

  def checked(field: StructField, ordinal: Int): DataType = field.dataType match {
    case kind @ (BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType) => kind
    case NullType => throw StateStoreErrors.nullTypeOrderingColsNotSupported(field.name, ordinal.toString)
    case _ => throw StateStoreErrors.variableSizeOrderingColsNotSupported(field.name, ordinal.toString)
  }
}
