package io.keygroups.spark

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

/** The two parts of maintenance, which Spark calls together or apart. */
trait Maintenance extends StateStoreProvider with Logging {
  protected def maintainSnapshots(): Unit
  protected def cleanUp(): Unit

  override def doMaintenance(): Unit = {
    attempt("merging runs")(maintainSnapshots())
    attempt("deleting old files")(cleanUp())
  }

  /**
   * Log an error rather than throw it: Spark would close the provider, and load its state anew; with `unloadOnCommit` it
   * would fail a task that has committed, and close nothing. What was not done is done later; commits fail if merges do
   * for long.
   */
  protected def attempt(what: String)(body: => Unit): Unit =
    try body
    catch {
      case _: InterruptedException => Thread.currentThread().interrupt()
      case error: KeyGroupsException if Failures.isInterrupt(error.getCause) => Thread.currentThread().interrupt()
      case NonFatal(error) => logError(s"$what of $stateStoreId failed, the next maintenance tries again", error)
    }
}
