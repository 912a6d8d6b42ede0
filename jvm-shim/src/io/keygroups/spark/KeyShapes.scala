package io.keygroups.spark

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import io.keygroups.spark.bridge.Json
import io.keygroups.spark.store.KeyShape
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.{NullType, StructType}

/** Which columns of a state key are those by which Spark partitions the operator's rows. */
object KeyShapes {
  /** Stores of a stream-stream join whose key ends with a running number. */
  private val Indexed = Set("left-keyWithIndexToValue", "right-keyWithIndexToValue")

  def of(id: StateStoreId, schema: StructType, spec: KeyStateEncoderSpec, hadoopConf: Configuration): KeyShape =
    spec match {
      case PrefixKeyScanStateEncoderSpec(_, columns) => KeyShape(schema, columns, 0 until columns)
      case _ if Indexed.contains(id.storeName) => KeyShape(schema, 0, 0 until schema.length - 1)
      case _ if isGlobalLimit(id, schema, hadoopConf) => KeyShape(schema, 0, Seq.empty)
      case _ => KeyShape(schema, 0, schema.indices)
    }

  /**
   * A global limit keeps its one row under a null key, and all its rows go to partition 0; a key of null columns may be
   * anything else too, so the operator's name decides.
   */
  private def isGlobalLimit(id: StateStoreId, schema: StructType, hadoopConf: Configuration): Boolean =
    schema.length == 1 && schema.head.dataType == NullType && operatorName(id, hadoopConf).contains("globalLimit")

  /** The operator's name in the metadata that Spark writes before the first batch. */
  private def operatorName(id: StateStoreId, hadoopConf: Configuration): Option[String] = {
    val path = new Path(new Path(id.checkpointRootLocation, id.operatorId.toString), "_metadata/metadata")
    val fs = path.getFileSystem(hadoopConf)
    if (!fs.exists(path)) None
    else {
      val text = Using.resource(fs.open(path))(in => new String(in.readAllBytes(), UTF_8))
      Option(Json.tree(text.dropWhile(_ != '{')).at("/operatorInfo/operatorName").asText(null))
    }
  }
}
