package io.keygroups.spark

import java.util.concurrent.{Callable, CompletableFuture, Executor, ExecutorService, Executors, Future}
import java.util.concurrent.atomic.AtomicInteger

/** Threads for work that must not block a task. */
object ThreadPools {
  /** Sorting of full overlays: part of a task's work, so there are as many threads as tasks want. */
  private lazy val sorters = Executors.newCachedThreadPool(daemons("keygroups-sort"))

  /** Uploads of large sorted segments, ahead of the commit that waits for them: compression takes a processor each. */
  private lazy val uploads = Executors.newFixedThreadPool(Runtime.getRuntime.availableProcessors, daemons("keygroups-upload"))

  /** Single operations on the checkpoint's file system; a task or the compactor waits for each until its deadline. */
  private lazy val fileOperations = Executors.newCachedThreadPool(daemons("keygroups-files"))

  def sort[T](body: => T): CompletableFuture[T] = CompletableFuture.supplyAsync(() => body, sorters)

  def upload[T](body: => T): CompletableFuture[T] = CompletableFuture.supplyAsync(() => body, uploads)

  /** Downloads of a load: a task waits for them. */
  lazy val downloads: Executor = Executors.newFixedThreadPool(16, daemons("keygroups-download"))

  /** A disk served 13,000 reads a second one after another, and 47,000 in 16 threads. */
  val ReadsAtOnce = 16

  /** Reads of values ahead of their lookups. */
  lazy val reads: Executor = Executors.newFixedThreadPool(ReadsAtOnce, daemons("keygroups-read"))

  def fileOperation[T](body: => T): Future[T] = fileOperations.submit((() => body): Callable[T])

  /** So many threads of a name. */
  def fixed(name: String, threads: Int): ExecutorService = Executors.newFixedThreadPool(threads, daemons(name))

  private def daemons(name: String): java.util.concurrent.ThreadFactory = {
    val count = new AtomicInteger()
    task => {
      val thread = new Thread(task, s"$name-${count.incrementAndGet()}")
      thread.setDaemon(true)
      thread
    }
  }
}
