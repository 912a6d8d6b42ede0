package io.keygroups.spark.session

import io.keygroups.spark.keys.KeyProbe
import io.keygroups.spark.memory.KeyFilter
import io.keygroups.spark.segment.Part

/**
 * The keys of a family in the segments that the session itself has sorted. A batch of many new keys asks here whether it has
 * met a key before, and not each segment: 40 million new keys took 110 s, the last ones 15 times as long as the first.
 *
 * It begins with the fourth segment, so most batches never make it. Filters double in size: there are few of them.
 */
private[session] final class SpilledKeys {
  private var filters = Array.empty[KeyFilter]
  private var known = 0

  /**
   * Know these segments.
   *
   * @param parts all of the session, newest first: those of the last call, after newer ones
   */
  def see(parts: Array[Part]): Unit =
    if (parts.isEmpty) release()
    else if (parts.length >= SpilledKeys.Least) {
      val unknown = parts.take(parts.length - known)
      unknown.foreach(part => add(part, unknown.iterator.flatMap(_.blocks).map(_.rows.toLong).sum))
      known = parts.length
    }

  /** Whether one of the segments may have a key, by its hash. */
  def mayHold(hash: Long): Boolean = {
    if (known == 0) return true
    var i = 0
    while (i < filters.length) {
      if (filters(i).mayHold(hash)) return true
      i += 1
    }
    false
  }

  def release(): Unit = {
    filters.foreach(_.release())
    filters = Array.empty
    known = 0
  }

  private def add(part: Part, rows: Long): Unit = part.blocks.foreach { block =>
    if (filters.isEmpty || filters.last.room < block.rows) {
      val doubled = filters.lastOption.fold(0L)(_.capacity * 2L)
      filters :+= new KeyFilter(math.min(math.max(rows, doubled), Int.MaxValue).toInt)
    }
    val filter = filters.last
    var row = 0
    while (row < block.rows) {
      filter.add(KeyProbe.hash(null, block.keyAddress(row), block.keyLength(row)))
      row += 1
    }
  }
}

private object SpilledKeys {
  val Least = 4
}
