package io.keygroups.spark.segment

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.AtomicLong

/** How many bytes of values the segments of this JVM have mapped. What goes beyond the limit is read from files. */
object MappedValues {
  private val mapped = new AtomicLong()

  /** Half of what the container or the machine has beside the JVM's heap: the rest is for all else, and for Python. */
  val default: Long = ManagementFactory.getOperatingSystemMXBean match {
    case system: com.sun.management.OperatingSystemMXBean =>
      math.max(0, system.getTotalMemorySize - Runtime.getRuntime.maxMemory()) / 2
    case _ => Long.MaxValue
  }

  def bytes: Long = mapped.get()

  /** Take room for values; false if there is not enough. */
  private[segment] def take(bytes: Long, limit: Long): Boolean = {
    val fits = mapped.addAndGet(bytes) <= limit
    if (!fits) mapped.addAndGet(-bytes)
    fits
  }

  private[segment] def give(bytes: Long): Unit = {
    mapped.addAndGet(-bytes)
    ()
  }
}
