package io.keygroups.spark.versions

import java.util.concurrent.{ExecutorService, Semaphore}

import scala.collection.mutable

import io.keygroups.spark.ThreadPools

/** Something that waits for a thread. */
private[versions] trait Turn extends Runnable {
  /** Whether a commit waits for it. It is asked when a thread is free. */
  def isUrgent: Boolean
}

/** Threads that take what is urgent first, and otherwise what has waited longest. */
private[versions] sealed class Turns(threads: ExecutorService) {
  private val waiting = mutable.ArrayDeque.empty[Turn]

  def submit(turn: Turn): Unit = {
    synchronized(waiting.append(turn))
    threads.execute { () =>
      enter()
      next().run()
    }
  }

  protected def enter(): Unit = ()

  private def next(): Turn = synchronized(waiting.remove(math.max(0, waiting.indexWhere(_.isUrgent))))
}

/**
 * Threads that merge pieces, of which no more than a few wait for their upload: each is a file on the local disk.
 *
 * @param most pieces that are merged or wait
 */
private[versions] final class MergePool(threads: ExecutorService, most: Int) extends Turns(threads) {
  private val room = new Semaphore(most)

  /** The piece whose turn it is begins when there is room. */
  override protected def enter(): Unit = room.acquire()

  /** A piece has no file, or its upload has ended. */
  def leave(): Unit = room.release()
}

/** Where an executor's stores merge, and upload what they have merged: the next piece is merged meanwhile. */
private[versions] object MergePools {
  /** Each takes a processor for a second or so. */
  private val Merges = math.max(1, Runtime.getRuntime.availableProcessors / 4)
  private val Uploads = 2

  val merges = new MergePool(ThreadPools.fixed("keygroups-merge", Merges), 2 * Uploads + Merges)

  /** Small merges of the newest runs of stores of which a piece is merged meanwhile. Large pieces do not take their room. */
  val newest = new MergePool(ThreadPools.fixed("keygroups-merge-newest", Merges), Uploads + Merges)

  val uploads = new Turns(ThreadPools.fixed("keygroups-merge-upload", Uploads))
}
