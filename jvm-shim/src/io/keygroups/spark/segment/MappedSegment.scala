package io.keygroups.spark.segment

import java.nio.channels.FileChannel
import java.nio.file.{Paths, StandardOpenOption}
import java.util.concurrent.atomic.AtomicInteger

import io.keygroups.spark.memory.Reaper

/**
 * A segment mapped into memory. It is shared by the sessions that see it and unmapped after the last has let go.
 *
 * The file may be deleted meanwhile; the mapping keeps its bytes.
 */
final class MappedSegment private (val view: SegmentView, val blocks: Array[Block]) {
  private val holders = new AtomicInteger(1)
  private val lastLocators = blocks.map(_.lastLocator)

  def bytes: Long = view.bytes + blocks.map(_.indexBytes.toLong).sum

  /** Hold it; false if it is gone already. */
  def retain(): Boolean = {
    val before = holders.getAndUpdate(n => if (n == 0) 0 else n + 1)
    before > 0
  }

  def release(): Unit = if (holders.decrementAndGet() == 0) Reaper.later(unmap())

  /** The block that has the locator if any has; `blocks.length` if all lie below it. */
  def blockOf(locator: Long): Int = {
    var low = 0
    var high = lastLocators.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (lastLocators(middle) < locator) low = middle + 1 else high = middle
    }
    low
  }

  private def unmap(): Unit = blocks.foreach(_.release())
}

object MappedSegment {

  /** Map a file that Python has written. NoSuchFileException: it was compacted away meanwhile, ask for a new plan. */
  def open(view: SegmentView, partitions: Int): MappedSegment = {
    val channel = FileChannel.open(Paths.get(view.path), StandardOpenOption.READ)
    try {
      val blocks = view.blocks.filter(_.rows > 0).map(Block.map(channel, _, partitions, view.path))
      new MappedSegment(view, blocks.toArray)
    } finally channel.close()
  }
}
