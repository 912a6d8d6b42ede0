package io.keygroups.spark

import io.keygroups.spark.segment.MappedRun
import io.keygroups.spark.session.{ChangeFeed, Expiry, LoadedVersion, Session}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals

/** What the state reader reads beside single versions: a version by way of an older one, and what each version changed. */
trait Replays extends SupportsFineGrainedReplay { this: KeyGroupStateStoreProvider =>

  override def replayStateFromSnapshot(snapshotVersion: Long, endVersion: Long, readOnly: Boolean,
      snapshotVersionStateStoreCkptId: Option[String], endVersionStateStoreCkptId: Option[String]): StateStore =
    newStore(replayed(snapshotVersion, endVersion, snapshotVersionStateStoreCkptId, endVersionStateStoreCkptId))

  override def replayReadStateFromSnapshot(snapshotVersion: Long, endVersion: Long,
      snapshotVersionStateStoreCkptId: Option[String], endVersionStateStoreCkptId: Option[String]): ReadStateStore =
    newReadStore(replayed(snapshotVersion, endVersion, snapshotVersionStateStoreCkptId, endVersionStateStoreCkptId))

  override def getStateStoreChangeDataReader(startVersion: Long, endVersion: Long, colFamilyNameOpt: Option[String],
      endVersionStateStoreCkptId: Option[String]): SparkInternals.Changes = loading {
    val family = familyToRead(colFamilyNameOpt.getOrElse(StateStore.DEFAULT_COL_FAMILY_NAME))
    new ChangeFeed(host.changes(startVersion, endVersion, endVersionStateStoreCkptId, writes = true), family).records
  }

  /** A version, read from the files of an older one and of the changes since, not from those that its own file lists. */
  private def replayed(from: Long, to: Long, fromId: Option[String], toId: Option[String]): Session = loading {
    if (from < 1) throw SparkInternals.unexpectedVersion(from)
    if (to < from) throw SparkInternals.unexpectedVersion(to)
    val changes = host.changes(from + 1, to, toId, writes = false)
    try {
      val snapshot = host.load(from, fromId)
      try new Session(host, replay(snapshot, changes), readOnly = true, Expiry.Never)
      finally snapshot.release()
    } finally changes.foreach(_.release())
  }

  private def replay(snapshot: LoadedVersion, changes: Seq[LoadedVersion]): LoadedVersion = {
    val last = changes.lastOption.getOrElse(snapshot)
    // The chain of changes ends early at a version that has no row of those before it.
    val isWhole = changes.length == last.key.version - snapshot.key.version
    val below = if (isWhole) snapshot.runs else Array.empty[MappedRun]
    val replayed = new LoadedVersion(last.key, last.catalog, last.maxParallelism,
      changes.reverseIterator.flatMap(_.runs).toArray ++ below)
    replayed.segments.foreach(_.retain())
    replayed
  }
}
