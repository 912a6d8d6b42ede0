package org.apache.spark.sql.execution.streaming.state.keygroups.bench

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

/** Keeps nothing and writes nothing: what a query takes with it, no provider can save. */
class EmptyProvider extends HDFSBackedStateStoreProvider {
  private def nothing: HDFSBackedStateStoreMap = HDFSBackedStateStoreMap.create(new StructType, 0, None)

  override def getStore(version: Long, id: Option[String], snapshot: Boolean, empty: Boolean): StateStore =
    new HDFSBackedStateStore(version, nothing, snapshot) {
      private var isCommitted = false

      override def put(key: UnsafeRow, value: UnsafeRow, family: String): Unit = ()

      override def commit(): Long = {
        isCommitted = true
        this.version + 1
      }

      override def hasCommitted: Boolean = isCommitted
    }

  override def getReadStore(version: Long, id: Option[String]): ReadStateStore = new HDFSBackedReadStateStore(version, nothing)

  override def upgradeReadStoreToWriteStore(
      store: ReadStateStore, version: Long, id: Option[String], snapshot: Boolean): StateStore =
    getStore(version, id, snapshot, empty = false)
}
