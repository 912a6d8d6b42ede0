package io.keygroups.spark.memory

import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

/**
 * Frees memory some seconds after its last holder has released it. A thread that Spark has abandoned may still be in the
 * middle of a read, which takes microseconds; a read of unmapped memory would crash the JVM.
 */
private[spark] object Reaper {
  private val GraceSeconds = 5L
  private lazy val scheduler: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { task =>
    val thread = new Thread(task, "keygroups-reaper")
    thread.setDaemon(true)
    thread
  }

  def later(free: => Unit): Unit = {
    scheduler.schedule((() => free): Runnable, GraceSeconds, TimeUnit.SECONDS)
    ()
  }
}
