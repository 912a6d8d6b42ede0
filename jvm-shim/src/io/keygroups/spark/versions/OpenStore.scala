package io.keygroups.spark.versions

import java.nio.file.NoSuchFileException
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import io.keygroups.spark.{Failures, Settings}
import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.memory.{IndexMemory, WorkMemory}
import io.keygroups.spark.segment.{MappedSegment, SegmentView}
import io.keygroups.spark.session.LoadedVersion
import org.apache.spark.internal.Logging

/** A provider's store in a living store process, and the latest version that this JVM has mapped of it. */
private[spark] final class OpenStore(settings: Settings, spec: StoreSpec, files: CheckpointFiles) extends Logging {
  private var remote: RemoteStore = _
  private var latestVersion: LoadedVersion = _
  /** Merged pieces that versions of the store process may have, and the latest of this JVM not yet. */
  private val pieces = new ConcurrentHashMap[String, MappedSegment]

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

  /** Map a segment. KeyGroupsException: its index does not fit into memory. */
  def openSegment(view: SegmentView): MappedSegment =
    Option(pieces.get(view.id)).orElse(latest.flatMap(_.segments.find(_.view.id == view.id))).filter(_.retain())
      .getOrElse(mapSegment(view))

  private def mapSegment(view: SegmentView): MappedSegment = {
    val budget = settings.memoryBudget
    val segment = MappedSegment.open(view, spec.partitions, settings.mappedValues, budget.copyLimit)
    val limit = budget.indexLimit
    var fits = false
    try {
      IndexMemory.awaitAtMost(limit)
      fits = IndexMemory.bytes <= limit
      if (!fits) throw Failures.noMemory(limit, IndexMemory.bytes)
    } catch {
      case error: InterruptedException => throw Failures.interrupted(error)
    } finally if (!fits) segment.release()
    segment
  }

  /**
   * Do something while the segments of the latest version are held: answers of the store process do not describe them.
   *
   * @param others segments that the caller holds
   */
  def withKnown[T](others: Seq[MappedSegment])(body: KnownSegments => T): T = {
    val held = latest.flatMap(_.share())
    try body(new KnownSegments(held.toSeq.flatMap(_.segments) ++ others))
    finally held.foreach(_.release())
  }

  def withKnown[T](body: KnownSegments => T): T = withKnown(Nil)(body)

  /**
   * Map a merged piece, if it has rows, and hold it until `letGo`: commits that list it do not map it again. One that is
   * held already, because its upload has just failed, is held once.
   */
  def hold(piece: SegmentView): Unit =
    if (piece.rows > 0) Option(pieces.put(piece.id, openSegment(piece))).foreach(_.release())

  def letGo(piece: String): Unit = Option(pieces.remove(piece)).foreach(_.release())

  /** Map a version and make it the latest; its holder and this object release it each for itself. */
  def adopt(store: RemoteStore, view: VersionView, known: KnownSegments): LoadedVersion = {
    val mapped = mapAll(store, view, known, OpenStore.Attempts)
    becomeLatest(store, mapped.share().get, latest => latest.key != view.key || latest.revision <= view.revision)
    mapped
  }

  /**
   * Read the latest version from other segments, unless there is a later one by now: that lists them itself. Of two merges
   * that ended at the same time, the plan of the later one has the segments of both.
   */
  def replaceLatest(store: RemoteStore, view: VersionView, known: KnownSegments): Unit = {
    def isOlder(version: LoadedVersion) = version.key == view.key && version.revision < view.revision
    if (latest.exists(isOlder)) becomeLatest(store, mapAll(store, view, known, OpenStore.Attempts), isOlder)
  }

  /** A version of a process that has died meanwhile is not the latest of the next one. */
  private def becomeLatest(store: RemoteStore, version: LoadedVersion, replaces: LoadedVersion => Boolean): Unit = synchronized {
    if ((store eq remote) && Option(latestVersion).forall(replaces)) {
      releaseLatest()
      latestVersion = version
    } else version.release()
  }

  /** A version is not the latest any more, if it was. */
  def forget(version: VersionKey): Unit = synchronized {
    if (latestVersion != null && latestVersion.key == version) releaseLatest()
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

  /**
   * Have the store process sort chunks, once there is memory for it.
   *
   * @param merged bytes of segments that it merges with them, a part at a time
   */
  def sorting[T](chunks: Seq[ChunkMessage], merged: Long = 0)(call: => T): T = {
    val bytes = chunks.map(chunk => chunk.keyBytes + chunk.valueBytes + chunk.rows * OpenStore.BytesPerRow).sum
    val needed = 2 * bytes + math.min(2 * merged, backgroundBytes)
    WorkMemory.during(needed, settings.memoryBudget.forWork, isUrgent = true)(call)
  }

  /**
   * Have it merge or compress rows in the background, a part at a time, once there is memory for it.
   *
   * @param isUrgent a task waits for it
   */
  def inBackground[T](isUrgent: Boolean)(call: => T): T =
    WorkMemory.during(backgroundBytes, settings.memoryBudget.forWork, isUrgent)(call)

  private def backgroundBytes = math.max(OpenStore.BackgroundBytes, OpenStore.BlocksOfMerge * settings.blockBytes)

  /** Log an error of a call that nothing depends on. */
  def ignoring(what: String)(body: => Unit): Unit =
    try body
    catch { case NonFatal(error) => logWarning(s"$what of ${spec.store} failed", error) }

  private def releaseLatest(): Unit = {
    if (latestVersion != null) latestVersion.release()
    latestVersion = null
  }

  /** The lock is not held while files are mapped: that may download them. */
  private def mapAll(store: RemoteStore, view: VersionView, known: KnownSegments, attempts: Int): LoadedVersion =
    try LoadedVersion.map(view, known.byId, openSegment)
    catch {
      case error: NoSuchFileException => // compacted away between the answer and the mapping
        if (attempts == 1) throw Failures.missing(error.getFile, error)
        val again = store.callWithFiles[VersionView]("load")(LoadRequest(store.number, view.key, _, known.ids))
        mapAll(store, again.get, known, attempts - 1)
    }
}

/** Segments that are mapped and held. */
private[spark] final class KnownSegments(segments: Seq[MappedSegment]) {
  val byId: Map[String, MappedSegment] = segments.map(s => s.view.id -> s).toMap
  def ids: Seq[String] = byId.keys.toSeq
}

private object OpenStore {
  /** Of the columns of numbers that are sorted with a row, and of its place. */
  val BytesPerRow = 40L
  /** Merging takes a few blocks at a time, compression 16 MB. */
  val BackgroundBytes: Long = 64L << 20
  /** A merge took 3 blocks of 64 MB, and 3.6 of 256 or 512 MB. */
  val BlocksOfMerge = 4L
  val Attempts = 3
}
