package io.keygroups.spark

import scala.util.Try

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

/** The two parts of maintenance, which Spark calls together or apart. */
trait Maintenance extends StateStoreProvider {
  protected def maintainSnapshots(): Unit
  protected def cleanUp(): Unit

  override def doMaintenance(): Unit = {
    val maintained = Try(maintainSnapshots())
    val cleaned = Try(cleanUp()) // what is no longer needed goes even if merges fail
    maintained.get
    cleaned.get
  }
}
