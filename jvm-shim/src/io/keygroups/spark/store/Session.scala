package io.keygroups.spark.store

import java.nio.file.Paths
import java.util.UUID
import java.util.concurrent.Future

import io.keygroups.spark.Failures
import io.keygroups.spark.memory.{Bytes, Reaper}
import io.keygroups.spark.segment.{Block, MappedSegment}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** What a session needs of its provider. */
trait SessionHost {
  def keyShape: KeyShape
  def valueFields: Int
  def overlayBytes: Long
  def expectedRows: Int
  /** Where a chunk may be written. */
  def chunkFolder: java.io.File
  /** Sort a chunk of a session that goes on, in the background. */
  def applyChunk(session: String, chunk: ChunkMessage): Future[MappedSegment]
}

/**
 * One open version of a store in one task: the base version's segments, and over them what the task has written.
 * From new to old: the active overlay, an overlay that is being sorted, segments of this session, segments of the base.
 */
final class Session(host: SessionHost, private var base: LoadedVersion, readOnly: Boolean) {
  val id: String = UUID.randomUUID().toString
  val shape: KeyShape = host.keyShape
  val keyFields: Int = shape.schema.length
  val valueFields: Int = host.valueFields
  private val probe = new KeyProbe(shape, base.maxParallelism)
  private val value = new ValueBytes
  private var active = if (readOnly) null else newOverlay(host.expectedRows)
  private var sorting: Overlay = _
  private var sorted: Future[MappedSegment] = _
  private var own = Array.empty[MappedSegment]
  private var retired = List.empty[Overlay]
  private var hasScans = false
  private var newKeys = 0L
  private var moves = 0
  @volatile private var closed = false

  /** Scans that began in another era read memory that may be gone. */
  def era: Int = moves

  def version: LoadedVersion = base
  def numKeys: Long = base.numKeys + newKeys
  def rowsWritten: Int = if (active == null) 0 else active.rows
  def overlayBytes: Long = (if (active == null) 0L else active.bytes) + (if (sorting == null) 0L else sorting.bytes)

  def get(key: UnsafeRow): UnsafeRow = {
    requireOpen()
    probe.set(key)
    val row = findWritten()
    if (row == 0) getSealed()
    else if (Overlay.isTombstone(row)) null
    else Bytes.row(valueFields, Overlay.valueAddress(row), Overlay.valueLength(row))
  }

  def exists(key: UnsafeRow): Boolean = {
    requireOpen()
    probe.set(key)
    val row = findWritten()
    if (row == 0) existsSealed() else !Overlay.isTombstone(row)
  }

  def put(key: UnsafeRow, row: UnsafeRow): Unit = {
    requireOpen()
    probe.set(key)
    val existing = active.find(probe.keyHash, probe.base, probe.offset, probe.length)
    val existed = if (existing == 0) existsBelowActive() else !Overlay.isTombstone(existing)
    active.write(existing, probe, value.set(row), !existed)
    if (!existed) newKeys += 1
    if (active.bytes > host.overlayBytes) sortActive()
  }

  def remove(key: UnsafeRow): Unit = {
    requireOpen()
    probe.set(key)
    val existing = active.find(probe.keyHash, probe.base, probe.offset, probe.length)
    val existed = if (existing == 0) existsBelowActive() else !Overlay.isTombstone(existing)
    if (existed) {
      active.write(existing, probe, value.tombstone(), isNew = false)
      newKeys -= 1
    }
  }

  /** All rows: those of this moment, though rows written while it goes on may show or not. */
  def scan(): Scan = {
    requireOpen()
    hasScans = true
    new Scan(this, overlays, segments, None, _ => true)
  }

  /** The rows whose keys begin with `prefix`. */
  def scanPrefix(prefix: UnsafeRow): Scan = {
    requireOpen()
    hasScans = true
    val filter = new KeyProbe(shape, base.maxParallelism)
    val wanted = filter.setPrefix(prefix)
    new Scan(this, overlays, segments, Some(filter.locator), filter.hasPrefix(_, wanted))
  }

  /** The last chunk of this session, once all earlier ones are sorted. */
  def seal(): ChunkMessage = {
    requireOpen()
    finishSorting()
    if (active.rows == 0) ChunkMessage("", 0, 0, 0) else active.writeTo(newChunk())
  }

  /** See the committed version from now on. The overlay has become one of its segments; scans of before end. */
  def moveTo(committed: LoadedVersion): Unit = {
    moves += 1
    releaseWrites()
    base.release()
    base = committed
    newKeys = 0
  }

  def isOpen: Boolean = !closed

  /** Let go of everything; of memory a while later, since another thread of the task may still be in the middle of a call. */
  def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      if (active != null) Reaper.later(releaseWrites())
      base.release()
    }
  }

  def requireOpen(): Unit =
    if (closed) throw new IllegalStateException(s"session $id of version ${base.key.version} is closed")

  private def findWritten(): Long = {
    var row = if (active == null) 0L else active.find(probe.keyHash, probe.base, probe.offset, probe.length)
    if (row == 0 && sorting != null) row = sorting.find(probe.keyHash, probe.base, probe.offset, probe.length)
    row
  }

  private def existsBelowActive(): Boolean = {
    val row = if (sorting == null) 0L else sorting.find(probe.keyHash, probe.base, probe.offset, probe.length)
    if (row == 0) existsSealed() else !Overlay.isTombstone(row)
  }

  private def getSealed(): UnsafeRow =
    if (!existsSealed()) null
    else Bytes.row(valueFields, foundBlock.valueAddress(foundRow), foundBlock.valueLength(foundRow))

  private def existsSealed(): Boolean =
    (locate(own) || locate(base.segments)) && !foundBlock.isTombstone(foundRow)

  private var foundBlock: Block = _
  private var foundRow = 0

  /** Find the newest row of the probed key in sealed segments. */
  private def locate(segments: Array[MappedSegment]): Boolean = {
    var i = 0
    while (i < segments.length) {
      val segment = segments(i)
      val at = segment.blockOf(probe.locator)
      if (at < segment.blocks.length) {
        val block = segment.blocks(at)
        val row = block.find(probe.locator, probe.base, probe.offset, probe.length)
        if (row >= 0) {
          foundBlock = block
          foundRow = row
          return true
        }
      }
      i += 1
    }
    false
  }

  private def overlays: Array[Overlay] = Array(active, sorting).filter(_ != null)
  private def segments: Array[MappedSegment] = own ++ base.segments

  private def newOverlay(rows: Int) = new Overlay(shape.prefixColumns > 0, rows)

  private def sortActive(): Unit = {
    finishSorting()
    val chunk = active.writeTo(newChunk())
    sorting = active
    sorted = host.applyChunk(id, chunk)
    active = newOverlay(chunk.rows)
  }

  private def finishSorting(): Unit = if (sorting != null) {
    own = Session.await(sorted) +: own
    if (hasScans) retired ::= sorting else sorting.release()
    sorting = null
  }

  private def newChunk() = Paths.get(host.chunkFolder.getPath, s"${UUID.randomUUID()}.chunk")

  private def releaseWrites(): Unit = {
    if (sorting != null) finishQuietly()
    if (active != null) active.release()
    active = null
    retired.foreach(_.release())
    retired = Nil
    own.foreach(_.release())
    own = Array.empty
  }

  /** An aborted session's chunk may still be on its way through the sort; its overlay is no longer needed. */
  private def finishQuietly(): Unit = {
    try own = Session.await(sorted) +: own
    catch { case scala.util.control.NonFatal(_) => () }
    sorting.release()
    sorting = null
  }
}

object Session {
  private def await(sorted: Future[MappedSegment]): MappedSegment =
    try sorted.get()
    catch {
      case error: java.util.concurrent.ExecutionException => throw error.getCause
      case error: InterruptedException => throw Failures.retry("the task was interrupted", error)
    }
}
