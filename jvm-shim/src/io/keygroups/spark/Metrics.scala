package io.keygroups.spark

import org.apache.spark.sql.execution.streaming.state._

/** What Spark shows of a store in StreamingQueryProgress and in its UI. */
object Metrics {
  val OverlayBytes: StateStoreCustomMetric =
    StateStoreCustomSizeMetric("keyGroupsOverlayBytes", "key groups: bytes in the write buffer at commit")
  val MappedBytes: StateStoreCustomMetric =
    StateStoreCustomSizeMetric("keyGroupsMappedBytes", "key groups: bytes of mapped segments and their indexes")
  val IndexBytes: StateStoreCustomMetric =
    StateStoreCustomSizeMetric("keyGroupsIndexBytes", "key groups: memory of indexes and copied keys")
  val Segments: StateStoreCustomMetric = StateStoreCustomSumMetric("keyGroupsSegments", "key groups: segments")
  val CheckpointBytes: StateStoreCustomMetric =
    StateStoreCustomSizeMetric("keyGroupsCheckpointBytes", "key groups: bytes written to the checkpoint")
  val LoadTime: StateStoreCustomMetric = timing("keyGroupsLoadMs", "time to load the version")
  val ApplyTime: StateStoreCustomMetric = timing("keyGroupsApplyMs", "time to sort the writes and to write the files")
  val CommitTime: StateStoreCustomMetric = timing("keyGroupsCommitMs", "time to commit")
  val UploadTime: StateStoreCustomMetric = timing("keyGroupsUploadMs", "time to upload the version file")
  val CompactionTime: StateStoreCustomMetric =
    timing("keyGroupsCompactionMs", "time of background compaction since the last commit")
  val ForcedSnapshots: StateStoreCustomMetric =
    StateStoreCustomSumMetric("forceSnapshotCount", "number of compactions that Spark asked for with a commit")
  val Expired: StateStoreCustomMetric =
    StateStoreCustomSumMetric("keyGroupsExpiredRows", "key groups: expired rows removed")
  val BridgeCalls: StateStoreCustomMetric =
    StateStoreCustomSumMetric("keyGroupsBridgeCalls", "key groups: calls to the store process")

  val all: Seq[StateStoreCustomMetric] = Seq(OverlayBytes, MappedBytes, IndexBytes, Segments, CheckpointBytes,
    LoadTime, ApplyTime, CommitTime, UploadTime, CompactionTime, Expired, BridgeCalls, ForcedSnapshots)

  /** Of each partition the latest version that was reported to the driver. Spark shows the partitions that lag most. */
  val SnapshotLastUploaded: StateStoreInstanceMetric = StateStoreSnapshotLastUploadInstanceMetric()

  private def timing(name: String, what: String): StateStoreCustomMetric =
    StateStoreCustomTimingMetric(name, s"key groups: $what")

  /** Run `body`, and give the milliseconds that it took to `sink`, also if it fails. */
  def timed[T](sink: Long => Unit)(body: => T): T = {
    val start = System.nanoTime()
    try body
    finally sink((System.nanoTime() - start) / 1000000)
  }
}
