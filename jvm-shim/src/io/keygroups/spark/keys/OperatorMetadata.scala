package io.keygroups.spark.keys

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import io.keygroups.spark.bridge.Json
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.execution.streaming.state.StateStoreId

/** What Spark writes of an operator before its first batch. */
object OperatorMetadata {

  /** Spark's short name of the operator; None where nothing is written. Both formats of the metadata are known. */
  def name(id: StateStoreId, hadoopConf: Configuration): Option[String] = {
    val folder = new Path(new Path(id.checkpointRootLocation, id.operatorId.toString), "_metadata")
    val fs = folder.getFileSystem(hadoopConf)
    file(fs, folder).flatMap { path =>
      val text = Using.resource(fs.open(path))(in => new String(in.readAllBytes(), UTF_8))
      Option(Json.tree(text.dropWhile(_ != '{')).at("/operatorInfo/operatorName").asText(null))
    }
  }

  private def file(fs: FileSystem, folder: Path): Option[Path] = {
    val (first, second) = (new Path(folder, "metadata"), new Path(folder, "v2"))
    if (fs.exists(first)) Some(first)
    else if (!fs.exists(second)) None
    else fs.listStatus(second).map(_.getPath).filter(_.getName.forall(_.isDigit)).maxByOption(_.getName.toLong)
  }
}
