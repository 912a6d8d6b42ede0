package io.keygroups.spark.versions

import java.io.File

import scala.util.control.NonFatal

import io.keygroups.spark.{Failures, KeyGroupsException, Metrics}
import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.session.{LoadedVersion, Session}
import org.apache.spark.internal.Logging

/** Makes the writes of sessions versions, or drops them. */
private[spark] final class Committer(store: OpenStore, files: CheckpointFiles, compactor: Compactor) extends Logging {
  @volatile private var lastRows = Map.empty[Int, Int]

  /** Rows that the last commit wrote to a family. */
  def expectedRows(family: Int): Int = lastRows.getOrElse(family, 0)

  /** Make a session's writes the next version, and durable. */
  def commit(session: Session, timings: CommitTimings): LoadedVersion = {
    val remote = store.open()
    compactor.awaitIfBehind(remote)
    session.finishSorting() // its segments are known then
    try store.withKnown(session.sortedSegments)(commit(session, remote, _, timings))
    catch {
      case error: KeyGroupsException if error.kind == "retry" && !Failures.isInterrupt(error.getCause) =>
        store.forget(session.version.key) // the store process may have it no more: the next attempt loads it
        throw error
    }
  }

  private def commit(session: Session, remote: RemoteStore, known: KnownSegments, timings: CommitTimings): LoadedVersion = {
    val rows = session.rowsWritten
    val committed =
      try send(session, remote, known)
      finally session.files.deleteAll() // the store process has read them, or there is none that could
    timings.apply = committed.writeMillis
    val bytes = committed.uploads.map(upload => new File(upload.head).length())
    timings.uploadBytes = bytes.sum + session.savedSegments.values.sum
    Metrics.timed(timings.upload = _)(upload(session, remote, committed))
    lastRows = rows
    val version =
      try store.adopt(remote, committed.version, known)
      catch {
        case error: Throwable =>
          store.forget(session.version.key) // as after a failed upload
          throw error
      }
    if (committed.compact) compactor.start(remote, thorough = false)
    version
  }

  /** Drop what the store process has of a session. */
  def abort(session: Session): Unit = store.opened.foreach { remote =>
    store.ignoring("abort")(remote.call[Boolean]("abort", SessionRequest(remote.number, session.id)))
  }

  /** Upload a sorted segment of a session ahead of its commit; the bytes, 0 if that is left to the commit. */
  def save(session: Session, segment: String, base: LoadedVersion): Long =
    try {
      store.opened.fold(0L) { remote =>
        val request = SaveRequest(remote.number, session.id, segment, base.key, base.startsEmpty)
        store.inBackground(isUrgent = false)(remote.call[Seq[String]]("save", request, () => session.isOpen)).fold(0L)(uploaded)
      }
    } catch {
      case NonFatal(error) =>
        logWarning(s"a segment of ${files.folder} could not be saved, the commit will try again", error)
        0L
    }

  private def uploaded(upload: Seq[String]): Long = {
    val bytes = new File(upload.head).length()
    files.upload(upload.head, upload(1))
    bytes
  }

  private def send(session: Session, remote: RemoteStore, known: KnownSegments): Committed = {
    val changelog = session.sealChangelogs()
    val chunks = session.seal()
    val (sorted, saved) = (session.sortedSegments.map(_.view), session.savedSegments.keySet)
    val request = CommitRequest(remote.number, session.id, session.version.key, sorted.map(_.id), saved.toSeq, chunks,
      session.catalog, session.expiry.now, session.version.startsEmpty, changelog, known.ids)
    val merged = sorted.filterNot(segment => saved(segment.id)).map(_.bytes).sum
    store.sorting(chunks ++ changelog, merged)(remote.call[Committed]("commit", request).get)
  }

  private def upload(session: Session, remote: RemoteStore, committed: Committed): Unit =
    try committed.uploads.foreach(upload => files.upload(upload.head, upload(1)))
    catch {
      case error: Throwable =>
        committed.uploads.foreach(upload => new File(upload.head).delete())
        store.ignoring("forget")(remote.call[Boolean]("forget", ForgetRequest(remote.number, committed.version.key)))
        store.forget(session.version.key) // this version may have pushed it out of the store process's memory
        throw failedUpload(s"${files.folder}/${committed.uploads.last(1)}", error)
    }

  private def failedUpload(path: String, error: Throwable): Throwable = error match {
    case known: KeyGroupsException => known
    case _ if Failures.isInterrupt(error) => Failures.interrupted(error)
    case _ => Failures.capacity(s"the version file could not be written (path $path, found $error): the previous version " +
      "stays good; make the checkpoint's file system writable and restart the query", error)
  }
}

/** Times of one commit in ms, and what it did. */
final class CommitTimings {
  var load = 0L
  var apply = 0L
  var upload = 0L
  var total = 0L
  var uploadBytes = 0L
  /** Rows that were removed because they had expired. */
  var expired = 0L
}
