package io.keygroups.spark.memory

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

/** What the overlays of all sessions of this JVM take. */
object WriteMemory {
  private val used = new AtomicLong
  private val writers = new AtomicInteger

  def bytes: Long = used.get

  /** An overlay has taken memory, or given it back. */
  private[spark] def add(bytes: Long): Unit = {
    used.addAndGet(bytes)
    ()
  }

  /** A session begins to write. */
  private[spark] def enter(): Unit = {
    writers.incrementAndGet()
    ()
  }

  /** A session that wrote has ended. */
  private[spark] def leave(): Unit = {
    writers.decrementAndGet()
    ()
  }

  /**
   * Whether a session has to move its writes to disk: all sessions together take more than half of the limit, and it has its
   * share of that. The other half is for writes that are being sorted. So none has more than half of the limit, whose sort takes
   * twice as much.
   */
  def isExcess(own: Long, limit: Long): Boolean =
    used.get > limit / 2 && own >= math.max(PagePool.PageBytes, limit / (2L * math.max(1, writers.get)))
}
