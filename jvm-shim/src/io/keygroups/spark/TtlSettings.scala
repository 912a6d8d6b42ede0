package io.keygroups.spark

import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.keys.OperatorMetadata
import io.keygroups.spark.session.Expiry
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._

/**
 * How long the rows of an operator live after their last write. "Now" is the time of the batch in Spark's offset log, so
 * that a batch which runs again expires the same rows.
 *
 * @param seconds 0: rows do not expire
 * @param run of the query
 */
final class TtlSettings private (seconds: Long, run: String, files: CheckpointFiles) {
  private var last = (-1L, Expiry.Never)

  /** Expiry as seen by the batch that begins with this version. */
  def at(version: Long): Expiry = synchronized {
    if (seconds > 0 && last._1 != version) last = (version, Expiry.at(batchMillis(version), seconds))
    last._2
  }

  private def batchMillis(batch: Long): Long =
    BatchTimes.millis(run, files, batch).getOrElse(System.currentTimeMillis())
}

object TtlSettings {
  private val Joins = "symmetricHashJoin"
  private val SkipNulls = "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled"
  /** Its only row is the number of rows returned so far. */
  private val Limit = "globalLimit"

  /** Throws KeyGroupsException: Spark would fail on expired rows of this operator. */
  def apply(settings: Settings, id: StateStoreId, conf: StateStoreConf, hadoopConf: Configuration, run: String,
      files: CheckpointFiles): TtlSettings =
    new TtlSettings(if (settings.ttl == 0) 0 else secondsFor(settings, id, conf, hadoopConf), run, files)

  private def secondsFor(settings: Settings, id: StateStoreId, conf: StateStoreConf, hadoopConf: Configuration): Long = {
    val name = OperatorMetadata.name(id, hadoopConf).getOrElse("")
    val isMeant = settings.ttlOperators.isEmpty || settings.ttlOperators.exists(Set(name, id.operatorId.toString))
    if (!isMeant || name == Limit) 0
    else if (name == Joins && !conf.skipNullsForStreamStreamJoins) {
      throw Failures.setting(s"${Settings.Prefix}ttl on a stream-stream join needs Spark to pass over rows that are gone " +
        s"(expected $SkipNulls=true, found false): set it, or name the operators that ttl is for in ${Settings.Prefix}ttlOperators")
    } else settings.ttl
  }
}
