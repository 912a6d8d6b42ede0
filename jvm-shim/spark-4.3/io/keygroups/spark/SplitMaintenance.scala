package io.keygroups.spark

/** Spark 4.3 calls the two parts of maintenance on threads of their own, and both in one for `unloadOnCommit`. */
trait SplitMaintenance extends Maintenance {
  override def doSnapshotMaintenance(): Unit = attempt("merging runs")(maintainSnapshots())

  override def doCleanupMaintenance(): Unit = attempt("deleting old files")(cleanUp())
}
