package io.keygroups.spark.memory

import java.nio.channels.FileChannel

import scala.collection.mutable.ArrayBuffer

/** Bytes appended one after another, in pages of the pool. What was appended stays where it is. */
final class Arena {
  private val pages = ArrayBuffer.empty[Page]
  private val used = ArrayBuffer.empty[Int]
  private var start = 0L
  private var cursor = 0L
  private var limit = 0L
  private var sealedBytes = 0L

  /** Bytes appended so far. */
  def bytes: Long = sealedBytes + (cursor - start)

  /** Room for `size` bytes, not cut by the end of a page. */
  def allocate(size: Int): Long = {
    if (limit - cursor < size) addPage(size)
    val address = cursor
    cursor += size
    address
  }

  /** Write all bytes, in the order of their allocation. */
  def writeTo(channel: FileChannel): Unit = {
    closePage()
    for (i <- pages.indices) {
      val view = pages(i).buffer.duplicate()
      view.position(0).limit(used(i))
      while (view.hasRemaining) channel.write(view)
    }
  }

  def release(): Unit = {
    pages.foreach(_.release())
    pages.clear()
    used.clear()
    start = 0
    cursor = 0
    limit = 0
  }

  private def addPage(size: Int): Unit = {
    closePage()
    val page = PagePool.acquire(size)
    pages += page
    used += 0
    start = OffHeap.address(page.buffer)
    cursor = start
    limit = start + page.buffer.limit()
  }

  private def closePage(): Unit = if (pages.nonEmpty) {
    used(pages.length - 1) += (cursor - start).toInt
    sealedBytes += cursor - start
    start = cursor
  }
}
