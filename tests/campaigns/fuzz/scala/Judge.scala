package keygroups.fuzz

import scala.util.Random

import io.keygroups.spark.segment.{Block, MappedSegment, SegmentView}
import org.apache.spark.unsafe.Platform

/** An answer of the mapped segment that an independent reading of the same bytes contradicts. */
final class WrongAnswer(what: String) extends Exception(what)

/**
 * Compares all that a mapped segment answers with a plain reading.
 *
 * @param wrong a way in which the reader is made wrong on purpose, to show that this says no; empty for the reader as it is
 */
final class Judge(wrong: String) {

  /** All rows of the segment, block by block; `original`, if not null, are those that were written. */
  def judge(segment: MappedSegment, view: SegmentView, content: Array[Byte], original: Seq[String], random: Random): Unit = {
    val expected = view.blocks.map(layout => new Plain(content, layout).rows)
    if (original != null) same("original", expected.flatten.map(_.toString), original)
    view.blocks.map(_.family).distinct.foreach { family =>
      val part = segment.part(family).getOrElse(throw new WrongAnswer(s"no rows of family $family"))
      val rows = expected.zip(view.blocks).collect { case (rows, layout) if layout.family == family => rows }
      same("blocks", Seq(part.blocks.length), Seq(rows.length))
      part.blocks.zip(rows).foreach { case (block, rows) => judge(block, rows, random) }
      val target = random.nextLong() & Long.MaxValue
      same("block of a locator", Seq(part.blockOf(target)), Seq(rows.count(_.last.locator < target)))
    }
  }

  private def judge(block: Block, rows: Seq[Row], random: Random): Unit = {
    same("rows", found(block), rows)
    block.lowerBound(random.nextLong()) // of no meaning below 0, but it must not leave the block
    ((random.nextLong() & Long.MaxValue) +: rows.map(_.locator)).foreach { target =>
      same("lower bound", Seq(block.lowerBound(target)), Seq(rows.count(_.locator < target)))
    }
    rows.foreach(row => judgeFind(block, rows, row.locator, row.key.toArray))
    val other = rows.head.key.toArray
    if (other.nonEmpty) {
      other(random.nextInt(other.length)) = random.nextInt().toByte
      judgeFind(block, rows, rows.head.locator, other)
    }
  }

  /** The row that is found has the key; none is found only if no row has the locator and the key. */
  private def judgeFind(block: Block, rows: Seq[Row], locator: Long, key: Array[Byte]): Unit = {
    val row = block.find(locator, key, Platform.BYTE_ARRAY_OFFSET.toLong, key.length) + (if (wrong == "find") 1 else 0)
    val holds =
      if (row == -1) !rows.exists(row => row.locator == locator && row.key == key.toSeq)
      else rows.isDefinedAt(row) && rows(row).key == key.toSeq
    if (!holds) throw new WrongAnswer(s"find: row $row of ${rows.length} for the key ${key.toSeq}")
  }

  private def found(block: Block): Seq[Row] = {
    val rows = (0 until block.rows).map(Mapped.row(block, _))
    wrong match {
      case "drop" => rows.dropRight(1)
      case "flip" => rows.map(row => row.copy(value = row.value.map(_.map(byte => (byte ^ 1).toByte))))
      case "tombstones" => rows.map(row => row.copy(value = row.value.orElse(Some(Seq.empty))))
      case "times" => rows.map(_.copy(written = 0))
      case _ => rows
    }
  }

  private def same(what: String, found: Seq[Any], expected: Seq[Any]): Unit = if (found != expected) {
    val pair = found.zip(expected).find(pair => pair._1 != pair._2).getOrElse("")
    throw new WrongAnswer(s"$what: ${found.length} where ${expected.length} were written, $pair")
  }
}
