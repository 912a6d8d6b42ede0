package io.keygroups.spark

import io.keygroups.spark.session.{FamilySession, Scan, Session}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._

/** What read-only and writable stores read alike. */
trait Reads { this: ReadStateStore =>
  def session: Session
  def provider: KeyGroupStateStoreProvider

  private var lastName: String = _
  private var last: FamilySession = _

  override def get(key: UnsafeRow, colFamilyName: String): UnsafeRow = {
    requireKey(key)
    family(colFamilyName, "get").get(key)
  }

  override def keyExists(key: UnsafeRow, colFamilyName: String): Boolean = {
    requireKey(key)
    family(colFamilyName, "keyExists").exists(key)
  }

  override def multiGet(keys: Array[UnsafeRow], colFamilyName: String): Iterator[UnsafeRow] =
    keys.iterator.map(get(_, colFamilyName))

  override def valuesIterator(key: UnsafeRow, colFamilyName: String): Iterator[UnsafeRow] = {
    requireKey(key)
    listFamily(colFamilyName, "valuesIterator").list(key)
  }

  override def iterator(colFamilyName: String): StateStoreIterator[UnsafeRowPair] =
    closing(family(colFamilyName, "iterator").scan(allValues = false))

  override def iteratorWithMultiValues(colFamilyName: String): StateStoreIterator[UnsafeRowPair] =
    closing(listFamily(colFamilyName, "iteratorWithMultiValues").scan(allValues = true))

  override def prefixScan(prefixKey: UnsafeRow, colFamilyName: String): StateStoreIterator[UnsafeRowPair] =
    closing(prefixFamily(colFamilyName).scanPrefix(prefixKey, allValues = false))

  override def prefixScanWithMultiValues(prefixKey: UnsafeRow, colFamilyName: String): StateStoreIterator[UnsafeRowPair] = {
    listFamily(colFamilyName, "prefixScanWithMultiValues")
    closing(prefixFamily(colFamilyName).scanPrefix(prefixKey, allValues = true))
  }

  override def rangeScan(startKey: Option[UnsafeRow], endKey: Option[UnsafeRow],
      colFamilyName: String): StateStoreIterator[UnsafeRowPair] =
    closing(rangeFamily(colFamilyName).scanRange(startKey, endKey, allValues = false))

  override def rangeScanWithMultiValues(startKey: Option[UnsafeRow], endKey: Option[UnsafeRow],
      colFamilyName: String): StateStoreIterator[UnsafeRowPair] = {
    listFamily(colFamilyName, "rangeScanWithMultiValues")
    closing(rangeFamily(colFamilyName).scanRange(startKey, endKey, allValues = true))
  }

  private def closing(scan: Scan): StateStoreIterator[UnsafeRowPair] = new StateStoreIterator(scan, () => scan.close())

  override def allColumnFamilyNames: Set[String] = session.catalog.families.map(_.name).toSet

  /** The family of an operation; Spark's error if it does not exist. */
  protected final def family(name: String, operation: String): FamilySession = {
    if (name ne lastName) {
      last = session.find(name).orElse(provider.open(session, name)).getOrElse(throw missing(name, operation))
      lastName = name
    }
    last
  }

  /** The family that operators without column families use. */
  private[spark] def defaultFamily: FamilySession = family(StateStore.DEFAULT_COL_FAMILY_NAME, "get")

  protected final def forgetFamily(): Unit = lastName = null

  protected final def listFamily(name: String, operation: String): FamilySession = {
    val found = family(name, operation)
    require(found.family.hasLists, s"$operation needs a column family with several values a key, and '$name' has one")
    found
  }

  protected final def requireKey(key: UnsafeRow): Unit = require(key != null, "Key cannot be null")

  private def prefixFamily(name: String): FamilySession = {
    val found = family(name, "prefixScan")
    if (!found.hasPrefixScan) throw unsupported("prefixScan without a prefix key encoder")
    found
  }

  private def rangeFamily(name: String): FamilySession = {
    val found = family(name, "rangeScan")
    if (!found.hasRangeScan) throw unsupported("rangeScan without a range key encoder")
    found
  }

  private def missing(name: String, operation: String): Throwable =
    if (provider.usesFamilies) StateStoreErrors.unsupportedOperationOnMissingColumnFamily(operation, name)
    else StateStoreErrors.multipleColumnFamiliesNotSupported(KeyGroupStateStoreProvider.Name)

  protected final def unsupported(operation: String): Throwable =
    StateStoreErrors.unsupportedOperationException(operation, KeyGroupStateStoreProvider.Name)
}
