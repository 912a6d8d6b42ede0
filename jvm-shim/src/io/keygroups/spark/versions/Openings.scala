package io.keygroups.spark.versions

import java.util.concurrent.{CancellationException, CompletableFuture}

import scala.collection.mutable

import io.keygroups.spark.Failures
import io.keygroups.spark.segment.MappedSegment

/**
 * Segments that are being mapped and indexed. A merged piece is in the plan of the next commit too: both need it at the same
 * time, and the commit waits for what the merge has begun. With an index each, both took 26 to 57 ms for a piece of 128 MB.
 */
private[versions] final class Openings {
  private val underWay = mutable.Map.empty[String, CompletableFuture[MappedSegment]]

  /**
   * Hold a segment that another thread is mapping, or map it.
   *
   * @param map throws what makes it fail; another thread that waits for the segment then tries for itself
   */
  def open(id: String)(map: => MappedSegment): MappedSegment = {
    val mine = new CompletableFuture[MappedSegment]
    val other = synchronized {
      val found = underWay.get(id)
      if (found.isEmpty) underWay.put(id, mine)
      found
    }
    other.flatMap(held).getOrElse {
      try {
        val segment = map
        mine.complete(segment)
        segment
      } finally {
        synchronized(if (underWay.get(id).exists(_ eq mine)) underWay.remove(id))
        mine.cancel(false) // if it has failed
      }
    }
  }

  /** What another thread has mapped; None if it has failed, or has released it already. */
  private def held(other: CompletableFuture[MappedSegment]): Option[MappedSegment] =
    try Some(other.get()).filter(_.retain())
    catch {
      case _: CancellationException => None
      case error: InterruptedException => throw Failures.interrupted(error)
    }
}
