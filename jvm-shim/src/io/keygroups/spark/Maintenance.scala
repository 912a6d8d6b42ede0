package io.keygroups.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

/** The two parts of maintenance, which Spark calls together or apart. */
trait Maintenance extends StateStoreProvider {
  protected def maintainSnapshots(): Unit
  protected def cleanUp(): Unit

  override def doMaintenance(): Unit = {
    maintainSnapshots()
    cleanUp()
  }
}
