package io.keygroups.spark.versions

import io.keygroups.spark.{Failures, KeyGroupsException}
import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.session.LoadedVersion
import org.apache.hadoop.fs.Path
import org.apache.spark.internal.Logging

/** Loads versions of a store, and what each of them changed. */
private[spark] final class VersionLoader(store: OpenStore, spec: StoreSpec, files: CheckpointFiles) extends Logging {
  import VersionLoader._

  /** The version, loaded if it is not the latest that this JVM has. The caller releases it. */
  def load(version: Long, checkpointId: Option[String]): LoadedVersion = load(Attempts) {
    val key = keyOf(version, checkpointId)
    mapped(key).getOrElse(loadOnce(key))
  }

  /** The version in the files that it has by now: this JVM may have missed a merge, and deleted files. The caller releases it. */
  def reload(version: Long, checkpointId: Option[String]): LoadedVersion = load(Attempts)(loadOnce(keyOf(version, checkpointId)))

  /** A version without rows, for one that is to be written anew after it. */
  def empty(version: Long): LoadedVersion = {
    val first = load(0, None)
    try new LoadedVersion(VersionKey(version, None), first.catalog, first.maxParallelism, Array.empty, startsEmpty = true)
    finally first.release()
  }

  /**
   * What each version from `start` to `end` changed, oldest first: versions with those rows only. The caller releases them.
   *
   * @param writes each write, of versions that have kept them, rather than each key
   */
  def changes(start: Long, end: Long, checkpointId: Option[String], writes: Boolean): Seq[LoadedVersion] = {
    var key = Option(keyOf(end, checkpointId))
    val remote = store.open()
    var found = List.empty[LoadedVersion]
    try {
      while (key.exists(_.version >= start)) {
        val change = remote.callWithFiles[ChangeView]("change")(ChangeRequest(remote.number, key.get, writes, _)).get
        found ::= LoadedVersion.map(change.version, Map.empty, store.openSegment)
        key = change.parent
      }
      found
    } catch {
      case error: Throwable =>
        found.foreach(_.release())
        throw error
    }
  }

  private def load(attempts: Int)(body: => LoadedVersion): LoadedVersion =
    try body
    catch { // nothing is lost yet: a process that died since the last batch need not fail the task
      case error: KeyGroupsException if error.kind == "retry" && attempts > 1 && !Failures.isInterrupt(error.getCause) =>
        logWarning(s"loading a version of ${spec.store} again", error)
        load(attempts - 1)(body)
    }

  /** The version if it is the latest that this JVM has. */
  private def mapped(key: VersionKey): Option[LoadedVersion] = {
    store.open() // which releases what another process had
    val known = store.latest.filter { latest =>
      latest.key.version == key.version && (key.checkpointId.isEmpty || key.checkpointId == latest.key.checkpointId)
    }
    known.flatMap(_.share())
  }

  private def loadOnce(key: VersionKey): LoadedVersion = {
    val remote = store.open()
    store.withKnown { known =>
      val view = remote.callWithFiles[VersionView]("load")(LoadRequest(remote.number, key, _, known.ids))
      if (key.version == 0) files.createFolder()
      store.adopt(remote, view.get, known)
    }
  }

  /** Spark's commit log says which attempt's version counts, by an id that becomes part of a file's name. */
  private def keyOf(version: Long, checkpointId: Option[String]): VersionKey = {
    checkpointId.filterNot(Id.matches).foreach { id =>
      throw Failures.foreignId(new Path(new Path(spec.operatorFolder).getParent.getParent, "commits").toString, id)
    }
    VersionKey(version, checkpointId)
  }
}

private object VersionLoader {
  /** The store's process may be dead, and so may the one that other stores have started since; the third is new. */
  val Attempts = 3
  val Id = "[0-9a-f]{32}".r
}
