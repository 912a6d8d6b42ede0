package io.keygroups.spark.session

import java.nio.ByteBuffer
import java.nio.channels.FileChannel

import scala.collection.mutable.ArrayBuffer

import io.keygroups.spark.memory.{Arena, Bytes, OffHeap, PagePool}

/** The headers of an overlay's rows, in the order in which the rows were appended. */
private[session] final class OverlayHeaders {
  import OverlayHeaders._

  private val memory = new Arena
  private val pages = ArrayBuffer.empty[Long]
  private var count = 0

  def rows: Int = count

  /** The row with that number. */
  def row(number: Int): Long = pages(number / PerPage) + (number % PerPage).toLong * OverlayRow.HeaderBytes

  /** Room for the header of one more row. */
  def add(): Long = {
    val row = memory.allocate(OverlayRow.HeaderBytes)
    if (count % PerPage == 0) pages += row
    count += 1
    row
  }

  /** Write the part of all headers that belongs into a chunk. */
  def writeTo(channel: FileChannel): Unit = {
    val buffer: ByteBuffer = OffHeap.allocate(ChunkFile.HeaderBytes * math.max(1, math.min(count, PerPage)))
    val start = OffHeap.address(buffer)
    try {
      var number = 0
      while (number < count) {
        val rows = math.min(PerPage, count - number)
        copy(row(number), rows, start)
        buffer.clear().limit(rows * ChunkFile.HeaderBytes)
        while (buffer.hasRemaining) channel.write(buffer)
        number += rows
      }
    } finally OffHeap.free(buffer)
  }

  def release(): Unit = memory.release()

  private def copy(from: Long, rows: Int, to: Long): Unit = {
    var i = 0
    while (i < rows) {
      Bytes.copy(null, from + i.toLong * OverlayRow.HeaderBytes, null, to + i.toLong * ChunkFile.HeaderBytes,
        ChunkFile.HeaderBytes)
      i += 1
    }
  }
}

private object OverlayHeaders {
  val PerPage: Int = PagePool.PageBytes / OverlayRow.HeaderBytes
}
