package io.keygroups.spark

import java.util.concurrent.{Callable, ExecutorService, Executors, Future}
import java.util.concurrent.atomic.AtomicInteger

/** Threads for what must not hold up a task. */
object Background {
  /** Sorting of full overlays: part of a task's work, so as many at once as tasks want. */
  private lazy val sorters = Executors.newCachedThreadPool(daemons("keygroups-sort"))

  /** Compaction: one store at a time, or it would take the processors from the tasks. */
  private lazy val compactors: ExecutorService = Executors.newFixedThreadPool(1, daemons("keygroups-compaction"))

  /** Operations on the checkpoint's file system, each with a task or the compactor waiting for it until its deadline. */
  private lazy val transfers = Executors.newCachedThreadPool(daemons("keygroups-files"))

  def sort[T](body: => T): Future[T] = sorters.submit((() => body): Callable[T])

  def files[T](body: => T): Future[T] = transfers.submit((() => body): Callable[T])

  def compact(body: => Unit): Future[_] = compactors.submit((() => body): Runnable)

  private def daemons(name: String): java.util.concurrent.ThreadFactory = {
    val count = new AtomicInteger()
    task => {
      val thread = new Thread(task, s"$name-${count.incrementAndGet()}")
      thread.setDaemon(true)
      thread
    }
  }
}
