package io.keygroups.spark

import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import io.keygroups.spark.bridge.StoreSpec
import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.session.{Family, FamilySession, Session}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.SPARK_VERSION
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals
import org.apache.spark.sql.types.StructType

/**
 * Spark's state, kept in key groups by a Python store. Switched on with
 * `spark.sql.streaming.stateStore.providerClass=io.keygroups.spark.KeyGroupStateStoreProvider`.
 */
class KeyGroupStateStoreProvider extends SplitMaintenance with Replays with Logging {
  import KeyGroupStateStoreProvider._

  @volatile private var storeId: StateStoreId = _
  private var storeConf: StateStoreConf = _
  private var hadoopConf: Configuration = _
  private var runId: String = _
  private[spark] var host: StoreHost = _
  private var declared: Families = _
  private var timeToLive: TtlSettings = _
  @volatile private var snapshot = -1L
  private val isFirstLoad = new AtomicBoolean(true)
  private[spark] var usesFamilies = false

  override def init(stateStoreId: StateStoreId, keySchema: StructType, valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec, useColumnFamilies: Boolean, storeConfs: StateStoreConf,
      hadoopConf: Configuration, useMultipleValuesPerKey: Boolean,
      stateSchemaProvider: Option[StateSchemaProvider]): Unit = {
    requireSpark()
    requireSupported(storeConfs)
    this.storeId = stateStoreId
    this.storeConf = storeConfs
    this.hadoopConf = hadoopConf
    usesFamilies = useColumnFamilies
    val settings = Settings.parse(storeConfs.sqlConfs)
    runId = SparkInternals.runId(hadoopConf)
    declared = new Families(stateStoreId, hadoopConf, storeConfs.stateStoreEncodingFormat, stateSchemaProvider)
    declare(StateStore.DEFAULT_COL_FAMILY_NAME, valueSchema, keyStateEncoderSpec, useMultipleValuesPerKey, isInternal = false)
    val folder = stateStoreId.storeCheckpointLocation()
    val operatorFolder = new Path(stateStoreId.checkpointRootLocation, stateStoreId.operatorId.toString)
    val spec = StoreSpec(operatorFolder.toString, pathBelow(stateStoreId), partitions(hadoopConf))
    val files = CheckpointFiles(operatorFolder, folder, hadoopConf, settings)
    timeToLive = TtlSettings(settings, stateStoreId, storeConfs, hadoopConf, runId, files)
    host = new StoreHost(settings, spec, files, storeConfs.minVersionsToRetain)
    CurrentProviders.add(this, runId)
    logInfo(s"opens $stateStoreId in ${stateStoreId.storeCheckpointLocation()}")
  }

  override def stateStoreId: StateStoreId = storeId

  override def getStore(version: Long, stateStoreCkptId: Option[String], forceSnapshotOnCommit: Boolean,
      loadEmpty: Boolean): StateStore = {
    var millis = 0L
    val store = entering {
      val session = Metrics.timed(millis = _) {
        if (loadEmpty) loading(new Session(host, host.empty(version), readOnly = false, timeToLive.at(version)))
        else newSession(version, stateStoreCkptId, readOnly = false)
      }
      new KeyGroupStateStore(storeId, session, host, this, millis, forceSnapshotOnCommit)
    }
    if (isFirstLoad.getAndSet(false)) reportSnapshot() // else Spark would warn of a lag until the first maintenance
    store
  }

  override def getReadStore(version: Long, stateStoreCkptId: Option[String]): ReadStateStore =
    newReadStore(newSession(version, stateStoreCkptId, readOnly = true))

  private[spark] def newReadStore(session: Session): ReadStateStore = new KeyGroupReadStateStore(storeId, session, this)

  private[spark] def newStore(session: Session): StateStore =
    entering(new KeyGroupStateStore(storeId, session, host, this, loadMillis = 0, forceSnapshot = false))

  /** The read store stays open; it shares the segments of its version. */
  override def upgradeReadStoreToWriteStore(readStore: ReadStateStore, version: Long, stateStoreCkptId: Option[String],
      forceSnapshotOnCommit: Boolean): StateStore = getStore(version, stateStoreCkptId, forceSnapshotOnCommit, false)

  override protected def maintainSnapshots(): Unit = {
    host.compactThoroughly()
    reportSnapshot()
  }

  override protected def cleanUp(): Unit = host.cleanUp()

  /** This method and the next are the first that Spark calls, on the driver. */
  override def supportedCustomMetrics: Seq[StateStoreCustomMetric] = {
    requireSpark()
    Metrics.all
  }

  override def supportedInstanceMetrics: Seq[StateStoreInstanceMetric] = {
    requireSpark()
    Seq(Metrics.SnapshotLastUploaded)
  }

  /** The latest version that was reported to the driver, -1 before the first. */
  private[spark] def snapshotVersion: Long = snapshot

  /**
   * Each version is complete, by its own file and those that it lists. It is reported once loaded, at maintenance, and after
   * as many versions as Spark's providers write a delta for between two snapshots: else Spark would warn of stores that make
   * many versions between two maintenances.
   */
  private[spark] def reportSnapshot(): Unit = host.latestVersion.filter(_ > math.max(snapshot, 0)).foreach { version =>
    try {
      if (storeConf.reportSnapshotUploadLag) SparkInternals.reportSnapshot(storeId, runId, version)
      snapshot = version
    } catch { case NonFatal(error) => logWarning(s"version $version of $storeId could not be reported", error) }
  }

  override def close(): Unit = if (host != null) {
    CurrentProviders.remove(this)
    host.close()
  }

  override def toString: String = s"KeyGroupStateStoreProvider[$storeId]"

  private[spark] def declare(name: String, valueSchema: StructType, encoder: KeyStateEncoderSpec, hasLists: Boolean,
      isInternal: Boolean): Unit = {
    if (!usesFamilies && name != StateStore.DEFAULT_COL_FAMILY_NAME) {
      throw StateStoreErrors.multipleColumnFamiliesNotSupported(Name)
    }
    declared.declare(name, valueSchema, encoder, hasLists, isInternal)
  }

  private[spark] def forget(name: String): Unit = declared.forget(name)

  /** Open a declared family in a session. */
  private[spark] def open(session: Session, name: String): Option[FamilySession] =
    declared.get(name).map(family => session.open(name, family.numbered))

  private[spark] def requireFamilyName(name: String, isInternal: Boolean, operation: String): Unit = {
    if (!usesFamilies) throw StateStoreErrors.multipleColumnFamiliesNotSupported(Name)
    if (name.isEmpty || name.trim != name || name == StateStore.DEFAULT_COL_FAMILY_NAME) {
      throw StateStoreErrors.cannotUseColumnFamilyWithInvalidName(operation, name)
    }
    if (!isInternal && (name.startsWith("_") || name.startsWith("$"))) {
      throw StateStoreErrors.cannotCreateColumnFamilyWithReservedChars(name)
    }
  }

  private[spark] def usesCheckpointIds: Boolean = storeConf.enableStateStoreCheckpointIds

  /** A version is committed; `asSnapshot`, Spark has asked for a snapshot of it. */
  private[spark] def reportCommit(version: Long, asSnapshot: Boolean): Unit = {
    if (asSnapshot || version - math.max(snapshot, 0) >= storeConf.minDeltasForSnapshot) reportSnapshot()
    if (storeConf.commitValidationEnabled) StateStore.reportCommitToCoordinator(version, storeId, hadoopConf)
  }

  /** A store to write to; it leaves the host when it has committed or is aborted. */
  private def entering(store: => StateStore): StateStore = {
    host.enter()
    try store
    catch {
      case error: Throwable =>
        host.leave()
        throw error
    }
  }

  private def newSession(version: Long, checkpointId: Option[String], readOnly: Boolean): Session = {
    if (version < 0) throw StateStoreErrors.cannotLoadStore(SparkInternals.unexpectedVersion(version))
    loading {
      val expiry = timeToLive.at(version) // first: it reads a file, and may fail
      new Session(host, host.load(version, checkpointId), readOnly, expiry)
    }
  }

  /** Errors of `body` become Spark's error of a failed load. */
  private[spark] def loading[T](body: => T): T =
    try body
    catch { case error: Throwable => throw SparkInternals.failedToLoad(storeId.storeCheckpointLocation(), error) }

  /** A declared family, to read what versions changed in it. */
  private[spark] def familyToRead(name: String): Family =
    declared.get(name).map(_.numbered(0)).getOrElse {
      throw StateStoreErrors.unsupportedOperationOnMissingColumnFamily("change feed", name)
    }
}

object KeyGroupStateStoreProvider {
  val Name = "KeyGroupStateStoreProvider"
  /** Spark copies a query's number of state partitions here; it is in no argument of init. */
  private val PartitionsKey = "spark.sql.streaming.internal.stateStore.partitions"

  private def partitions(conf: Configuration): Int = conf.getInt(PartitionsKey, 0)

  private def pathBelow(id: StateStoreId): String =
    if (id.storeName == StateStoreId.DEFAULT_STORE_NAME) id.partitionId.toString else s"${id.partitionId}/${id.storeName}"

  private def requireSpark(): Unit =
    if (SPARK_VERSION.split('.').take(2).mkString(".") != Settings.sparkMinor) {
      throw Failures.version(s"this jar of keygroups ${Settings.version} is built for Spark ${Settings.sparkMinor} and " +
        s"this is Spark $SPARK_VERSION: use the jar that 'keygroups conf' names for it")
    }

  private def requireSupported(conf: StateStoreConf): Unit =
    if (!Set(Families.UnsafeRows, Families.Avro).contains(conf.stateStoreEncodingFormat)) {
      throw StateStoreErrors.unsupportedOperationException(s"encoding format ${conf.stateStoreEncodingFormat}", Name)
    }
}
