package io.keygroups.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

/** Spark 4.2 has one call for both parts of maintenance. */
trait SplitMaintenance extends StateStoreProvider {
  protected def maintainSnapshots(): Unit
  protected def cleanUp(): Unit

  override def doMaintenance(): Unit = {
    maintainSnapshots()
    cleanUp()
  }
}
