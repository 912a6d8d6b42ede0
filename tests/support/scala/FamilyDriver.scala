package keygroups.tests

import java.util.UUID

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * Drives the column families of one provider: a family for each order of keys, with keys made of a text and a number. In the
 * family of floats the number is halved, and null where it is a multiple of five.
 */
class FamilyDriver(spark: SparkSession, providerClass: String, checkpoint: String) {
  private val valueSchema = new StructType().add("value", StringType)
  private val toValue = UnsafeProjection.create(valueSchema)
  private val toText = UnsafeProjection.create(new StructType().add("text", StringType))
  private val families = Seq(
    new FamilySpec("values", textFirst(LongType), NoPrefixKeyStateEncoderSpec(_), lists = false),
    new FamilySpec("lists", textFirst(LongType), NoPrefixKeyStateEncoderSpec(_), lists = true),
    new FamilySpec("maps", textFirst(LongType), PrefixKeyScanStateEncoderSpec(_, 1), lists = false),
    new FamilySpec("longs", numberFirst(LongType), RangeKeyScanStateEncoderSpec(_, Seq(0)), lists = false),
    new FamilySpec("floats", numberFirst(DoubleType), RangeKeyScanStateEncoderSpec(_, Seq(0)), lists = false),
    new FamilySpec("stamps", stamped, TimestampAsPostfixKeyStateEncoderSpec(_), lists = true),
    new FamilySpec("times", stamped, TimestampAsPrefixKeyStateEncoderSpec(_), lists = false)
  ).map(f => f.name -> f).toMap
  private var provider: StateStoreProvider = newProvider()
  private var store: StateStore = _
  private val scans = ArrayBuffer.empty[(StateStoreIterator[UnsafeRowPair], FamilySpec)]

  def open(version: Long): Unit = {
    Tasks.end(store)
    store = provider.getStore(version, None, false, false)
    families.values.toSeq.sortBy(_.name).foreach { f =>
      store.createColFamilyIfAbsent(f.name, f.schema, valueSchema, f.encoder, f.lists, isInternal = false)
    }
  }

  /** Forget everything in memory: the next version comes from the checkpoint. */
  def restart(): Unit = {
    close()
    provider = newProvider()
  }

  def put(family: String, text: String, number: Long, value: String): Unit =
    store.put(families(family).key(text, number), newValue(value), family)

  /** Put rows of one text, each with a value of so many letters. */
  def putRange(family: String, text: String, from: Long, until: Long, letters: Int): Unit = {
    val value = newValue("x" * letters)
    for (number <- from until until) store.put(families(family).key(text, number), value, family)
  }

  /** The numbers of the rows of a text, in the order of a prefix scan. */
  def prefixNumbers(family: String, text: String): Array[Long] =
    store.prefixScan(toText(InternalRow(UTF8String.fromString(text))), family).map(_.key.getLong(1)).toArray

  def append(family: String, text: String, number: Long, value: String): Unit =
    store.merge(families(family).key(text, number), newValue(value), family)
  def putList(family: String, text: String, number: Long, value: String): Unit =
    store.putList(families(family).key(text, number), value.split(',').map(newValue(_).copy()), family)
  def remove(family: String, text: String, number: Long): Unit = store.remove(families(family).key(text, number), family)
  def drop(family: String): Boolean = store.removeColFamilyIfExists(family)

  def get(family: String, text: String, number: Long): String =
    Option(store.get(families(family).key(text, number), family)).map(_.getString(0)).orNull
  def list(family: String, text: String, number: Long): Array[String] =
    store.valuesIterator(families(family).key(text, number), family).map(_.getString(0)).toArray
  def scan(family: String): Array[String] = texts(store.iterator(family), families(family))
  def rangeOfTwo(family: String, text: String, from: Long, other: String, until: Long): Array[String] = {
    val keys = Seq(families(family).key(text, from).copy(), families(family).key(other, until).copy())
    texts(store.rangeScan(Some(keys.head), Some(keys(1)), family), families(family))
  }
  def rangeLists(family: String, text: String, from: Long, until: Long): Array[String] = {
    val keys = Seq(from, until).map(families(family).key(text, _).copy())
    texts(store.rangeScanWithMultiValues(Some(keys.head), Some(keys(1)), family), families(family))
  }
  def prefixLists(family: String, text: String): Array[String] = texts(
    store.prefixScanWithMultiValues(toText(InternalRow(UTF8String.fromString(text))), family), families(family))
  def scanLists(family: String): Array[String] = texts(store.iteratorWithMultiValues(family), families(family))
  def prefix(family: String, text: String): Array[String] =
    texts(store.prefixScan(toText(InternalRow(UTF8String.fromString(text))), family), families(family))
  def range(family: String, text: String, from: Long, until: Long): Array[String] = {
    val keys = Seq(from, until).map(families(family).key(text, _).copy())
    texts(store.rangeScan(Some(keys.head), Some(keys(1)), family), families(family))
  }

  /** Begin a scan of all rows that is read row by row; its number. */
  def beginScan(family: String): Int = begin(store.iterator(family), family)
  def beginPrefix(family: String, text: String): Int =
    begin(store.prefixScan(toText(InternalRow(UTF8String.fromString(text))), family), family)

  def beginRange(family: String): Int = begin(store.rangeScan(None, None, family), family)

  /** The next row of a scan, null at its end. */
  def nextRow(scan: Int): String = {
    val (rows, family) = scans(scan)
    if (rows.hasNext) text(rows.next(), family) else null
  }
  def closeScan(scan: Int): Unit = scans(scan)._1.close()

  /** Rows left in a scan. */
  def countRows(scan: Int): Int = scans(scan)._1.size

  /** Put a list of one value that is `bytes` long and lies outside of the heap. */
  def putHuge(family: String, text: String, number: Long, bytes: Int): Unit = {
    val memory = Platform.allocateMemory(bytes.toLong)
    try {
      val value = new UnsafeRow(1)
      value.pointTo(null, memory, bytes)
      store.putList(families(family).key(text, number), Array(value), family)
    } finally Platform.freeMemory(memory)
  }

  /** What versions changed in a family: of each record its kind, key, value and batch. */
  def changes(family: String, from: Long, until: Long): Array[String] = {
    val feed = provider.asInstanceOf[SupportsFineGrainedReplay].getStateStoreChangeDataReader(from, until, Some(family), None)
    feed.map { case (kind, key, value, batch) =>
      s"$batch $kind ${families(family).text(key)} ${Option(value).map(_.getString(0)).orNull}"
    }.toArray
  }

  def commit(): Long = store.commit()
  def abort(): Unit = store.abort()
  def numKeys(): Long = store.metrics.numKeys
  def metric(name: String): Long = store.metrics.customMetrics.collectFirst { case (m, n) if m.name == name => n }.get
  def maintain(): Unit = provider.doMaintenance()
  def close(): Unit = {
    Tasks.end(store)
    provider.close()
  }

  private def texts(rows: Iterator[UnsafeRowPair], family: FamilySpec): Array[String] = rows.map(text(_, family)).toArray

  private def text(row: UnsafeRowPair, family: FamilySpec): String = s"${family.text(row.key)} ${row.value.getString(0)}"

  private def begin(rows: StateStoreIterator[UnsafeRowPair], family: String): Int = {
    scans += rows -> families(family)
    scans.length - 1
  }

  private def newValue(value: String): UnsafeRow = toValue(InternalRow(UTF8String.fromString(value)))
  private def textFirst(number: DataType) = new StructType().add("text", StringType).add("number", number)
  private def stamped = new StructType().add("text", StringType).add("__event_time", LongType, nullable = false)
  private def numberFirst(number: DataType) = new StructType().add("number", number).add("text", StringType)

  private def newProvider(): StateStoreProvider = {
    val sqlConf = spark.sessionState.conf.clone()
    sqlConf.setConfString("spark.sql.streaming.stateStore.providerClass", providerClass)
    val id = StateStoreProviderId(StateStoreId(checkpoint + "/state", 0, 0, "default"), UUID.randomUUID())
    val default = textFirst(LongType)
    val conf = spark.sessionState.newHadoopConf()
    conf.setInt("spark.sql.streaming.internal.stateStore.partitions", FamilyDriver.Partitions)
    StateStoreProvider.createAndInit(id, default, valueSchema, NoPrefixKeyStateEncoderSpec(default), true,
      new StateStoreConf(sqlConf), conf, false, Some(schemas(default)))
  }

  private def schemas(default: StructType): StateSchemaProvider = {
    val made = new TestStateSchemaProvider()
    made.captureSchema(StateStore.DEFAULT_COL_FAMILY_NAME, default, valueSchema)
    families.values.foreach(f => made.captureSchema(f.name, f.schema, valueSchema))
    made
  }
}

object FamilyDriver {
  /** Spark gives it to providers; an index of ours uses it. */
  private val Partitions = 5
}

/** One family and its keys. */
final class FamilySpec(val name: String, val schema: StructType, spec: StructType => KeyStateEncoderSpec,
    val lists: Boolean) {
  val encoder: KeyStateEncoderSpec = spec(schema)
  private val toKey = UnsafeProjection.create(schema)
  private val numberAt = schema.indexWhere(_.dataType != StringType)
  private val isFloat = schema(numberAt).dataType == DoubleType

  def key(text: String, number: Long): UnsafeRow = {
    val halved = if (number % 5 == 0) null else number / 2.0
    val column: Any = if (isFloat) halved else number
    val string = UTF8String.fromString(text)
    toKey(if (numberAt == 0) InternalRow(column, string) else InternalRow(string, column))
  }

  def text(key: UnsafeRow): String = {
    val number: Any =
      if (key.isNullAt(numberAt)) null else if (isFloat) key.getDouble(numberAt) else key.getLong(numberAt)
    s"${key.getString(1 - numberAt)} $number"
  }
}
