package io.keygroups.spark.memory

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import io.keygroups.spark.Failures

/** What this JVM and the store process may take outside of the heap, and who has to wait or to spill when it is too much. */
object MemoryBudget {
  /** What the container or the machine has beside the JVM's heap. */
  val besideHeap: Long = ManagementFactory.getOperatingSystemMXBean match {
    case system: com.sun.management.OperatingSystemMXBean =>
      math.max(0, system.getTotalMemorySize - Runtime.getRuntime.maxMemory())
    case _ => Long.MaxValue
  }
}

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
   * Whether a session has to move its writes to disk: all sessions together take more than the limit, and it has its share of
   * half of that. The other half is for writes that are being sorted.
   */
  def isExcess(own: Long, limit: Long): Boolean =
    used.get > limit && own >= math.max(PagePool.PageBytes, limit / (2L * math.max(1, writers.get)))
}

/** What calls of the store process take that sort, merge or compress; those that a task waits for go first. */
object WorkMemory {
  private var running = 0L
  private var urgent = 0

  def bytes: Long = synchronized(running)

  /**
   * Do something that takes so many bytes once there is room for it; alone, if it takes more than there is.
   *
   * @param isUrgent a task waits for it
   */
  def during[T](bytes: Long, limit: Long, isUrgent: Boolean)(body: => T): T = {
    take(bytes, limit, isUrgent)
    try body
    finally give(bytes)
  }

  private def take(bytes: Long, limit: Long, isUrgent: Boolean): Unit = synchronized {
    if (isUrgent) urgent += 1
    try while (running > 0 && (running + bytes > limit || !isUrgent && urgent > 0)) wait()
    catch { case error: InterruptedException => throw Failures.interrupted(error) }
    finally if (isUrgent) {
      urgent -= 1
      notifyAll()
    }
    running += bytes
  }

  private def give(bytes: Long): Unit = synchronized {
    running -= bytes
    notifyAll()
  }
}
