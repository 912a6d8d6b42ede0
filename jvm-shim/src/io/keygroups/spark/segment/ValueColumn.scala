package io.keygroups.spark.segment

import io.keygroups.spark.memory.Bytes
import org.apache.spark.unsafe.Platform

/**
 * The values of a block: in mapped memory, or in the file alone, from where each is read when it is wanted.
 *
 * @param column where values begin and how long they are; addresses, or positions in the file
 * @param file null if the values are mapped
 */
private[segment] final class ValueColumn(column: Column, file: SegmentFile) {
  def length(row: Int): Int = column.length(row)

  /** Whether a value has to be read from the file. */
  def isInFile: Boolean = file != null

  /** Add the read of a value that is in the file alone. */
  def readLater(row: Int, reads: FileReads): Unit =
    if (file != null) reads.add(file, column.address(row), column.length(row))

  /** Copy a value to a place in an array. */
  def copy(row: Int, target: Array[Byte], at: Long): Unit =
    if (file == null) Bytes.copy(null, column.address(row), target, at, column.length(row))
    else file.read(column.address(row), target, (at - Platform.BYTE_ARRAY_OFFSET).toInt, column.length(row))
}
