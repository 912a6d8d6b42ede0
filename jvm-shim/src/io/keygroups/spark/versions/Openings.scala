package io.keygroups.spark.versions

import java.util.concurrent.{CancellationException, CompletableFuture}

import scala.annotation.tailrec
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
   * @param map throws what makes it fail; of the threads that wait for the segment, one then tries for itself
   */
  @tailrec
  def open(id: String)(map: => MappedSegment): MappedSegment = {
    val mine = new CompletableFuture[MappedSegment]
    val other = synchronized {
      val found = underWay.get(id)
      if (found.isEmpty) underWay.put(id, mine)
      found
    }
    other match {
      case None => mapped(id, mine)(map)
      case Some(future) => held(future) match {
        case Some(segment) => segment
        case None => open(id)(map)
      }
    }
  }

  private def mapped(id: String, mine: CompletableFuture[MappedSegment])(map: => MappedSegment): MappedSegment =
    try {
      val segment = map
      mine.complete(segment)
      segment
    } finally {
      synchronized(underWay.remove(id))
      mine.cancel(false) // if it has failed
    }

  /** What another thread has mapped; None if it has failed, or has released it already. */
  private def held(other: CompletableFuture[MappedSegment]): Option[MappedSegment] =
    try Some(other.get()).filter(_.retain())
    catch {
      case _: CancellationException => None
      case error: InterruptedException => throw Failures.interrupted(error)
    }
}
