package io.keygroups.spark.bridge

import java.io.{BufferedReader, InputStreamReader, UncheckedIOException}
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.internal.Logging

/** What the store process writes to standard error goes to this executor's log. */
private[bridge] object ServerLog extends Logging {
  /** Forward it from a thread that ends with the process. */
  def forward(process: Process): Thread = {
    val thread = new Thread(() => read(process), "keygroups-log")
    thread.setDaemon(true)
    thread.start()
    thread
  }

  /** An executor exits when an error leaves a thread, and a process that is stopped closes its streams while they are read. */
  private def read(process: Process): Unit =
    try new BufferedReader(new InputStreamReader(process.getErrorStream, UTF_8)).lines().forEach { line =>
      if (line.startsWith("INFO")) logInfo(s"[store process] $line") else logWarning(s"[store process] $line")
    } catch { case error: UncheckedIOException => logDebug("the log of the store process ended", error) }
}
