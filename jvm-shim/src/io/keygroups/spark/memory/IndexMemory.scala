package io.keygroups.spark.memory

import java.util.concurrent.atomic.AtomicLong

/** What the indexes of all mapped segments take, and copies of the keys of those whose values stay in their files. */
object IndexMemory {
  private val used = new AtomicLong

  def bytes: Long = used.get

  /** Wait for what is released already, if that is needed to get below a limit. InterruptedException. */
  private[spark] def awaitAtMost(limit: Long): Unit = Reaper.awaitUntil(bytes <= limit)

  /** Take memory, if what is taken stays within a limit. */
  private[spark] def take(bytes: Long, limit: Long): Boolean = {
    val before = used.getAndUpdate(now => if (now + bytes <= limit) now + bytes else now)
    before + bytes <= limit
  }

  /** A block has taken memory, or given it back. */
  private[spark] def add(bytes: Long): Unit = {
    used.addAndGet(bytes)
    ()
  }
}
