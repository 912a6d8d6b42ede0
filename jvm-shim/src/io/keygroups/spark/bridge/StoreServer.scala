package io.keygroups.spark.bridge

import scala.collection.mutable

import io.keygroups.spark.Settings
import io.keygroups.spark.memory.{IndexMemory, WriteMemory}
import org.apache.spark.sql.execution.streaming.state.keygroups.MemoryReport

/** The server processes of this JVM: one for each interpreter and local folder that queries ask for. */
object StoreServer {
  private val running = mutable.Map.empty[(String, String), ServerProcess]
  private val report = new MemoryReport(() => WriteMemory.bytes + IndexMemory.bytes + ownBytes)

  /** The process, started if none is alive. */
  def get(settings: Settings): ServerProcess = synchronized {
    val key = (settings.python, settings.localDir)
    running.get(key).filter(_.isAlive).getOrElse {
      running.remove(key).foreach(_.stop())
      val started = ServerProcess.start(settings)
      running(key) = started
      report.begin()
      started
    }
  }

  /** What the processes take, without the files that they map. */
  private def ownBytes: Long = synchronized(running.values.toSeq).map(_.ownBytes).sum
}
