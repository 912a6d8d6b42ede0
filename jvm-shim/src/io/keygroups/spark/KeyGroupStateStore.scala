package io.keygroups.spark

import io.keygroups.spark.store.Session
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.keygroups.SparkInternals
import org.apache.spark.sql.types.StructType

/**
 * One open version of a store, for a task to change. It goes from updating to committed or aborted; a committed one can
 * still be read.
 */
class KeyGroupStateStore(override val id: StateStoreId, override val session: Session, host: StoreHost,
    provider: KeyGroupStateStoreProvider, loadMillis: Long) extends StateStore with Reads {
  import KeyGroupStateStore._

  override val version: Long = session.version.key.version
  private val baseId = session.version.key.checkpointId
  private val timings = new CommitTimings
  private val callsBefore = host.calls
  private var overlayBytes = 0L
  @volatile private var state: State = Updating
  timings.load = loadMillis

  Option(TaskContext.get()).foreach { context =>
    context.addTaskCompletionListener[Unit] { _ =>
      if (state == Updating) abort()
      session.close()
    }
  }

  override def put(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = {
    requireUpdating("put")
    requireDefault(colFamilyName)
    requireKey(key)
    require(value != null, "Cannot put a null value")
    session.put(key, value)
  }

  override def remove(key: UnsafeRow, colFamilyName: String): Unit = {
    requireUpdating("remove")
    requireDefault(colFamilyName)
    requireKey(key)
    session.remove(key)
  }

  override def commit(): Long = {
    requireUpdating("commit")
    try {
      overlayBytes = session.overlayBytes
      Metrics.timed(timings.total = _)(session.moveTo(host.commit(session, timings)))
      state = Committed
      provider.reportCommit(version + 1)
      version + 1
    } catch {
      case error: Throwable => throw SparkInternals.failedToCommit(toString, error)
    }
  }

  override def abort(): Unit = {
    if (state == Updating) {
      state = Aborted
      host.abort(session)
    }
    session.close()
  }

  override def release(): Unit = abort()

  override def hasCommitted: Boolean = state == Committed

  override def metrics: StateStoreMetrics = {
    val segments = if (session.isOpen) session.version.segments.length.toLong else 0L
    val mapped = if (session.isOpen) session.version.bytes else 0L
    StateStoreMetrics(session.numKeys, mapped + overlayBytes, Map(
      Metrics.OverlayBytes -> overlayBytes,
      Metrics.MappedBytes -> mapped,
      Metrics.Segments -> segments,
      Metrics.CheckpointBytes -> timings.uploadBytes,
      Metrics.LoadTime -> timings.load,
      Metrics.ApplyTime -> timings.apply,
      Metrics.CommitTime -> timings.total,
      Metrics.UploadTime -> timings.upload,
      Metrics.CompactionTime -> host.compactionMillis.getAndSet(0),
      Metrics.BridgeCalls -> (host.calls - callsBefore)))
  }

  override def getStateStoreCheckpointInfo(): StateStoreCheckpointInfo = {
    if (state != Committed) throw outOfOrder("getStateStoreCheckpointInfo before commit")
    if (provider.usesCheckpointIds) {
      StateStoreCheckpointInfo(id.partitionId, version + 1, session.version.key.checkpointId, baseId)
    } else StateStoreCheckpointInfo(id.partitionId, version + 1, None, None)
  }

  override def createColFamilyIfAbsent(colFamilyName: String, keySchema: StructType, valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec, useMultipleValuesPerKey: Boolean, isInternal: Boolean): Unit =
    throw StateStoreErrors.multipleColumnFamiliesNotSupported(KeyGroupStateStoreProvider.Name)

  override def removeColFamilyIfExists(colFamilyName: String): Boolean =
    throw StateStoreErrors.removingColumnFamiliesNotSupported(KeyGroupStateStoreProvider.Name)

  override def putList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit =
    throw unsupported("putList")

  override def merge(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = throw unsupported("merge")

  override def mergeList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit =
    throw unsupported("mergeList")

  override def toString: String = s"KeyGroupStateStore[$id, version $version]"

  private def requireUpdating(operation: String): Unit =
    if (state != Updating) throw outOfOrder(s"$operation after the store was $state")

  private def outOfOrder(what: String): Throwable = StateStoreErrors.stateStoreOperationOutOfOrder(s"Cannot $what")
}

private object KeyGroupStateStore {
  sealed trait State
  case object Updating extends State
  case object Committed extends State
  case object Aborted extends State
}
