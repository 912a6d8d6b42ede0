package io.keygroups.spark.versions

import java.nio.file.NoSuchFileException

import scala.util.control.NonFatal

import io.keygroups.spark.{Failures, Settings}
import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.segment.MappedSegment
import io.keygroups.spark.session.LoadedVersion
import org.apache.spark.internal.Logging

/** A provider's store in a living store process, and the latest version that this JVM has mapped of it. */
private[spark] final class OpenStore(settings: Settings, spec: StoreSpec, files: CheckpointFiles) extends Logging {
  private var remote: RemoteStore = _
  private var latestVersion: LoadedVersion = _

  /** The store, opened in a new process if there is none. After a process has died, its versions are loaded again. */
  def open(): RemoteStore = synchronized {
    if (remote == null || !remote.isAlive) {
      releaseLatest()
      remote = RemoteStore.open(settings, spec, files)
    }
    remote
  }

  /** The store if it is open in a living process. */
  def opened: Option[RemoteStore] = synchronized(Option(remote)).filter(_.isAlive)

  def latest: Option[LoadedVersion] = synchronized(Option(latestVersion))

  def calls: Long = synchronized(if (remote == null) 0L else remote.calls.get())

  /** Map a version and make it the latest; its holder and this object release it each for itself. */
  def adopt(store: RemoteStore, view: VersionView): LoadedVersion = {
    val mapped = map(store, view)
    becomeLatest(store, mapped.share().get, _ => true)
    mapped
  }

  /** Read the latest version from other segments, unless there is a later one by now: that lists them itself. */
  def replaceLatest(store: RemoteStore, view: VersionView): Unit =
    if (latest.exists(_.key == view.key)) becomeLatest(store, map(store, view), _.key == view.key)

  /** The lock is not held while files are mapped: that may download them. */
  private def map(store: RemoteStore, view: VersionView): LoadedVersion = {
    val known = latest.toSeq.flatMap(_.segments).map(s => s.view.id -> s).toMap
    mapAll(store, view, known, OpenStore.Attempts)
  }

  /** A version of a process that has died meanwhile is not the latest of the next one. */
  private def becomeLatest(store: RemoteStore, version: LoadedVersion, replaces: LoadedVersion => Boolean): Unit = synchronized {
    if ((store eq remote) && Option(latestVersion).forall(replaces)) {
      releaseLatest()
      latestVersion = version
    } else version.release()
  }

  def close(): Unit = {
    val store = synchronized {
      releaseLatest()
      val open = remote
      remote = null
      open
    }
    if (store != null && store.isAlive) ignoring("close")(store.call[Boolean]("close", CloseRequest(store.number)))
  }

  /** Log an error of a call that nothing depends on. */
  def ignoring(what: String)(body: => Unit): Unit =
    try body
    catch { case NonFatal(error) => logWarning(s"$what of ${spec.store} failed", error) }

  private def releaseLatest(): Unit = {
    if (latestVersion != null) latestVersion.release()
    latestVersion = null
  }

  private def mapAll(store: RemoteStore, view: VersionView, known: Map[String, MappedSegment], attempts: Int): LoadedVersion =
    try LoadedVersion.map(view, known, spec.partitions)
    catch {
      case error: NoSuchFileException => // compacted away between the answer and the mapping
        if (attempts == 1) throw Failures.missing(error.getFile, error)
        val again = store.callWithFiles[VersionView]("load")(LoadRequest(store.number, view.key, _))
        mapAll(store, again.get, known, attempts - 1)
    }
}

private object OpenStore {
  val Attempts = 3
}
