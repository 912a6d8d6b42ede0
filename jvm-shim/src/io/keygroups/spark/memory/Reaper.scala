package io.keygroups.spark.memory

import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

/**
 * Frees memory some seconds after its last holder has released it. A thread that Spark has abandoned may still be in the
 * middle of a read, which takes microseconds; a read of unmapped memory would crash the JVM.
 */
private[spark] object Reaper {
  private val GraceSeconds = 5L
  private val PollMillis = 20L
  private val waiting = new AtomicInteger
  private lazy val scheduler: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { task =>
    val thread = new Thread(task, "keygroups-reaper")
    thread.setDaemon(true)
    thread
  }

  def later(free: => Unit): Unit = {
    waiting.incrementAndGet()
    val task: Runnable = () =>
      try free
      finally waiting.decrementAndGet()
    scheduler.schedule(task, GraceSeconds, TimeUnit.SECONDS)
    ()
  }

  /** Wait until enough has been freed, or all is freed that was released before the call. InterruptedException. */
  def awaitUntil(isEnough: => Boolean): Unit = {
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(GraceSeconds + 1)
    while (!isEnough && waiting.get > 0 && System.nanoTime() < deadline) Thread.sleep(PollMillis)
  }
}
