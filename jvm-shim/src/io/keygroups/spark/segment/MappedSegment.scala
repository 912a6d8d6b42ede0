package io.keygroups.spark.segment

import java.nio.ByteBuffer
import java.nio.channels.ClosedByInterruptException
import java.nio.file.Paths
import java.util.concurrent.atomic.AtomicInteger

import io.keygroups.spark.Failures
import io.keygroups.spark.memory.{OffHeap, Reaper}

/**
 * A segment mapped into memory: its blocks, each with the number of its family.
 * The sessions that see it share it; it is unmapped after the last has
 * released it. The file may be deleted meanwhile; the mapping keeps its bytes.
 */
final class MappedSegment private (val view: SegmentView, val blocks: Seq[(Int, Block)], source: ValueSource) {
  private val holders = new AtomicInteger(1)
  private val parts = blocks.groupMap(_._1)(_._2).map { case (family, blocks) => family -> Part.of(blocks.toArray) }

  /** Of mapped memory and of indexes. */
  def bytes: Long = view.bytes - source.unmappedBytes + blocks.map(_._2.indexBytes.toLong).sum

  /** Of memory that no file backs: of indexes and copied keys. */
  def ownBytes: Long = blocks.map(_._2.ownBytes).sum

  /** Hold it; false if it is unmapped already. */
  def retain(): Boolean = {
    val before = holders.getAndUpdate(n => if (n == 0) 0 else n + 1)
    before > 0
  }

  def release(): Unit = if (holders.decrementAndGet() == 0) Reaper.later(unmap())

  /** The rows of a family; None if it has none. */
  def part(family: Int): Option[Part] = parts.get(family)

  private def unmap(): Unit = {
    blocks.foreach(_._2.release())
    source.release()
  }
}

object MappedSegment {

  /**
   * Map a file that Python has written, and check all that later reads rely on. NoSuchFileException: it was compacted away
   * meanwhile, request a new plan.
   *
   * @param values decides whether its values are mapped
   * @param copyLimit see `Block.map`
   */
  def open(view: SegmentView, partitions: Int, values: MappedValues, copyLimit: Long): MappedSegment = {
    val source = new ValueSource(view, values)
    var blocks = List.empty[(Int, Block)]
    var done = false
    try {
      LayoutCheck.blocks(view, source.file.size)
      view.blocks.foreach { layout =>
        val block = Block.map(source.file, source.whole, layout, source.isMapped, partitions, view.path, copyLimit)
        blocks ::= layout.family -> block
      }
      val segment = new MappedSegment(view, blocks.reverse, source)
      if (!segment.parts.valuesIterator.forall(_.isInOrder)) throw Failures.damaged(view.path, "blocks that overlap")
      source.opened()
      done = true
      segment
    } catch {
      case error: ClosedByInterruptException => throw Failures.interrupted(error)
    } finally {
      if (!done) {
        blocks.foreach(_._2.release())
        source.release()
      }
    }
  }
}

/** A segment's file, and whether its values are mapped. */
private final class ValueSource(view: SegmentView, values: MappedValues) {
  val file = new SegmentFile(Paths.get(view.path))
  private val valueBytes = view.blocks.map(_.valueBytes).sum
  val isMapped: Boolean = values.add(valueBytes, view.bytes) || !file.isShareable

  private var mapped: ByteBuffer = _

  /** The whole file, where values are mapped and one mapping can hold it: Linux allows a process 65,530. Else null. */
  def whole: ByteBuffer = {
    if (mapped == null && isMapped && view.bytes <= Int.MaxValue) mapped = file.map(0, view.bytes)
    mapped
  }

  def unmappedBytes: Long = if (isMapped) 0 else valueBytes

  /** All blocks are mapped: the file is not read any more, unless the values are in it alone. */
  def opened(): Unit = if (isMapped) file.close()

  def release(): Unit = {
    file.close()
    values.remove(valueBytes)
    if (mapped != null) OffHeap.free(mapped)
  }
}
