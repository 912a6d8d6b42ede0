package io.keygroups.spark.memory

import java.util.concurrent.atomic.AtomicLong

/** What the indexes of all mapped segments take, and the keys of those whose values stay in their files. */
object IndexMemory {
  private val used = new AtomicLong

  def bytes: Long = used.get

  /** A block has taken memory, or given it back. */
  private[spark] def add(bytes: Long): Unit = {
    used.addAndGet(bytes)
    ()
  }
}
