package io.keygroups.spark

import java.io.File
import java.nio.file.{NoSuchFileException, Path}
import java.util.concurrent.{ConcurrentHashMap, Future}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.util.control.NonFatal

import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.segment.{MappedSegment, SegmentView}
import io.keygroups.spark.store._
import org.apache.spark.internal.Logging

/**
 * A provider's side of the bridge: versions are loaded, committed and compacted here. Calls of several tasks and of
 * maintenance may come at once.
 *
 * @param versionsToRetain Spark's minBatchesToRetain
 */
final class StoreHost(settings: Settings, spec: StoreSpec, transfer: CheckpointFiles, versionsToRetain: Int)
  extends SessionHost with Logging {
  import StoreHost._

  private var remote: RemoteStore = _
  private var latest: LoadedVersion = _
  private var isClosed = false
  /** Loads under way, and sessions that may still write. */
  private var users = 0
  private val compacting = new AtomicBoolean()
  @volatile private var compaction: Future[_] = _
  @volatile private var lastRows = Map.empty[Int, Int]
  private val expiryCursors = new ConcurrentHashMap[Int, Long]()

  val compactionMillis = new AtomicLong()
  def calls: Long = synchronized(if (remote == null) 0L else remote.calls.get())
  def overlayBytes: Long = settings.overlayBytes
  def feedsWrites: Boolean = settings.feedsWrites
  def expectedRows(family: Int): Int = lastRows.getOrElse(family, 0)
  def expiryCursor(family: Int): Long = expiryCursors.getOrDefault(family, 0L)
  def setExpiryCursor(family: Int, locator: Long): Unit = expiryCursors.put(family, locator)
  def chunkFolder: Path = open().folder.toPath

  /**
   * Keep the store open until `leave`. Spark 4.2 closes a provider beside a task that still has it (unloadOnCommit, whose
   * close may come in the next batch, and a store that moves to another executor): the task goes on to its end.
   */
  def enter(): Unit = synchronized(users += 1)

  def leave(): Unit = {
    val isLast = synchronized {
      users -= 1
      users == 0 && isClosed
    }
    if (isLast) shut()
  }

  /** The version, loaded if it is not the latest that this provider knows. The caller releases it. */
  def load(version: Long, checkpointId: Option[String]): LoadedVersion = entered(load(version, checkpointId, Attempts))

  /** A version without rows, for one that is to be written anew after it. */
  def empty(version: Long): LoadedVersion = {
    val first = load(0, None)
    try new LoadedVersion(VersionKey(version, None), first.catalog, first.maxParallelism, Array.empty, startsEmpty = true)
    finally first.release()
  }

  private def load(version: Long, checkpointId: Option[String], attempts: Int): LoadedVersion =
    try loadOnce(version, checkpointId)
    catch { // nothing is lost yet: a process that died since the last batch need not fail the task
      case error: KeyGroupsException if error.kind == "retry" && attempts > 1 =>
        logWarning(s"loading version $version of ${spec.store} again", error)
        load(version, checkpointId, attempts - 1)
    }

  private def loadOnce(version: Long, checkpointId: Option[String]): LoadedVersion = {
    val store = open()
    val known = synchronized(Option(latest)).filter { l =>
      l.key.version == version && (checkpointId.isEmpty || checkpointId == l.key.checkpointId)
    }
    known.flatMap(_.share()).getOrElse {
      val view = store.callWithFiles[VersionView]("load") { (listing, missing) =>
        LoadRequest(store.number, VersionKey(version, checkpointId), listing, missing)
      }
      if (version == 0) transfer.createFolder()
      adopt(store, view.get)
    }
  }

  /**
   * What each version from `start` to `end` changed, oldest first: versions with those rows only. The caller releases them.
   *
   * @param writes each write, of versions that have kept them, rather than each key
   */
  def changes(start: Long, end: Long, checkpointId: Option[String], writes: Boolean): Seq[LoadedVersion] = entered {
    val store = open()
    var found = List.empty[LoadedVersion]
    var key = Option(VersionKey(end, checkpointId))
    try {
      while (key.exists(_.version >= start)) {
        val change = store.callWithFiles[ChangeView]("change") { (listing, missing) =>
          ChangeRequest(store.number, key.get, writes, listing, missing)
        }.get
        found ::= mapped(change.version, Map.empty)
        key = change.parent
      }
      found
    } catch {
      case error: Throwable =>
        found.foreach(_.release())
        throw error
    }
  }

  /** Number of the latest version that this provider knows. */
  def latestVersion: Option[Long] = synchronized(Option(latest)).map(_.key.version)

  def applyChunks(session: Session, chunks: Seq[ChunkMessage]): Future[MappedSegment] = {
    val store = open()
    Background.sort {
      val view = store.call[SegmentView]("apply", ApplyRequest(store.number, session.id, chunks, session.expiry.now)).get
      MappedSegment.open(view, spec.partitions)
    }
  }

  /** Make a session's writes the next version, and durable. */
  def commit(session: Session, timings: CommitTimings): LoadedVersion = {
    val store = open()
    awaitCompactionIfBehind(session.version.segments.length)
    val rows = session.rowsWritten
    val changelog = session.sealChangelogs() // first: if the disk is full, the session deletes these files with its others
    val request = CommitRequest(store.number, session.id, session.version.key, session.seal(), session.catalog,
      session.expiry.now, session.version.startsEmpty, changelog)
    val committed = store.call[Committed]("commit", request).get
    timings.apply = committed.sortMillis
    timings.uploadBytes = committed.uploads.map(upload => new File(upload.head).length()).sum
    try Metrics.timed(timings.upload = _)(committed.uploads.foreach(upload => transfer.upload(upload.head, upload(1))))
    catch {
      case error: Throwable =>
        committed.uploads.foreach(upload => new File(upload.head).delete())
        ignoring("forget")(store.call[Boolean]("forget", ForgetRequest(store.number, committed.version.key)))
        throw (error match {
          case known: KeyGroupsException => known
          case _ => Failures.capacity(s"the version file could not be written (path ${transfer.folder}/" +
            s"${committed.uploads.last(1)}, found $error): the previous version stays good; make the checkpoint's file " +
            "system writable and restart the query", error)
        })
    }
    lastRows = rows
    val version = adopt(store, committed.version)
    if (committed.compact) startCompaction(store, thorough = false)
    version
  }

  /** A session came to nothing: its chunks are dropped. */
  def abort(session: Session): Unit = {
    val store = synchronized(remote)
    if (store != null && store.isAlive) {
      ignoring("abort")(store.call[Boolean]("abort", SessionRequest(store.number, session.id)))
    }
  }

  /** Compaction with an eye on space, and upload of what is still to be uploaded. */
  def compactThoroughly(): Unit = withStore(compact(_, thorough = true))

  /** Delete files that no retained version needs. */
  def cleanUp(): Unit = withStore { store =>
    val names = store.callWithFiles[Seq[String]]("deletable") { (listing, missing) =>
      DeletableRequest(store.number, versionsToRetain, listing, missing)
    }
    transfer.delete(names.getOrElse(Seq.empty))
  }

  /** The store is let go of with its last user. */
  def close(): Unit = {
    val unused = synchronized {
      isClosed = true
      users == 0
    }
    if (unused) shut()
  }

  private def shut(): Unit = {
    val store = synchronized {
      if (latest != null) latest.release()
      latest = null
      val open = remote
      remote = null
      open
    }
    if (store != null && store.isAlive) ignoring("close")(store.call[Boolean]("close", CloseRequest(store.number)))
  }

  /** The store in a living process. After a process has died, all that it knew is loaded again. */
  private def open(): RemoteStore = synchronized {
    if (remote == null || !remote.isAlive) {
      if (latest != null) latest.release()
      latest = null
      remote = RemoteStore.open(settings, spec, transfer)
    }
    remote
  }

  /** Map a version and make it the latest; its holder and this provider release it each for itself. */
  private def adopt(store: RemoteStore, view: VersionView): LoadedVersion = synchronized {
    val known = Option(latest).toSeq.flatMap(_.segments).map(s => s.view.id -> s).toMap
    val mapped = mapAll(view, known, store)
    if (latest != null) latest.release()
    latest = mapped
    mapped.share().get
  }

  private def mapAll(view: VersionView, known: Map[String, MappedSegment], store: RemoteStore): LoadedVersion =
    try mapped(view, known)
    catch {
      case _: NoSuchFileException => // compacted away between the answer and the mapping
        val again = store.call[VersionView]("load", LoadRequest(store.number, view.key, None, Seq.empty))
        mapAll(again.get, known, store)
    }

  private def mapped(view: VersionView, known: Map[String, MappedSegment]): LoadedVersion = {
    val segments = view.segments.map { s =>
      known.get(s.id).filter(_.retain()).getOrElse(MappedSegment.open(s, spec.partitions))
    }
    new LoadedVersion(view.key, view.catalog, view.maxParallelism, segments.toArray)
  }

  /** Compact in the background, with an eye on space. */
  def startCompaction(): Unit = withStore(startCompaction(_, thorough = true))

  private def startCompaction(store: RemoteStore, thorough: Boolean): Unit =
    if (compacting.compareAndSet(false, true)) {
      compaction = Background.compact {
        try compact(store, thorough)
        catch {
          case NonFatal(error) =>
            if (store.isAlive && !synchronized(isClosed)) logWarning(s"compaction of ${spec.store} failed", error)
        }
        finally compacting.set(false)
      }
    }

  private def compact(store: RemoteStore, thorough: Boolean): Unit = Metrics.timed(t => compactionMillis.addAndGet(t)) {
    var more = true
    while (more) {
      val done = store.call[Compacted]("compact", CompactRequest(store.number, thorough))
      done.foreach { compacted =>
        replaceLatest(store, compacted.version)
        var success = false
        try {
          transfer.upload(compacted.upload.head, compacted.upload(1))
          success = true
        } finally store.call[Boolean]("uploaded", UploadedRequest(store.number, compacted.upload(1), success))
      }
      more = done.isDefined
    }
  }

  /** Read the same version from fewer segments, unless a later one has come meanwhile; that lists them itself. */
  private def replaceLatest(store: RemoteStore, view: VersionView): Unit = synchronized {
    if (!isClosed && latest != null && latest.key == view.key) adopt(store, view).release()
  }

  private def awaitCompactionIfBehind(segments: Int): Unit = {
    val running = compaction
    if (segments >= settings.maxSegments && running != null) running.get()
  }

  private def entered[T](body: => T): T = {
    enter()
    try body
    finally leave()
  }

  private def withStore(body: RemoteStore => Unit): Unit = {
    val store = synchronized(remote)
    if (store != null && store.isAlive) body(store)
  }

  private def ignoring(what: String)(body: => Unit): Unit =
    try body
    catch { case NonFatal(error) => logWarning(s"$what of ${spec.store} failed", error) }
}

private object StoreHost {
  /** The store's process may be dead, and so may the one that other stores have started since; the third is new. */
  val Attempts = 3
}

/** Times of one commit in ms, and what it did. */
final class CommitTimings {
  var load = 0L
  var apply = 0L
  var upload = 0L
  var total = 0L
  var uploadBytes = 0L
  /** Rows that were removed by their age. */
  var expired = 0L
}
