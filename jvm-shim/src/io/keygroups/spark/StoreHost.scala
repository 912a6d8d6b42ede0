package io.keygroups.spark

import java.nio.file.Path
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap}

import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.segment.{MappedSegment, SegmentView}
import io.keygroups.spark.session._
import io.keygroups.spark.versions._

/**
 * A provider's side of the bridge, and how long it stays open: versions are loaded, committed, compacted and cleaned up
 * through it. Several tasks and maintenance may call it at once.
 *
 * @param versionsToRetain Spark's minBatchesToRetain
 */
final class StoreHost(settings: Settings, spec: StoreSpec, files: CheckpointFiles, versionsToRetain: Int)
  extends SessionHost {
  private val store = new OpenStore(settings, spec, files)
  private val loader = new VersionLoader(store, spec, files)
  private val compactor = new Compactor(store, spec.store, files, settings.maxSegments, body => entered(body()), () => !isClosed)
  private val committer = new Committer(store, files, compactor)
  private val expiryCursors = new ConcurrentHashMap[Int, Long]()
  @volatile private var isClosed = false
  /** Loads under way, and sessions that may still write. */
  private var users = 0

  def calls: Long = store.calls
  /** Milliseconds of compaction since the last call. */
  def takeCompactionMillis(): Long = compactor.millis.getAndSet(0)
  /** Number of the latest version that this provider knows. */
  def latestVersion: Option[Long] = store.latest.map(_.key.version)

  override def overlayBytes: Long = settings.overlayBytes
  override def writeMemory: Long = settings.memoryBudget.forWrites
  override def feedsWrites: Boolean = settings.feedsWrites
  override def expectedRows(family: Int): Int = committer.expectedRows(family)
  override def expiryCursor(family: Int): Long = expiryCursors.getOrDefault(family, 0L)
  override def setExpiryCursor(family: Int, locator: Long): Unit = expiryCursors.put(family, locator)
  override def chunkFolder: Path = store.open().folder.toPath

  override def sortChunks(session: Session, chunks: Seq[ChunkMessage]): CompletableFuture[MappedSegment] = {
    val remote = store.open()
    val request = SpillRequest(remote.number, session.id, chunks, session.catalog, session.expiry.now)
    ThreadPools.sort {
      try store.openSegment(store.sorting(chunks)(remote.call[SegmentView]("spill", request, () => session.isOpen).get))
      finally session.files.delete(chunks)
    }
  }

  override def saveSegment(session: Session, segment: SegmentView): CompletableFuture[Long] =
    if (segment.bytes < settings.overlayBytes / StoreHost.MemtableParts) CompletableFuture.completedFuture(0L)
    else {
      val base = session.version
      ThreadPools.upload(if (session.isOpen) committer.save(session, segment.id, base) else 0L)
    }

  /** See `VersionLoader`. */
  def load(version: Long, checkpointId: Option[String]): LoadedVersion = entered(loader.load(version, checkpointId))

  /** See `VersionLoader`. */
  def reload(version: Long, checkpointId: Option[String]): LoadedVersion = entered(loader.reload(version, checkpointId))

  /** See `VersionLoader`. */
  def empty(version: Long): LoadedVersion = entered(loader.empty(version))

  /** See `VersionLoader`. */
  def changes(start: Long, end: Long, checkpointId: Option[String], writes: Boolean): Seq[LoadedVersion] =
    entered(loader.changes(start, end, checkpointId, writes))

  /** See `Committer`. */
  def commit(session: Session, timings: CommitTimings): LoadedVersion = committer.commit(session, timings)

  /** Drop a session that does not commit, and leave. If it has work under way, that waits for its end: not this thread. */
  def abort(session: Session): Unit = session.afterWork {
    try committer.abort(session)
    finally leave()
  }

  /** Compact in the background, also to save space. */
  def startCompaction(): Unit = store.opened.foreach(compactor.start(_, thorough = true))

  /** Compact also to save space, and upload what is still to be uploaded. */
  def compactThoroughly(): Unit = store.opened.foreach(compactor.compact(_, thorough = true))

  /** Delete files that no retained version needs. */
  def cleanUp(): Unit = entered(store.opened.foreach { remote =>
    val names = remote.callWithFiles[Seq[String]]("deletable")(DeletableRequest(remote.number, versionsToRetain, _))
    files.delete(names.getOrElse(Seq.empty))
  })

  /**
   * Keep the store open until `leave`. Spark 4.2 closes a provider beside a task that still uses it (unloadOnCommit, whose
   * close may come in the next batch, and a store that moves to another executor): the task can finish.
   */
  def enter(): Unit = synchronized(users += 1)

  def leave(): Unit = {
    val isLast = synchronized {
      users -= 1
      users == 0 && isClosed
    }
    if (isLast) store.close()
  }

  /** Close the store when its last user has left. A merge under way is cancelled. */
  def close(): Unit = {
    val unused = synchronized {
      isClosed = true
      users == 0
    }
    if (unused) store.close()
  }

  private def entered[T](body: => T): T = {
    enter()
    try body
    finally leave()
  }
}

private object StoreHost {
  /** See MEMTABLE_PARTS in keygroups.store.store: of a smaller segment the store process writes no file, and a call waits for its turn. */
  val MemtableParts = 16
}
