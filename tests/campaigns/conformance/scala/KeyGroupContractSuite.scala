package org.apache.spark.sql.execution.streaming.state

import java.util.UUID

import scala.util.Random

import io.keygroups.spark.KeyGroupStateStoreProvider
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.execution.streaming.state.StateStoreTestsHelper._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.Utils

/** Spark's contract of a state store provider, on ours. */
class KeyGroupContractSuite extends StateStoreSuiteBase[KeyGroupStateStoreProvider] {

  override def beforeEach(): Unit = {
    super.beforeEach()
    StateStore.stop() // the maintenance of the test before has that test's interval
  }

  override def newStoreProvider(): KeyGroupStateStoreProvider = make(newId())

  override def newStoreProvider(storeId: StateStoreId): KeyGroupStateStoreProvider = make(storeId)

  override def newStoreProvider(storeId: StateStoreId, useColumnFamilies: Boolean): KeyGroupStateStoreProvider =
    make(storeId, useColumnFamilies = useColumnFamilies)

  override def newStoreProvider(storeId: StateStoreId, conf: Configuration): KeyGroupStateStoreProvider =
    make(storeId, hadoopConf = conf)

  override def newStoreProvider(minDeltasForSnapshot: Int, numOfVersToRetainInMemory: Int): KeyGroupStateStoreProvider =
    make(newId(), sqlConf = getDefaultSQLConf(minDeltasForSnapshot, numOfVersToRetainInMemory))

  override def newStoreProvider(keySchema: StructType, keyStateEncoderSpec: KeyStateEncoderSpec,
      useColumnFamilies: Boolean): KeyGroupStateStoreProvider =
    make(newId(), keySchema, keyStateEncoderSpec, useColumnFamilies)

  override def newStoreProvider(useColumnFamilies: Boolean): KeyGroupStateStoreProvider =
    make(newId(), useColumnFamilies = useColumnFamilies)

  override def newStoreProviderWithClonedConf(storeId: StateStoreId): KeyGroupStateStoreProvider =
    make(storeId, sqlConf = cloneSQLConf())

  override def newStoreProviderNoInit(): KeyGroupStateStoreProvider = new KeyGroupStateStoreProvider

  override def getLatestData(provider: KeyGroupStateStoreProvider,
      useColumnFamilies: Boolean): Set[((String, Int), Int)] = getData(provider, -1, useColumnFamilies)

  override def getData(provider: KeyGroupStateStoreProvider, version: Int,
      useColumnFamilies: Boolean): Set[((String, Int), Int)] = {
    val reader = make(provider.stateStoreId, useColumnFamilies = useColumnFamilies)
    try {
      val store = reader.getStore(if (version < 0) latestVersion(provider) else version)
      try store.iterator().map(rowPairToDataPair).toSet
      finally store.abort()
    } finally reader.close()
  }

  override def getDefaultSQLConf(minDeltasForSnapshot: Int, numOfVersToRetainInMemory: Int): SQLConf = {
    val conf = cloneSQLConf()
    conf.setConf(SQLConf.STATE_STORE_PROVIDER_CLASS, classOf[KeyGroupStateStoreProvider].getName)
    conf.setConf(SQLConf.STATE_STORE_MIN_DELTAS_FOR_SNAPSHOT, minDeltasForSnapshot)
    conf.setConf(SQLConf.MAX_BATCHES_TO_RETAIN_IN_MEMORY, numOfVersToRetainInMemory)
    conf.setConf(SQLConf.MIN_BATCHES_TO_RETAIN, 2)
    conf.setConf(SQLConf.STATE_STORE_COMPRESSION_CODEC, SQLConf.get.stateStoreCompressionCodec)
    conf
  }

  private def newId() = StateStoreId(newDir(), Random.nextInt(), 0)

  private def newDir(): String = Utils.createTempDir().getCanonicalPath

  private def latestVersion(provider: KeyGroupStateStoreProvider): Long = {
    val folder = new java.io.File(new java.net.URI(s"file:${provider.stateStoreId.storeCheckpointLocation()}").getPath)
    val names = Option(folder.list()).toSeq.flatten.filter(_.matches("v[0-9]{20}_.*[.]arrow"))
    names.map(_.slice(1, 21).toLong).maxOption.getOrElse(0L)
  }

  private def make(storeId: StateStoreId, schema: StructType = keySchema,
      encoder: KeyStateEncoderSpec = NoPrefixKeyStateEncoderSpec(keySchema), useColumnFamilies: Boolean = false,
      sqlConf: SQLConf = getDefaultSQLConf(SQLConf.STATE_STORE_MIN_DELTAS_FOR_SNAPSHOT.defaultValue.get,
        SQLConf.MAX_BATCHES_TO_RETAIN_IN_MEMORY.defaultValue.get),
      hadoopConf: Configuration = new Configuration): KeyGroupStateStoreProvider = {
    hadoopConf.set(StreamExecution.RUN_ID_KEY, UUID.randomUUID().toString)
    val provider = new KeyGroupStateStoreProvider
    val schemas =
      if (!useColumnFamilies) None
      else {
        val made = new TestStateSchemaProvider()
        made.captureSchema(StateStore.DEFAULT_COL_FAMILY_NAME, schema, valueSchema)
        Some(made)
      }
    provider.init(storeId, schema, valueSchema, encoder, useColumnFamilies, new StateStoreConf(sqlConf), hadoopConf,
      useMultipleValuesPerKey = false, schemas)
    provider
  }
}
