package io.keygroups.spark.bridge

import scala.collection.mutable

import io.keygroups.spark.Settings

/** The server processes of this JVM: one for each interpreter and local folder that queries ask for. */
object StoreServer {
  private val running = mutable.Map.empty[(String, String), ServerProcess]

  /** The process, started if none is alive. */
  def get(settings: Settings): ServerProcess = synchronized {
    val key = (settings.python, settings.localDir)
    running.get(key).filter(_.isAlive).getOrElse {
      running.remove(key).foreach(_.stop())
      val started = ServerProcess.start(settings)
      running(key) = started
      started
    }
  }
}
