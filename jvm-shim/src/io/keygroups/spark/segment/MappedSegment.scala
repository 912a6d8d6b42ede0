package io.keygroups.spark.segment

import java.nio.channels.{ClosedByInterruptException, FileChannel}
import java.nio.file.{Paths, StandardOpenOption}
import java.util.concurrent.atomic.AtomicInteger

import io.keygroups.spark.Failures
import io.keygroups.spark.memory.Reaper

/**
 * A segment mapped into memory: its blocks, each with the number of its family. The sessions that see it share it; it is unmapped after the last has
 * released it. The file may be deleted meanwhile; the mapping keeps its bytes.
 */
final class MappedSegment private (val view: SegmentView, val blocks: Seq[(Int, Block)]) {
  private val holders = new AtomicInteger(1)
  private val parts = blocks.groupMap(_._1)(_._2).map { case (family, blocks) => family -> Part.of(blocks.toArray) }

  def bytes: Long = view.bytes + blocks.map(_._2.indexBytes.toLong).sum

  /** Hold it; false if it is unmapped already. */
  def retain(): Boolean = {
    val before = holders.getAndUpdate(n => if (n == 0) 0 else n + 1)
    before > 0
  }

  def release(): Unit = if (holders.decrementAndGet() == 0) Reaper.later(unmap())

  /** The rows of a family; None if it has none. */
  def part(family: Int): Option[Part] = parts.get(family)

  private def unmap(): Unit = blocks.foreach(_._2.release())
}

object MappedSegment {

  /**
   * Map a file that Python has written, and check all that later reads rely on. NoSuchFileException: it was compacted away
   * meanwhile, request a new plan.
   */
  def open(view: SegmentView, partitions: Int): MappedSegment = {
    val channel = FileChannel.open(Paths.get(view.path), StandardOpenOption.READ)
    var blocks = List.empty[(Int, Block)]
    var done = false
    try {
      LayoutCheck.blocks(view, channel.size())
      view.blocks.foreach(b => blocks ::= b.family -> Block.map(channel, b, partitions, view.path))
      val segment = new MappedSegment(view, blocks.reverse)
      if (!segment.parts.valuesIterator.forall(_.isInOrder)) throw Failures.damaged(view.path, "blocks that overlap")
      done = true
      segment
    } catch {
      case error: ClosedByInterruptException => throw Failures.interrupted(error)
    } finally {
      channel.close()
      if (!done) blocks.foreach(_._2.release())
    }
  }
}
