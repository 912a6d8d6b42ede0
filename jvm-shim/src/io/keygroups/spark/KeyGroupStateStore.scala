package io.keygroups.spark

import java.util.concurrent.atomic.AtomicReference

import io.keygroups.spark.session.Session
import io.keygroups.spark.versions.CommitTimings
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals
import org.apache.spark.sql.types.StructType

/**
 * One open version of a store, for a task to change. Its state is updating, then committed or aborted; a committed store
 * can still be read.
 *
 * @param host entered for this store, which leaves it at its commit or abort
 */
class KeyGroupStateStore(override val id: StateStoreId, override val session: Session, host: StoreHost,
    override val provider: KeyGroupStateStoreProvider, loadMillis: Long,
    forceSnapshot: Boolean) extends StateStore with Reads {
  import KeyGroupStateStore._

  override val version: Long = session.version.key.version
  private val baseId = session.version.key.checkpointId
  private val timings = new CommitTimings
  private val callsBefore = host.calls
  private var overlayBytes = 0L
  /** Who moves it on leaves the host. Another thread may abort a store during its commit: a task that is killed does. */
  private val state = new AtomicReference[State](Updating)
  timings.load = loadMillis

  try provider.open(session, StateStore.DEFAULT_COL_FAMILY_NAME) // it exists whether the operator uses it or not
  catch {
    case error: Throwable =>
      session.close()
      throw error
  }

  Option(TaskContext.get()).foreach { context =>
    context.addTaskCompletionListener[Unit] { _ =>
      abort()
    }
    OpenStores.add(context, this)
  }

  override def put(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = exclusively {
    requireWrite(key, value, "put")
    family(colFamilyName, "put").put(key, value)
  }

  override def putList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit = exclusively {
    requireWrite(key, values, "putList")
    listFamily(colFamilyName, "putList").putList(key, values)
  }

  override def merge(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = exclusively {
    requireWrite(key, value, "merge")
    listFamily(colFamilyName, "merge").appendList(key, Array(value))
  }

  override def mergeList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit = exclusively {
    requireWrite(key, values, "mergeList")
    listFamily(colFamilyName, "mergeList").appendList(key, values)
  }

  override def remove(key: UnsafeRow, colFamilyName: String): Unit = exclusively {
    requireUpdating("remove")
    requireKey(key)
    family(colFamilyName, "remove").remove(key)
  }

  override def deleteRange(beginKey: UnsafeRow, endKey: UnsafeRow, colFamilyName: String): Unit = exclusively {
    requireUpdating("deleteRange")
    val scan = rangeScan(Some(beginKey), Some(endKey), colFamilyName)
    val doomed = scan.map(_.key.copy()).toArray
    doomed.foreach(remove(_, colFamilyName))
  }

  override def commit(): Long = {
    requireUpdating("commit")
    try {
      Metrics.timed(timings.total = _) {
        timings.expired = session.expire()
        overlayBytes = session.overlayBytes
        session.moveTo(host.commit(session, timings))
      }
      if (!state.compareAndSet(Updating, Committed)) requireUpdating("commit")
      host.leave()
      if (forceSnapshot) host.startCompaction()
      provider.reportCommit(version + 1, asSnapshot = forceSnapshot)
      version + 1
    } catch {
      case error: Throwable => throw SparkInternals.failedToCommit(toString, error)
    }
  }

  override def abort(): Unit = {
    if (state.compareAndSet(Updating, Aborted)) {
      try session.close() // first: it begins no sort after that
      finally host.abort(session)
    } else session.close()
  }

  override def release(): Unit = abort()

  override def hasCommitted: Boolean = state.get == Committed

  override def metrics: StateStoreMetrics = {
    val segments = if (session.isOpen) session.version.runs.length.toLong else 0L
    val mapped = if (session.isOpen) session.version.bytes else 0L
    StateStoreMetrics(session.catalog.families.filterNot(_.internal).map(_.keys).sum, mapped + overlayBytes, Map(
      Metrics.OverlayBytes -> overlayBytes,
      Metrics.MappedBytes -> mapped,
      Metrics.IndexBytes -> (if (session.isOpen) session.version.ownBytes else 0L),
      Metrics.Segments -> segments,
      Metrics.CheckpointBytes -> timings.uploadBytes,
      Metrics.LoadTime -> timings.load,
      Metrics.ApplyTime -> timings.apply,
      Metrics.CommitTime -> timings.total,
      Metrics.UploadTime -> timings.upload,
      Metrics.CompactionTime -> host.takeCompactionMillis(),
      Metrics.Expired -> timings.expired,
      Metrics.ForcedSnapshots -> (if (forceSnapshot && hasCommitted) 1L else 0L),
      Metrics.BridgeCalls -> (host.calls - callsBefore)),
      Map(Metrics.SnapshotLastUploaded.withNewId(id.partitionId, id.storeName) -> provider.snapshotVersion))
  }

  override def getStateStoreCheckpointInfo(): StateStoreCheckpointInfo = {
    if (!hasCommitted) throw outOfOrder("getStateStoreCheckpointInfo before commit")
    if (provider.usesCheckpointIds) {
      StateStoreCheckpointInfo(id.partitionId, version + 1, session.version.key.checkpointId, baseId)
    } else StateStoreCheckpointInfo(id.partitionId, version + 1, None, None)
  }

  override def createColFamilyIfAbsent(colFamilyName: String, keySchema: StructType, valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec, useMultipleValuesPerKey: Boolean, isInternal: Boolean): Unit = exclusively {
    requireUpdating("createColFamilyIfAbsent")
    provider.requireFamilyName(colFamilyName, isInternal, "create_column_family")
    if (session.find(colFamilyName).isEmpty) {
      provider.declare(colFamilyName, valueSchema, keyStateEncoderSpec, useMultipleValuesPerKey, isInternal)
      provider.open(session, colFamilyName)
      forgetFamily()
    }
  }

  override def removeColFamilyIfExists(colFamilyName: String): Boolean = exclusively {
    requireUpdating("removeColFamilyIfExists")
    provider.requireFamilyName(colFamilyName, isInternal = false, "remove_column_family")
    val existed = session.has(colFamilyName)
    session.drop(colFamilyName)
    provider.forget(colFamilyName)
    forgetFamily()
    existed
  }

  /** See the version through the files that it has by now: a compaction may have replaced those of before. */
  private[spark] def reload(): Unit = session.rebase(host.reload(version, baseId))

  override def toString: String = s"KeyGroupStateStore[$id, version $version]"

  private def requireWrite(key: UnsafeRow, value: AnyRef, operation: String): Unit = {
    requireUpdating(operation)
    requireKey(key)
    require(value != null, "Cannot put a null value")
  }

  private def requireUpdating(operation: String): Unit =
    if (state.get != Updating) throw outOfOrder(s"$operation after the store was ${state.get}")

  private def outOfOrder(what: String): Throwable = StateStoreErrors.stateStoreOperationOutOfOrder(s"Cannot $what")
}

private object KeyGroupStateStore {
  sealed trait State
  case object Updating extends State
  case object Committed extends State
  case object Aborted extends State
}
