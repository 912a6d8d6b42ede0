package io.keygroups.spark.memory

import io.keygroups.spark.Failures

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
