package io.keygroups.spark.segment

import io.keygroups.spark.Failures

/**
 * Rows in one order, of which no key comes twice: pieces of segments, one behind another. Whoever has it holds the segments,
 * or has them held by somebody else.
 */
final class MappedRun(val pieces: Array[Piece]) {
  private val parts: Map[Int, Part] = pieces.flatMap(_.cuts).groupBy(_.family).map { case (family, cuts) =>
    family -> new Part(cuts.map(_.block), cuts.map(_.start), cuts.map(_.end))
  }

  if (pieces.length > 1 && !parts.valuesIterator.forall(_.isInOrder)) {
    throw Failures.damaged(pieces.head.segment.view.path, "pieces that overlap")
  }

  /** The rows of a family. */
  def part(family: Int): Option[Part] = parts.get(family)
}

object MappedRun {
  /** All rows of a segment. */
  def of(segment: MappedSegment): MappedRun = new MappedRun(Array(new Piece(segment, 0, segment.view.rows)))
}

/** Rows of a segment, from `start` to `stop`, exclusive, counted over all its blocks. */
final class Piece(val segment: MappedSegment, val start: Long, val stop: Long) {
  if (start < 0 || stop > segment.view.rows) throw Failures.damaged(segment.view.path, s"rows $start to $stop")

  /** The rows by block, in their order. */
  def cuts: Array[Cut] = {
    val firsts = segment.blocks.scanLeft(0L)(_ + _._2.rows)
    segment.blocks.zip(firsts).map { case ((family, block), first) =>
      new Cut(family, block, math.max(start - first, 0).toInt, math.min(stop - first, block.rows).toInt)
    }.filter(cut => cut.start < cut.end).toArray
  }
}

/** Rows of a block, from `start` to `end`, exclusive. */
final class Cut(val family: Int, val block: Block, val start: Int, val end: Int)
