package io.keygroups.spark.versions

import java.io.File
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicLong

import io.keygroups.spark.{Failures, Metrics}
import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import io.keygroups.spark.segment.SegmentView
import org.apache.spark.internal.Logging

/**
 * Compacts a store, a piece at a time, on the threads of `MergePools`: the store process merges, this uploads. Batches that are
 * committed during a piece make new runs; small merges of these go on beside it. Without them, commits of 10,000 rows, one
 * after another, met `maxSegments` in each piece and waited 0.2 to 0.4 s for its end.
 *
 * @param maxSegments with runs of that many batches a commit waits for the compaction under way
 * @param keepOpen runs an action during which the store stays open
 * @param isWanted whether the store is not to be closed
 */
private[spark] final class Compactor(store: OpenStore, name: String, files: CheckpointFiles, maxSegments: Int,
    keepOpen: (() => Unit) => Unit, isWanted: () => Boolean) extends Logging {
  val millis = new AtomicLong()

  // Guarded by this object, which is notified when a piece is merged and when its upload has ended.
  /** Pieces that are merged, wait for that, or are uploaded. */
  private var pieces = 0
  private val any = new Lane(MergePools.merges)
  private val newest = new Lane(MergePools.newest)
  private var current: RemoteStore = _
  /** Whether the next piece is to save space too. */
  private var isThorough = false
  /** Calls of `compact` that wait for their end: all pieces are to save space. */
  private var compacting = 0
  @volatile private var waitingCommits = 0
  /** Of Spark's maintenance, which deletes old files after that; it has one thread for four processors. */
  private val patienceSeconds = 300L
  private val mostRuns = Compactor.FarBehind * maxSegments
  /** Why the compaction under way or the last one has failed. */
  private var failure: Option[Throwable] = None

  /** One piece at a time is merged in each: in one any, in the other small merges of the newest runs beside it. */
  private final class Lane(val pool: MergePool) {
    /** Whether a piece is merged, or waits for that. */
    var isMerging = false
    /** Whether there may be more to merge than when its last piece began. */
    var isAsked = false
  }

  /** Compact in the background; beside a piece that is merged, the newest runs. */
  def start(remote: RemoteStore, thorough: Boolean): Unit = synchronized {
    if (thorough) isThorough = true
    ask(remote)
  }

  /**
   * Compact until there is nothing to do, the store is closed, or `patienceSeconds` are over: batches may write as fast as this
   * merges. What is under way goes on. Throws what makes it fail.
   */
  def compact(remote: RemoteStore, thorough: Boolean): Unit = synchronized {
    val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(patienceSeconds)
    compacting += 1
    try {
      if (thorough) isThorough = true
      awaitWhile(pieces > 0, end)
      ask(remote)
      awaitWhile(pieces > 0, end)
    } finally {
      compacting -= 1
      if (compacting == 0) isThorough = false
    }
    failure.filter(_ => isWanted()).foreach(throw _)
  }

  /**
   * Wait until the latest version has fewer runs, or no compaction is under way. If there are far too many runs, one is tried
   * now, and if it fails, so does the commit: what keeps failing does not grow without an end.
   */
  def awaitIfBehind(remote: RemoteStore): Unit = synchronized {
    waitingCommits += 1
    try {
      if (isFarBehind || pieces > 0 && isBehind) ask(remote)
      awaitWhile(pieces > 0 && isBehind)
    } finally waitingCommits -= 1
    if (isFarBehind) failure.foreach { cause => throw Failures.behind(files.folder.toString, mostRuns, runs, cause) }
  }

  /**
   * Runs of one batch count as one: four batches of five memtables are merged together, and a commit that waited at 16 runs
   * waited for the end of that, 13 to 18 s.
   */
  private def isBehind: Boolean = store.latest.fold(0)(_.batches) >= maxSegments || isFarBehind

  private def isFarBehind: Boolean = runs >= mostRuns

  private def runs: Int = store.latest.fold(0)(_.runs.length)

  /** @param end by `System.nanoTime`, whose origin is any: for ever is half of what there is */
  private def awaitWhile(condition: => Boolean, end: Long = System.nanoTime() + (Long.MaxValue >> 1)): Unit =
    try {
      var left = 1L
      while (condition && left > 0) {
        left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())
        if (left > 0) wait(left)
      }
    } catch { case error: InterruptedException => throw Failures.interrupted(error) }

  /** There may be more to merge. */
  private def ask(remote: RemoteStore): Unit = synchronized {
    current = remote
    any.isAsked = true
    newest.isAsked = true
    if (pieces == 0) failure = None
    goOn()
  }

  /** Have the next piece merged, when it is this store's turn; while one is merged, the newest runs. */
  private def goOn(): Unit = {
    val lane = if (any.isMerging) newest else any
    if (!lane.isMerging && failure.isEmpty) {
      lane.isMerging = true
      pieces += 1
      val remote = current
      lane.pool.submit(turn(step(remote, lane)))
    }
  }

  /** Merge one piece; the next is merged beside its upload. */
  private def step(remote: RemoteStore, lane: Lane): Unit = {
    val request = synchronized {
      lane.isAsked = false
      requestOf(remote, lane)
    }
    var piece = Option.empty[SegmentView]
    var installed = Option.empty[Installed]
    attempt(remote) {
      Metrics.timed(t => millis.addAndGet(t)) {
        piece = store.inBackground(isUrgent = false)(remote.call[SegmentView]("compact", request, isWanted))
        installed = piece.flatMap(install(remote, _))
      }
    }
    synchronized {
      lane.isMerging = false
      notifyAll()
      if (installed.isDefined || lane.isAsked) goOn()
    }
    def end(): Unit = this.end(lane, piece)
    installed.flatMap(_.upload) match {
      case Some(upload) => MergePools.uploads.submit(turn {
        uploadPiece(remote, upload)
        end()
      })
      case None => end()
    }
  }

  private def requestOf(remote: RemoteStore, lane: Lane): CompactRequest =
    if (lane eq newest) CompactRequest(remote.number, thorough = false, newest = true)
    else {
      val thorough = isThorough
      isThorough = compacting > 0
      CompactRequest(remote.number, thorough, newest = false)
    }

  /** Map a piece, and then have versions read it: a commit that has to map it waits 40 to 80 ms for the index of 128 MB. */
  private def install(remote: RemoteStore, piece: SegmentView): Option[Installed] = {
    try store.hold(piece)
    catch {
      case error: Throwable =>
        store.ignoring("abandon")(remote.call[Boolean]("abandon", AbandonRequest(remote.number, piece.id)))
        throw error
    }
    store.withKnown { known =>
      val request = InstallRequest(remote.number, piece.id, known.ids)
      val done = store.inBackground(isUrgent = waitingCommits > 0)(remote.call[Installed]("install", request, isWanted))
      done.foreach { installed =>
        try store.replaceLatest(remote, installed.version, known)
        catch {
          case error: Throwable =>
            installed.upload.foreach(abandonUpload(remote, _))
            throw error
        }
      }
      done
    }
  }

  /** Upload a piece. Runs with its rows may be merged again then. */
  private def uploadPiece(remote: RemoteStore, upload: Seq[String]): Unit =
    attempt(remote) {
      try files.upload(upload.head, upload(1))
      catch {
        case error: Throwable =>
          abandonUpload(remote, upload)
          throw error
      }
      val wasInTime = remote.call[Boolean]("uploaded", UploadedRequest(remote.number, upload(1), success = true))
      if (wasInTime.contains(false)) throw Failures.slowUpload(s"${files.folder}/${upload(1)}")
      ask(remote)
    }

  private def abandonUpload(remote: RemoteStore, upload: Seq[String]): Unit = {
    new File(upload.head).delete()
    store.ignoring("uploaded")(
      remote.call[Boolean]("uploaded", UploadedRequest(remote.number, upload(1), success = false)))
  }

  /** Do something while the store is open; if it is closed, nothing. A failure ends the compaction. */
  private def attempt(remote: RemoteStore)(body: => Unit): Unit =
    try keepOpen { () => if (isWanted() && store.opened.contains(remote)) body }
    catch {
      case error: Throwable => // whoever waits for the end of the compaction has to hear of it
        synchronized { failure = failure.orElse(Some(error)) }
        if (isWanted() && store.opened.contains(remote)) logWarning(s"compaction of $name failed", error)
    }

  private def end(lane: Lane, piece: Option[SegmentView]): Unit = {
    piece.foreach(p => store.letGo(p.id))
    lane.pool.leave()
    synchronized {
      pieces -= 1
      notifyAll()
    }
  }

  private def turn(body: => Unit): Turn = new Turn {
    override def isUrgent: Boolean = waitingCommits > 0 // an old value costs a turn
    override def run(): Unit = body
  }
}

private object Compactor {
  /** Times `maxSegments`: at that many runs each commit waits, and fails if they cannot be merged. */
  val FarBehind = 4
}
