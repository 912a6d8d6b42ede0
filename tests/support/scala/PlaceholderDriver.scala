package keygroups.tests

import java.util.UUID

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Writes the value that Spark's deduplication writes, one column without content, and reads it as a value of no columns. */
class PlaceholderDriver(spark: SparkSession, providerClass: String, checkpoint: String) {
  private val keySchema = new StructType().add("text", StringType).add("number", LongType)
  private val valueSchema = new StructType().add("__dummy__", NullType)
  private val toKey = UnsafeProjection.create(keySchema)
  private val value = UnsafeProjection.create(Array[DataType](NullType)).apply(InternalRow(null)).copy()

  def write(): Unit = {
    val provider = newProvider(valueSchema)
    val store = provider.getStore(0, None, false, false)
    Seq("a", "b").foreach(text => store.put(toKey(InternalRow(UTF8String.fromString(text), 0L)), value))
    store.commit()
    provider.close()
  }

  /** All keys, each with the number of its value's columns. */
  def keysWithoutValues(): Array[String] = {
    val provider = newProvider(new StructType())
    val store = provider.getReadStore(1, None)
    try store.iterator().map(row => s"${row.key.getString(0)} ${row.value.numFields}").toArray
    finally {
      store.release()
      provider.close()
    }
  }

  private def newProvider(values: StructType): StateStoreProvider = {
    val sqlConf = spark.sessionState.conf.clone()
    sqlConf.setConfString("spark.sql.streaming.stateStore.providerClass", providerClass)
    val id = StateStoreProviderId(StateStoreId(checkpoint + "/state", 0, 0, "default"), UUID.randomUUID())
    StateStoreProvider.createAndInit(id, keySchema, values, NoPrefixKeyStateEncoderSpec(keySchema), false,
      new StateStoreConf(sqlConf), spark.sessionState.newHadoopConf(), false, None)
  }
}
