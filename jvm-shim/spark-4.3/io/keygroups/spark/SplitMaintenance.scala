package io.keygroups.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

/** Spark 4.3 calls the two parts of maintenance on threads of their own, and both in one for `unloadOnCommit`. */
trait SplitMaintenance extends StateStoreProvider {
  protected def maintainSnapshots(): Unit
  protected def cleanUp(): Unit

  override def doMaintenance(): Unit = {
    maintainSnapshots()
    cleanUp()
  }

  override def doSnapshotMaintenance(): Unit = maintainSnapshots()

  override def doCleanupMaintenance(): Unit = cleanUp()
}
