package io.keygroups.spark.session

import java.util.UUID
import java.util.concurrent.{CompletableFuture, ExecutionException}

import io.keygroups.spark.Failures
import io.keygroups.spark.bridge.{Catalog, ChunkMessage, FamilyMessage}
import io.keygroups.spark.memory.{Reaper, WriteMemory}
import io.keygroups.spark.segment.{MappedRun, MappedSegment}

/**
 * One open version of a store in one task: the base version's runs, and over them the writes of the task.
 *
 * @param expiry which rows have expired
 */
final class Session(host: SessionHost, private var base: LoadedVersion, val readOnly: Boolean, val expiry: Expiry) {
  val id: String = UUID.randomUUID().toString
  /** Owns what the session writes to disk. */
  val files = new SessionFiles(() => host.chunkFolder)
  private var opened = Map.empty[String, FamilySession]
  private var present = base.catalog.families.map(f => f.name -> f).toMap
  private var next = base.catalog.next_family
  /** Removed families, which may be scanned until the commit. */
  private var dropped = List.empty[FamilySession]
  /** The sort under way: of the overlays that the families have as `sorting`. */
  @volatile private var sorted: CompletableFuture[MappedSegment] = _
  private var own = Array.empty[MappedSegment]
  /** Uploads of sorted segments, by their ids. */
  @volatile private var saving = Map.empty[String, CompletableFuture[Long]]
  private var commitCount = 0
  /** Bytes in the active overlays and changelogs of all families. */
  private var activeBytes = 0L
  private var isWriter = false
  @volatile private var closed = false

  /** How often the session has committed: scans of before read memory that may be free. */
  def commits: Int = commitCount
  def version: LoadedVersion = base
  /** Whether the change feed shows each write rather than each key. */
  def feedsWrites: Boolean = host.feedsWrites
  def overlayBytes: Long = opened.valuesIterator.map(_.bytes).sum

  /** The families and keys of the base version, changed by what this session did. */
  def catalog: Catalog = Catalog(present.values.toSeq.sortBy(_.id).map { family =>
    family.copy(keys = family.keys + opened.get(family.name).fold(0L)(_.netNewKeys))
  }, next)

  /** Rows written to each family by its number. */
  def rowsWritten: Map[Int, Int] = opened.valuesIterator.map(f => f.family.id -> f.rowsWritten).toMap

  def find(name: String): Option[FamilySession] = opened.get(name)

  /** Whether the version has a family of that name. */
  def has(name: String): Boolean = present.contains(name)

  /**
   * See a family; one that the version does not have is created.
   *
   * @param numbered the family with the number it is given
   */
  def open(name: String, numbered: Int => Family): FamilySession = {
    val known = present.get(name)
    val isWorkers = Family.isOfWorker(name) || present.keysIterator.exists(Family.isOfWorker)
    val declared = numbered(known.fold(next)(_.id))
    val family = if (isWorkers) declared.plain else declared
    // Nothing is read of a family without rows: Spark's state reader opens the default one with another family's schemas.
    known.filter(hasRows).foreach(StoredForm.requireReadable(_, family))
    if (known.isEmpty && !readOnly) next += 1
    if (known.isDefined || !readOnly) present = present.updated(name, family.message.copy(keys = known.fold(0L)(_.keys)))
    val changelog = if (host.feedsWrites && !readOnly) new Changelog(family.id) else null
    val session = new FamilySession(this, family, base.maxParallelism, host.expectedRows(family.id), changelog)
    session.see(ownRuns, base.runs)
    opened = opened.updated(name, session)
    session
  }

  private def hasRows(known: FamilyMessage): Boolean = (ownRuns ++ base.runs).exists(_.part(known.id).isDefined)

  /** What the session has sorted, newest first. */
  private def ownRuns: Array[MappedRun] = own.map(MappedRun.of)

  /** Remove a family with all its rows. */
  def drop(name: String): Unit = {
    dropped ++= opened.get(name).toList
    opened -= name
    present -= name
  }

  /** Remove a share of the expired rows; returns how many. */
  def expire(): Long = opened.valuesIterator.map { session =>
    val id = session.family.id
    val share = Session.share(present(session.family.name).keys, session.allRowsWritten)
    val (next, removed) = session.expire(host.expiryCursor(id), share)
    host.setExpiryCursor(id, next)
    removed
  }.sum

  /** Called after each write, with the bytes by which an overlay has grown. */
  private[session] def afterWrite(bytes: Long): Unit = {
    activeBytes += bytes
    if (!isWriter) beginWriting()
    if (activeBytes > host.overlayBytes || WriteMemory.isExcess(activeBytes, host.writeMemory)) spill()
  }

  private def beginWriting(): Unit = synchronized {
    if (!closed) {
      isWriter = true
      WriteMemory.enter()
    }
  }

  private def endWriting(): Unit = if (isWriter) {
    isWriter = false
    WriteMemory.leave()
  }

  /** The last chunks of this session, once all earlier ones are sorted. */
  def seal(): Seq[ChunkMessage] = {
    finishSorting()
    whileOpen(opened.valuesIterator.flatMap(family => family.takenChunk ++ family.writeChunk(files)).toSeq)
  }

  /** Sort files of writes that were taken, whose keys later files may have again. */
  def sortTaken(chunks: Seq[ChunkMessage]): Unit = {
    finishSorting()
    whileOpen { sorted = host.sortChunks(this, chunks) }
    finishSorting()
  }

  /** The segments that the store process has sorted for this session, newest first. */
  def sortedSegments: Seq[MappedSegment] = own.toSeq

  /** Those of them that are uploaded, with their bytes; waits for uploads under way. */
  def savedSegments: Map[String, Long] =
    saving.map { case (id, upload) => id -> Session.await(upload) }.filter(_._2 > 0)

  /** All writes of this session in the order of the calls, where the change feed shows them. */
  def sealChangelogs(): Seq[ChunkMessage] = whileOpen(opened.valuesIterator.flatMap(_.sealChangelog(files)).toSeq)

  /** See the committed version from now on: it holds what the overlays held. */
  def moveTo(committed: LoadedVersion): Unit = synchronized {
    requireOpenFor(committed)
    commitCount += 1
    endWriting()
    releaseOwn()
    opened.valuesIterator.foreach(_.forgetWrites())
    releaseDropped()
    base.release()
    base = committed
    present = base.catalog.families.map(f => f.name -> f).toMap
    seeSegments()
  }

  /** See the base version through other files of it. Nothing has been written yet. */
  def rebase(loaded: LoadedVersion): Unit = synchronized {
    requireOpenFor(loaded)
    base.release()
    base = loaded
    seeSegments()
  }

  def isOpen: Boolean = !closed

  /**
   * Release everything that the session holds: files as soon as no sort reads them, memory a while later, since another thread
   * of the task may be in the middle of a call.
   */
  def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      endWriting()
      base.release()
      afterWork {
        try files.deleteAll()
        finally if (mayHoldMemory) Reaper.later(releaseMemory())
      }
    }
  }

  /** Run an action when neither a sort nor an upload is under way: now, or in the thread that ends the last of them. */
  def afterWork(action: => Unit): Unit = {
    val running = Option(sorted).toSeq ++ saving.values
    if (running.isEmpty) action
    else {
      CompletableFuture.allOf(running: _*).whenComplete((_, _) => action)
      ()
    }
  }

  def requireOpen(): Unit =
    if (closed) throw new IllegalStateException(s"session $id of version ${base.key.version} is closed")

  /** A version that comes when the session has ended is released. */
  private def requireOpenFor(version: LoadedVersion): Unit = {
    if (closed) version.release()
    requireOpen()
  }

  /** Do something before the memory of the overlays may go: `close`, which another thread may call, waits for it. */
  private def whileOpen[T](body: => T): T = synchronized {
    requireOpen()
    body
  }

  /** Before its commit, a writer may: if it holds none now, a write that has begun in another thread may take some yet. */
  private def mayHoldMemory: Boolean = !readOnly && commitCount == 0

  /** Move the overlays to disk. If that fails, they stay as they are: the next write tries again. */
  private def spill(): Unit = {
    finishSorting() // without the lock: `close` does not wait for the sort, nor for the mapping of its segment
    whileOpen(startSpill())
  }

  private def startSpill(): Unit = {
    opened.valuesIterator.foreach(_.spillChangelog(files))
    val chunks = opened.valuesIterator.flatMap(_.writeChunk(files)).toSeq
    sorted = host.sortChunks(this, chunks)
    opened.valuesIterator.foreach(_.startSorting())
    activeBytes = 0
  }

  /** Wait for the sort under way, and see its segment. None begins after `close`, which waits for the end of the last one. */
  def finishSorting(): Unit = {
    requireOpen()
    if (sorted != null) {
      val segment = Session.await(sorted)
      own = segment +: own
      sorted = null
      seeSegments()
      opened.valuesIterator.foreach(_.dropSorting())
      saving += segment.view.id -> host.saveSegment(this, segment.view)
    }
  }

  private def seeSegments(): Unit = {
    val visible = ownRuns
    opened.valuesIterator.foreach(_.see(visible, base.runs))
  }

  private def releaseMemory(): Unit = {
    if (sorted != null && !sorted.isCompletedExceptionally) own = sorted.join() +: own
    releaseOwn()
    opened.valuesIterator.foreach(_.release())
    releaseDropped()
  }

  private def releaseDropped(): Unit = {
    dropped.foreach(_.release())
    dropped = Nil
  }

  private def releaseOwn(): Unit = {
    sorted = null
    saving = Map.empty
    own.foreach(_.release())
    own = Array.empty
  }
}

object Session {
  /**
   * Rows to look at for expired ones in one batch: 4 for each that it wrote, so that all are looked at before a quarter as many
   * rows again have come, but no more than 1 in 64; and small states at once. A row takes 0.1 to 0.3 us.
   */
  private def share(keys: Long, written: Long): Int = math.max(16384L, math.min(keys / 64, 4 * written)).toInt

  private def await[T](work: CompletableFuture[T]): T =
    try work.get()
    catch {
      case error: ExecutionException => throw error.getCause
      case error: InterruptedException => throw Failures.interrupted(error)
    }
}
