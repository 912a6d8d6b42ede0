package io.keygroups.spark.segment

import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

/**
 * Unmaps segments a while after the last session has let go of them. A thread that Spark has given up on may still be in
 * the middle of a read, which takes microseconds; reading unmapped memory would take the whole JVM down.
 */
private[segment] object Reaper {
  private val GraceSeconds = 5L
  private lazy val scheduler: ScheduledExecutorService = Executors.newSingleThreadScheduledExecutor { task =>
    val thread = new Thread(task, "keygroups-reaper")
    thread.setDaemon(true)
    thread
  }

  def later(segment: MappedSegment): Unit = {
    scheduler.schedule((() => segment.unmap()): Runnable, GraceSeconds, TimeUnit.SECONDS)
    ()
  }
}
