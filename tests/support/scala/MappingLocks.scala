package keygroups.tests

import java.lang.management.{ManagementFactory, ThreadInfo}

import scala.collection.mutable

/** Looks every millisecond which threads of this JVM map and index a segment, and which locks of Keygroups they hold by then. */
final class MappingLocks extends AutoCloseable {
  private val threads = ManagementFactory.getThreadMXBean
  @volatile private var isClosed = false
  private val callers = mutable.Set.empty[String]
  private val locks = mutable.Set.empty[String]
  private val watcher = new Thread(() => while (!isClosed) {
    threads.getThreadInfo(running, true, false).filter(_ != null).foreach(look)
    Thread.sleep(1)
  })
  watcher.start()

  /** From which methods segments were mapped. */
  def mappers: Array[String] = synchronized(callers.toArray)

  /** The locks that were held, each with the method that took it. */
  def held: Array[String] = synchronized(locks.toArray)

  override def close(): Unit = {
    isClosed = true
    watcher.join()
  }

  /** The JVM stops for a look at stacks: with those of all threads the test took 28 s after tests with streams, and 5 s with these. */
  private def running: Array[Long] =
    threads.getThreadInfo(threads.getAllThreadIds).filter(t => t != null && t.getThreadState == Thread.State.RUNNABLE)
      .map(_.getThreadId)

  private def look(thread: ThreadInfo): Unit = {
    val stack = thread.getStackTrace
    val at = stack.indexWhere(f => f.getClassName == MappingLocks.Mapping && f.getMethodName == "open")
    if (at >= 0) synchronized {
      callers ++= stack.drop(at).filter(_.getClassName.startsWith(MappingLocks.Ours)).map(f => s"${f.getClassName}.${f.getMethodName}")
      locks ++= thread.getLockedMonitors.filter(m => m.getLockedStackDepth > at && m.getClassName.startsWith(MappingLocks.Ours))
        .map(m => s"${m.getClassName} in ${m.getLockedStackFrame}")
    }
  }
}

private object MappingLocks {
  val Ours = "io.keygroups."
  val Mapping = "io.keygroups.spark.segment.MappedSegment$"
}
