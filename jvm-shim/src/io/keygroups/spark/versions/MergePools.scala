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
private[versions] final class Turns(threads: ExecutorService, before: () => Unit = () => ()) {
  private val waiting = mutable.ArrayDeque.empty[Turn]

  def submit(turn: Turn): Unit = {
    synchronized(waiting.append(turn))
    threads.execute { () =>
      before()
      next().run()
    }
  }

  private def next(): Turn = synchronized(waiting.remove(math.max(0, waiting.indexWhere(_.isUrgent))))
}

/**
 * Where an executor's stores merge and upload what they have merged. The next piece is merged while the last one is uploaded,
 * but no more than a few wait for their upload: each is a file on the local disk.
 */
private[versions] object MergePools {
  /** Each takes a processor for a second or so. */
  private val Merges = math.max(1, Runtime.getRuntime.availableProcessors / 4)
  private val Uploads = 2
  private val room = new Semaphore(2 * Uploads + 2 * Merges)

  /** Pieces to merge. A piece begins when it has room among those that wait for their upload: see `leave`. */
  val merges = new Turns(ThreadPools.fixed("keygroups-merge", Merges), () => room.acquire())

  /** Small merges of the newest runs of stores of which a piece is merged meanwhile. */
  val newest = new Turns(ThreadPools.fixed("keygroups-merge-newest", Merges), () => room.acquire())

  val uploads = new Turns(ThreadPools.fixed("keygroups-merge-upload", Uploads))

  /** A piece has no file, or its upload has ended. */
  def leave(): Unit = room.release()
}
