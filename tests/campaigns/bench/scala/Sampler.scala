package org.apache.spark.sql.execution.streaming.state.keygroups.bench

import java.util.{Map => JavaMap, TreeMap}

import scala.jdk.CollectionConverters._

/**
 * Samples where the threads are that have a frame of a certain class: 100 times a second, each such thread.
 *
 * A sample counts as `store` when a frame is the provider's, as `python` when the thread waits for bytes from a socket, and
 * as `spark` otherwise.
 */
object Sampler {
  private val IntervalMillis = 10L
  @volatile private var running: Running = _

  /** Begins to sample the threads with a frame of a class whose name contains `frame`. */
  def start(frame: String): Unit = {
    running = new Running(frame)
    running.start()
  }

  /** Ends, and gives the number of samples by where they were. */
  def stop(): JavaMap[String, Integer] = running.stopped()

  private final class Running(frame: String) extends Thread("bench-sampler") {
    setDaemon(true)
    private val counts = new TreeMap[String, Integer]()
    @volatile private var ended = false

    override def run(): Unit = while (!ended) {
      Thread.getAllStackTraces.asScala.values.filter(serves).foreach(stack => counts.merge(where(stack), 1, Integer.sum(_, _)))
      Thread.sleep(IntervalMillis)
    }

    def stopped(): JavaMap[String, Integer] = {
      ended = true
      join()
      counts
    }

    private def serves(stack: Array[StackTraceElement]): Boolean = stack.exists(_.getClassName.contains(frame))

    private def where(stack: Array[StackTraceElement]): String =
      if (stack.exists(isOurs)) "store"
      else if (stack.head.isNativeMethod && stack.exists(_.getClassName.contains("Socket"))) "python"
      else "spark"

    private def isOurs(frame: StackTraceElement): Boolean =
      frame.getClassName.startsWith("io.keygroups.") || frame.getClassName.contains(".state.keygroups.")
  }
}
