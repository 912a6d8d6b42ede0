package io.keygroups.spark.segment

import java.util.concurrent.{CompletableFuture, Executor}
import java.util.concurrent.atomic.AtomicLong

import scala.util.control.NonFatal

/**
 * Values that are in files alone and will be looked up soon. They are read side by side, so that each is in the page cache when
 * its lookup comes: lookups come one after another, and a disk serves many reads at once.
 *
 * @param capacity values that it is for
 */
final class FileReads(capacity: Int) {
  private val files = new Array[SegmentFile](capacity)
  private val positions = new Array[Long](capacity)
  private val lengths = new Array[Int](capacity)
  private var count = 0
  private var running = Seq.empty[CompletableFuture[Void]]

  private[segment] def add(file: SegmentFile, position: Long, length: Int): Unit = if (length > 0) {
    files(count) = file
    positions(count) = position
    lengths(count) = length
    count += 1
  }

  def isEmpty: Boolean = count == 0

  /**
   * Begin to read; nothing may be added any more.
   *
   * @param atOnce reads under way at the same time
   */
  def start(threads: Executor, atOnce: Int): Unit = {
    val parts = math.min(atOnce, count)
    val bounds = (0 to parts).map(part => (count.toLong * part / parts.max(1)).toInt)
    running = bounds.zip(bounds.drop(1)).map { case (from, until) => CompletableFuture.runAsync(() => read(from, until), threads) }
    FileReads.values.addAndGet(count.toLong)
  }

  /** Wait until all is read. */
  def await(): Unit = running.foreach(_.join())

  private def read(from: Int, until: Int): Unit = {
    val scratch = new Array[Byte](math.min(lengths.slice(from, until).max, SegmentFile.PieceBytes))
    try (from until until).foreach(i => files(i).touch(positions(i), lengths(i), scratch))
    catch { case NonFatal(_) => () } // the lookup reads the value again, and says what is wrong
  }
}

object FileReads {
  private val values = new AtomicLong

  /** Values that this JVM has begun to read ahead. */
  def begun: Long = values.get
}
