package io.keygroups.spark.memory

import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

/**
 * Frees memory a while after its last holder has let go of it. A thread that Spark has given up on may still be in the
 * middle of a read, which takes microseconds; reading unmapped memory would take the whole JVM down.
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
