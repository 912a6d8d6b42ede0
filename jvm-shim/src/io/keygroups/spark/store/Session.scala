package io.keygroups.spark.store

import java.nio.file.Path
import java.util.UUID
import java.util.concurrent.Future

import io.keygroups.spark.Failures
import io.keygroups.spark.bridge.{Catalog, ChunkMessage, FamilyMessage}
import io.keygroups.spark.memory.Reaper
import io.keygroups.spark.segment.MappedSegment

/** What a session needs of its provider. */
trait SessionHost {
  def overlayBytes: Long
  /** Rows that the last batch wrote to a family. */
  def expectedRows(family: Int): Int
  /** Where the search for expired rows of a family goes on: a locator. */
  def expiryCursor(family: Int): Long
  def setExpiryCursor(family: Int, locator: Long): Unit
  /** Where chunks may be written. */
  def chunkFolder: Path
  /** Whether the change feed shows each write rather than each key. */
  def feedsWrites: Boolean
  /** Sort chunks of a session that goes on, in the background. */
  def applyChunks(session: Session, chunks: Seq[ChunkMessage]): Future[MappedSegment]
}

/**
 * One open version of a store in one task: the base version's segments, and over them what the task has written.
 *
 * @param expiry which rows are gone by their age
 */
final class Session(host: SessionHost, private var base: LoadedVersion, val readOnly: Boolean, val expiry: Expiry) {
  val id: String = UUID.randomUUID().toString
  private var opened = Map.empty[String, FamilySession]
  private var present = base.catalog.families.map(f => f.name -> f).toMap
  private var next = base.catalog.next_family
  /** Removed families, whose scans may go on until the commit. */
  private var dropped = List.empty[FamilySession]
  private var sorted: Future[MappedSegment] = _
  private var own = Array.empty[MappedSegment]
  private var moves = 0
  /** Bytes in the active overlays of all families. */
  private var activeBytes = 0L
  @volatile private var closed = false

  /** Scans that began in another era read memory that may be gone. */
  def era: Int = moves

  def version: LoadedVersion = base
  def overlayBytes: Long = opened.valuesIterator.map(_.bytes).sum

  /** The families and keys of the base version, changed by what this session did. */
  def catalog: Catalog = Catalog(present.values.toSeq.sortBy(_.id).map { family =>
    family.copy(keys = family.keys + opened.get(family.name).fold(0L)(_.addedKeys))
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
    val family = numbered(known.fold(next)(_.id))
    // Of a family without rows nothing is read: Spark's state reader opens the default one with another family's schemas.
    known.filter(hasRows).foreach(StoredForm.requireSame(_, family))
    if (known.isEmpty && !readOnly) next += 1
    if (known.isDefined || !readOnly) present = present.updated(name, family.message.copy(keys = known.fold(0L)(_.keys)))
    val changelog = if (host.feedsWrites && !readOnly) new Changelog(family.id) else null
    val session = new FamilySession(this, family, base.maxParallelism, host.expectedRows(family.id), changelog)
    session.see(own ++ base.segments)
    opened = opened.updated(name, session)
    session
  }

  private def hasRows(known: FamilyMessage): Boolean = (own ++ base.segments).exists(_.part(known.id).isDefined)

  /** Remove a family with all its rows. */
  def drop(name: String): Unit = {
    dropped ++= opened.get(name).toList
    opened -= name
    present -= name
  }

  /** Remove a share of the expired rows; how many. All rows have had their turn after some 64 batches. */
  def expire(): Long = opened.valuesIterator.map { session =>
    val id = session.family.id
    val (next, removed) = session.expire(host.expiryCursor(id), Session.share(present(session.family.name).keys))
    host.setExpiryCursor(id, next)
    removed
  }.sum

  /** Called after each write, with the bytes by which an overlay has grown. */
  private[store] def afterWrite(bytes: Long): Unit = {
    activeBytes += bytes
    if (activeBytes > host.overlayBytes) sortActive()
  }

  /** The last chunks of this session, once all earlier ones are sorted. */
  def seal(): Seq[ChunkMessage] = {
    requireOpen()
    finishSorting()
    opened.valuesIterator.flatMap(_.seal(host.chunkFolder)).toSeq
  }

  /** All writes of this session in the order of the calls, where the change feed shows them. */
  def sealChangelogs(): Seq[ChunkMessage] = opened.valuesIterator.flatMap(_.sealChangelog(host.chunkFolder)).toSeq

  /** See the committed version from now on. The overlays have become one of its segments; scans of before end. */
  def moveTo(committed: LoadedVersion): Unit = {
    moves += 1
    releaseOwn()
    opened.valuesIterator.foreach(_.forgetWrites())
    releaseDropped()
    base.release()
    base = committed
    present = base.catalog.families.map(f => f.name -> f).toMap
    seeSegments()
  }

  def isOpen: Boolean = !closed

  /** Let go of everything; of memory a while later, since another thread of the task may still be in the middle of a call. */
  def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      if (holdsMemory) {
        Reaper.later {
          releaseOwn()
          opened.valuesIterator.foreach(_.release())
          releaseDropped()
        }
      }
      base.release()
    }
  }

  def requireOpen(): Unit =
    if (closed) throw new IllegalStateException(s"session $id of version ${base.key.version} is closed")

  private def holdsMemory: Boolean =
    sorted != null || own.nonEmpty || dropped.nonEmpty || opened.valuesIterator.exists(_.holdsMemory)

  private def sortActive(): Unit = {
    finishSorting()
    activeBytes = 0
    opened.valuesIterator.foreach(_.spillChangelog(host.chunkFolder))
    val chunks = opened.valuesIterator.flatMap(_.startSorting(host.chunkFolder)).toSeq
    sorted = host.applyChunks(this, chunks)
  }

  private def finishSorting(): Unit = if (sorted != null) {
    own = Session.await(sorted) +: own
    sorted = null
    opened.valuesIterator.foreach(_.dropSorting())
    seeSegments()
  }

  private def seeSegments(): Unit = {
    val segments = own ++ base.segments
    opened.valuesIterator.foreach(_.see(segments))
  }

  private def releaseDropped(): Unit = {
    dropped.foreach(_.release())
    dropped = Nil
  }

  /** A closed session's chunks may still be on their way through the sort; its overlays are no longer needed. */
  private def releaseOwn(): Unit = {
    if (sorted != null) {
      try own = Session.await(sorted) +: own
      catch { case scala.util.control.NonFatal(_) => () }
      sorted = null
    }
    own.foreach(_.release())
    own = Array.empty
  }
}

object Session {
  /** Rows to look at for expired ones in one batch: 1 in 64 rows, and small states at once (a row takes 0.1 to 0.3 us). */
  private def share(keys: Long): Int = math.max(16384L, keys / 64).toInt

  private def await(sorted: Future[MappedSegment]): MappedSegment =
    try sorted.get()
    catch {
      case error: java.util.concurrent.ExecutionException => throw error.getCause
      case error: InterruptedException => throw Failures.retry("the task was interrupted", error)
    }
}
