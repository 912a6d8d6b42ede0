package org.apache.spark.sql.execution.streaming.state.keygroups.bench

import java.lang.management.ManagementFactory
import java.util.UUID
import java.util.concurrent.{Executors, Future}

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.state._

/**
 * One store of the session's provider under `checkpoint`, driven the way a stateful operator drives it.
 *
 * Every method that returns a Long returns the nanoseconds it took. Methods are called one at a time, from Python; loops
 * over rows stay in here. The session's provider class and settings apply.
 */
final class BenchStore(spark: SparkSession, checkpoint: String, keys: Int, valueLongs: Int) {
  private val rows = new Rows(keys, valueLongs)
  private val id = StateStoreId(checkpoint + "/state", 0L, 0)
  private val background = Executors.newSingleThreadExecutor { task =>
    val thread = new Thread(task, "bench-maintenance")
    thread.setDaemon(true)
    thread
  }
  private var maintenance: Future[_] = _
  private var provider: StateStoreProvider = _
  private var store: StateStore = _
  private var next = 0L

  /** Bytes of the UnsafeRows of one key and its value. */
  def bytesPerRow: Int = rows.bytesPerRow

  /** The version that the last commit wrote. */
  def version: Long = next

  /** Makes a provider object, as an executor does that has none yet for this store, which stands at `version`. */
  def open(version: Long): Long = timed {
    next = version
    val conf = spark.sessionState.newHadoopConf()
    conf.set("spark.sql.streaming.internal.stateStore.partitions", "1")
    if (version == 0) writeOperatorMetadata()
    provider = StateStoreProvider.createAndInit(
      StateStoreProviderId(id, UUID.randomUUID()), rows.keySchema, rows.valueSchema,
      NoPrefixKeyStateEncoderSpec(rows.keySchema), useColumnFamilies = false,
      new StateStoreConf(spark.sessionState.conf), conf, useMultipleValuesPerKey = false, None)
  }

  /** Loads the version that the last commit wrote. */
  def begin(): Long = timed { store = provider.getStore(next, None) }

  /** Puts every key once. */
  def load(): Long = timed(blocks(0, keys)(putLoaded))

  /** Puts `count` keys from the `first` on. */
  def loadSome(first: Long, count: Long): Long = timed(blocks(first, count)(putLoaded))

  /** Gets `count` random keys from step `first` of the random order on, and checks what comes back. */
  def get(first: Long, count: Long): Long = timed(blocks(first, count)(getRandom))

  /** Puts a new value for `count` random keys from step `first` of the random order on. */
  def put(first: Long, count: Long): Long = timed(blocks(first, count)(putRandom))

  /** Iterates over all the rows, checking each; fails unless there are as many as keys. */
  def iterate(): Long = timed {
    val pairs = store.iterator()
    var seen = 0
    while (pairs.hasNext) {
      val pair = pairs.next()
      Rows.check(pair.key.getLong(0), pair.value)
      seen += 1
    }
    pairs.close()
    require(seen == keys, s"iterated over $seen rows of $keys")
  }

  /** Commits the open version. */
  def commit(): Long = timed { next = store.commit() }

  /** Drops the open version. */
  def abort(): Unit = store.abort()

  /** Runs both halves of maintenance, here and now. */
  def maintain(): Long = timed {
    val lock = provider.maintenanceLock.readLock
    lock.lock()
    try {
      provider.doSnapshotMaintenance()
      provider.doCleanupMaintenance()
    } finally lock.unlock()
  }

  /** Starts maintenance on its own thread, as Spark does on a timer, unless the last one still runs. */
  def maintainInBackground(): Unit =
    if (maintenance == null || maintenance.isDone) {
      awaitMaintenance()
      maintenance = background.submit { () => maintain() }
    }

  /** Whether that still runs. */
  def isMaintaining: Boolean = maintenance != null && !maintenance.isDone

  /** Waits for background maintenance; its failure is thrown here. */
  def awaitMaintenance(): Unit = if (maintenance != null) maintenance.get()

  /** Closes the provider. */
  def close(): Unit = {
    awaitMaintenance()
    background.shutdown()
    provider.close()
  }

  private def putLoaded(step: Long): Unit = put(rows.key(step.toInt))
  private def putRandom(step: Long): Unit = put(rows.randomKey(step))
  private def put(key: UnsafeRow): Unit = store.put(key, rows.value(next))
  private def getRandom(step: Long): Unit = {
    val value = store.get(rows.randomKey(step))
    rows.check(value)
  }

  /** Says which operator the store belongs to, as the driver does for a query: an aggregation with one partition. */
  private def writeOperatorMetadata(): Unit = {
    val metadata = OperatorStateMetadataV1(
      OperatorInfoV1(0L, "stateStoreSave"), Array(StateStoreMetadataV1(StateStoreId.DEFAULT_STORE_NAME, 0, 1)))
    val folder = new Path(checkpoint, "state/0")
    new OperatorStateMetadataV1Writer(folder, spark.sessionState.newHadoopConf()).write(metadata)
  }

  /** Runs `step` for each number from `first` on, a thousand a call, so that the compiled loop is the usual one. */
  private def blocks(first: Long, count: Long)(step: Long => Unit): Unit = {
    var from = first
    while (from < first + count) {
      val until = math.min(from + 1000, first + count)
      block(from, until, step)
      from = until
    }
  }

  private def block(from: Long, until: Long, step: Long => Unit): Unit = {
    var i = from
    while (i < until) {
      step(i)
      i += 1
    }
  }

  private def timed(body: => Unit): Long = {
    val start = System.nanoTime()
    body
    System.nanoTime() - start
  }
}

object BenchStore {
  /** Bytes of the JVM heap in use after collecting garbage. */
  def heapAfterGc(): Long = {
    val memory = ManagementFactory.getMemoryMXBean
    (1 to 3).foreach(_ => memory.gc())
    memory.getHeapMemoryUsage.getUsed
  }
}
