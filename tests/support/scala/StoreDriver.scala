package keygroups.tests

import java.util.UUID

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Drives one state store provider by its interface. Keys are (text, long), values are texts; both cross as strings.
 *
 * @param prefixed the first key column is a scan prefix
 */
class StoreDriver(spark: SparkSession, providerClass: String, checkpoint: String, storeName: String,
    prefixed: Boolean) {
  private val keySchema = new StructType().add("text", StringType).add("number", LongType)
  private val valueSchema = new StructType().add("value", StringType)
  private val toKey = UnsafeProjection.create(keySchema)
  private val toValue = UnsafeProjection.create(valueSchema)
  private val toPrefix = UnsafeProjection.create(new StructType().add("text", StringType))
  private val provider = newProvider()
  private var store: StateStore = _
  @volatile private var opener: Thread = _

  /** Open a version; the checkpoint id is empty where none is used. */
  def open(version: Long, checkpointId: String): Unit = {
    Tasks.end(store)
    store = provider.getStore(version, Option(checkpointId).filter(_.nonEmpty), false, false)
  }

  /** Open a version in a thread that `interrupt` interrupts, as Spark does when it kills a task. */
  def openInterrupted(version: Long): Unit = {
    opener = Thread.currentThread()
    try open(version, "")
    finally Thread.interrupted()
  }

  def interrupt(): Unit = opener.interrupt()

  /** Begin anew after a version. */
  def openEmpty(version: Long): Unit = {
    Tasks.end(store)
    store = provider.getStore(version, None, false, true)
  }

  def put(text: String, number: Long, value: String): Unit = store.put(key(text, number), newValue(value))
  def remove(text: String, number: Long): Unit = store.remove(key(text, number))
  def get(text: String, number: Long): String = Option(store.get(key(text, number))).map(_.getString(0)).orNull
  def exists(text: String, number: Long): Boolean = store.keyExists(key(text, number))

  /** Put many rows of one text, to fill write buffers. */
  def putRange(text: String, from: Long, until: Long, value: String): Unit =
    for (n <- from until until) put(text, n, value)

  def count(): Int = store.iterator().size

  /** All rows, each as text, number and value, one after another in a JSON list: py4j fetches an array one by one. */
  def scan(): String = collect(store.iterator())

  def scanPrefix(text: String): String =
    collect(store.prefixScan(toPrefix(InternalRow(UTF8String.fromString(text)))))

  /** Scan and write on the way: of three rows by number one is kept, one removed, one replaced. */
  def scanAndWrite(newValue: String): String = {
    val found = Array.newBuilder[String]
    val rows = store.iterator()
    while (rows.hasNext) {
      val row = rows.next()
      found ++= texts(row)
      val k = row.key.copy()
      val turn = Math.floorMod(k.getLong(1), 3L)
      if (turn == 1) store.remove(k)
      if (turn == 2) store.put(k, toValue(InternalRow(UTF8String.fromString(newValue))))
    }
    json(found.result())
  }

  /** Scan; after the first row write the numbers of one text from 0 on. */
  def scanAndPut(text: String, count: Long, newValue: String): String = {
    val found = Array.newBuilder[String]
    val rows = store.iterator()
    found ++= texts(rows.next())
    putRange(text, 0, count, newValue)
    while (rows.hasNext) found ++= texts(rows.next())
    json(found.result())
  }

  /** The rows of a version, read by way of an older one. */
  def replay(snapshot: Long, version: Long): String = {
    val replayed = provider.asInstanceOf[SupportsFineGrainedReplay].replayReadStateFromSnapshot(snapshot, version, None, None)
    try collect(replayed.iterator())
    finally replayed.release()
  }

  def commit(): Long = store.commit()

  /** Commit in a thread that is interrupted, as Spark interrupts the tasks of a query that stops. */
  def commitInterrupted(): Long = {
    Thread.currentThread().interrupt()
    try store.commit()
    finally Thread.interrupted()
  }

  def abort(): Unit = store.abort()
  def numKeys(): Long = store.metrics.numKeys
  def metric(name: String): Long = store.metrics.customMetrics.collectFirst { case (m, n) if m.name == name => n }.get
  /** The version that the provider last reported to the driver as complete; -1 for none. */
  def reportedVersion(): Long = store.metrics.instanceMetrics.values.head
  def checkpointId(): String = store.getStateStoreCheckpointInfo().stateStoreCkptId.orNull
  def maintain(): Unit = provider.doMaintenance()
  def close(): Unit = {
    Tasks.end(store)
    provider.close()
  }

  private def collect(rows: Iterator[UnsafeRowPair]): String = json(rows.flatMap(texts).toArray)
  private def json(found: Array[String]): String = new ObjectMapper().writeValueAsString(found)

  private def texts(row: UnsafeRowPair): Seq[String] =
    Seq(row.key.getString(0), row.key.getLong(1).toString, row.value.getString(0))

  private def key(text: String, number: Long): UnsafeRow = toKey(InternalRow(UTF8String.fromString(text), number))
  private def newValue(value: String): UnsafeRow = toValue(InternalRow(UTF8String.fromString(value)))

  private def newProvider(): StateStoreProvider = {
    val conf = spark.sessionState.newHadoopConf()
    val spec =
      if (prefixed) PrefixKeyScanStateEncoderSpec(keySchema, 1) else NoPrefixKeyStateEncoderSpec(keySchema)
    val sqlConf = spark.sessionState.conf.clone()
    sqlConf.setConfString("spark.sql.streaming.stateStore.providerClass", providerClass)
    val id = StateStoreProviderId(StateStoreId(checkpoint + "/state", 0, 0, storeName), UUID.randomUUID())
    StateStoreProvider.createAndInit(id, keySchema, valueSchema, spec, false, new StateStoreConf(sqlConf), conf, false,
      None)
  }
}
