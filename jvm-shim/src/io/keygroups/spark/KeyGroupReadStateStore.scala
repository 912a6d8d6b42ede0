package io.keygroups.spark

import io.keygroups.spark.store.Session
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._

/** Reads of one version of a store. It lets go of the version at the end of the task at the latest. */
class KeyGroupReadStateStore(override val id: StateStoreId, val session: Session, val provider: KeyGroupStateStoreProvider)
  extends ReadStateStore with Reads {
  override val version: Long = session.version.key.version

  Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => release()))

  override def abort(): Unit = release()
  override def release(): Unit = session.close()
  override def toString: String = s"KeyGroupReadStateStore[$id, version $version]"
}

/** What read-only and writable stores read alike. */
trait Reads { this: ReadStateStore =>
  def session: Session

  override def get(key: UnsafeRow, colFamilyName: String): UnsafeRow = {
    requireDefault(colFamilyName)
    requireKey(key)
    session.get(key)
  }

  override def keyExists(key: UnsafeRow, colFamilyName: String): Boolean = {
    requireDefault(colFamilyName)
    requireKey(key)
    session.exists(key)
  }

  override def iterator(colFamilyName: String): StateStoreIterator[UnsafeRowPair] = {
    requireDefault(colFamilyName)
    new StateStoreIterator(session.scan())
  }

  override def prefixScan(prefixKey: UnsafeRow, colFamilyName: String): StateStoreIterator[UnsafeRowPair] = {
    requireDefault(colFamilyName)
    if (session.shape.prefixColumns == 0) throw unsupported("prefixScan without a prefix key encoder")
    new StateStoreIterator(session.scanPrefix(prefixKey))
  }

  override def valuesIterator(key: UnsafeRow, colFamilyName: String): Iterator[UnsafeRow] =
    throw unsupported("multipleValuesPerKey")

  override def prefixScanWithMultiValues(prefixKey: UnsafeRow, colFamilyName: String): StateStoreIterator[UnsafeRowPair] =
    throw unsupported("multipleValuesPerKey")

  override def iteratorWithMultiValues(colFamilyName: String): StateStoreIterator[UnsafeRowPair] =
    throw unsupported("multipleValuesPerKey")

  override def allColumnFamilyNames: Set[String] = Set(StateStore.DEFAULT_COL_FAMILY_NAME)

  protected def requireDefault(family: String): Unit =
    if (family ne StateStore.DEFAULT_COL_FAMILY_NAME) {
      if (family != StateStore.DEFAULT_COL_FAMILY_NAME) {
        throw StateStoreErrors.multipleColumnFamiliesNotSupported(KeyGroupStateStoreProvider.Name)
      }
    }

  protected def requireKey(key: UnsafeRow): Unit = require(key != null, "Key cannot be null")

  protected def unsupported(operation: String): Throwable =
    StateStoreErrors.unsupportedOperationException(operation, KeyGroupStateStoreProvider.Name)
}
