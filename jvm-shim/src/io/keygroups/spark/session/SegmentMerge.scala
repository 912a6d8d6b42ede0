package io.keygroups.spark.session

import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.{Block, Part}

/** A place in one run. */
private final class Cursor(run: Part, start: MergeStart, last: Long) {
  private var at = start.blockIn(run)
  private var row = if (at < run.blocks.length) math.max(start.rowIn(run.blocks(at)), run.start(at)) else 0
  if (at < run.blocks.length) require(row < run.end(at), "a block has no row up to its own last locator")

  def block: Block = run.blocks(at)
  def current: Int = row
  def isDone: Boolean = at >= run.blocks.length || block.locator(row) > last
  def locator: Long = block.locator(row)

  def advance(): Unit = {
    row += 1
    if (row == run.end(at)) {
      at += 1
      row = if (at < run.blocks.length) run.start(at) else 0
    }
  }

  def compare(other: Cursor): Int = {
    val order = java.lang.Long.compare(locator, other.locator)
    if (order != 0) order
    else Bytes.compare(null, block.keyAddress(row), block.keyLength(row), null, other.block.keyAddress(other.row),
      other.block.keyLength(other.row))
  }
}

/** Where a merge begins: at a key, else at a locator, else at the first row. */
final case class MergeStart(locator: Option[Long] = None, key: Option[KeyBound] = None) {
  def blockIn(part: Part): Int = key.map(_.blockIn(part)).getOrElse(locator.fold(0)(part.blockOf))
  def rowIn(block: Block): Int = key.map(_.rowIn(block)).getOrElse(locator.fold(0)(block.lowerBound))
}

/**
 * The newest row of each key in several runs, in order of (locator, key), tombstones included.
 *
 * @param runs newest first
 * @param from only rows from there on
 * @param last only rows up to this locator
 * @param horizon rows written until then have expired
 */
final class SegmentMerge(runs: Array[Part], from: MergeStart, last: Long, horizon: Long) {
  private var cursors = runs.map(new Cursor(_, from, last)).filterNot(_.isDone)
  private var block: Block = _
  private var row = 0

  def keyAddress: Long = block.keyAddress(row)
  def keyLength: Int = block.keyLength(row)
  def copyValue(target: Array[Byte], at: Long): Unit = block.copyValue(row, target, at)
  def valueLength: Int = block.valueLength(row)
  def isTombstone: Boolean = block.isTombstone(row)
  def isExpired: Boolean = block.isExpired(row, horizon)
  def isLive: Boolean = !isTombstone && !isExpired
  def locator: Long = block.locator(row)

  /** Go to the next key; false at the end. */
  def next(): Boolean = {
    if (cursors.length == 0) return false
    val first = smallest()
    val cursor = cursors(first)
    block = cursor.block
    row = cursor.current
    passOlder(first, cursor)
    step(cursor)
    true
  }

  /** The newest of the cursors with the smallest key. */
  private def smallest(): Int = {
    var best = 0
    var i = 1
    while (i < cursors.length) {
      if (cursors(i).compare(cursors(best)) < 0) best = i
      i += 1
    }
    best
  }

  private def passOlder(first: Int, cursor: Cursor): Unit = {
    var i = cursors.length - 1
    while (i > first) {
      val older = cursors(i)
      if (older.compare(cursor) == 0) step(older)
      i -= 1
    }
  }

  private def step(cursor: Cursor): Unit = {
    cursor.advance()
    if (cursor.isDone) cursors = cursors.filter(_ ne cursor)
  }
}
