package io.keygroups.spark.memory

import java.lang.management.ManagementFactory

/**
 * What this JVM and the store process may take outside of the heap for all stores. A quarter is for sorting, merging and
 * compressing. Indexes take what they need; write buffers the rest, of all a quarter at most and an eighth at least.
 *
 * @param indexLimit bytes of indexes and copied keys above which a segment is refused
 */
final class MemoryBudget private (bytes: Long, val indexLimit: Long) {
  /** Above which keys are not copied any more. The rest is for indexes, at 2 to 4 bytes a row a tenth of the copies. */
  def copyLimit: Long = indexLimit / 4 * 3

  def forWork: Long = bytes / 4

  /** What the write buffers of all sessions may take now. Pages that they have given back are resident for some seconds more. */
  def forWrites: Long = math.max(bytes / 8, math.min(bytes / 4, bytes - forWork - IndexMemory.bytes))
}

object MemoryBudget {
  private val Least = 128L << 20
  /** What the JVM takes beside its heap, and a store process without state. */
  private val OfProcesses = 512L << 20

  /** What the container or the machine has beside the JVM's heap. */
  val besideHeap: Long = ManagementFactory.getOperatingSystemMXBean match {
    case system: com.sun.management.OperatingSystemMXBean =>
      math.max(0, system.getTotalMemorySize - Runtime.getRuntime.maxMemory())
    case _ => Long.MaxValue
  }

  /**
   * Bytes of values that the page cache can hold beside the processes and half of the default budget (what is mapped takes
   * few indexes): half of the memory beside the heap at most, an eighth at least.
   */
  def forValues(beside: Long = besideHeap): Long =
    math.max(beside / 8, math.min(beside / 2, beside / 4 * 3 - OfProcesses))

  /**
   * As a user has set it, or half of what the container has beside the heap. Of that, work and the least for writes take 3/16,
   * and the processes themselves half a gigabyte; indexes may take the rest, three quarters at most.
   */
  def of(bytes: Long, beside: Long = besideHeap): MemoryBudget =
    if (bytes > 0) new MemoryBudget(bytes, bytes - bytes / 4 - bytes / 8)
    else {
      val forIndexes = math.min(beside / 4 * 3, beside / 16 * 13 - OfProcesses)
      new MemoryBudget(math.max(Least, beside / 2), math.max(Least, forIndexes))
    }
}
