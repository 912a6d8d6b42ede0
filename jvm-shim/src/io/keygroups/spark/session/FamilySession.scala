package io.keygroups.spark.session

import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.keys.{KeyOrder, KeyProbe}
import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.{FileReads, MappedRun}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/**
 * What a session sees of one family. From new to old: the active overlay, an overlay that is being sorted, segments of the
 * session, runs of the base version.
 *
 * @param maxParallelism G
 * @param changelog keeps each write for the change feed, null if that shows keys
 */
final class FamilySession(private[session] val session: Session, val family: Family, maxParallelism: Int, expectedRows: Int,
    changelog: Changelog) extends FamilyScans {
  private var usedProbe: KeyProbe = _
  private val value = new ValueBytes
  private var keyChange = 0L
  private var taken = Option.empty[ChunkMessage]
  /** Spark's own books of an operator have to be whole: they do not expire. */
  private[session] val horizon = if (family.isInternal) 0L else session.expiry.horizon
  private[session] val overlays = new FamilyOverlays(family, expectedRows)
  private[session] val sealedRows = new SealedRows(horizon)
  /** Whether the key that a write found below the active overlay has expired. */
  private var belowExpired = false

  /** Made at the first use: its generated code costs a millisecond, and a batch uses few of many families. */
  private[session] def probe: KeyProbe = {
    if (usedProbe == null) usedProbe = KeyProbe(family.shape, maxParallelism)
    usedProbe
  }

  /** Keys that the session added, less the keys that it removed. */
  def netNewKeys: Long = keyChange
  def bytes: Long = overlays.bytes
  /** Since the last ones were sorted. */
  def rowsWritten: Int = overlays.activeRows
  def allRowsWritten: Long = overlays.rows
  def hasPrefixScan: Boolean = family.shape.order != KeyOrder.Hashed
  def hasRangeScan: Boolean = family.shape.order match {
    case KeyOrder.Ordered(_) | KeyOrder.Timed => true
    case _ => false
  }

  /** The value of a key, null if it has none; of a list the first. */
  def get(key: UnsafeRow): UnsafeRow = if (family.hasLists) list(key).nextOption().orNull else getSingle(key)

  private def getSingle(key: UnsafeRow): UnsafeRow = {
    session.requireOpen()
    probe.set(key)
    val row = overlays.find(probe)
    if (row == 0) sealedRows.get(probe, family.values)
    else if (OverlayRow.isTombstone(row)) null
    else family.values.read(OverlayRow.valueAddress(row), OverlayRow.valueLength(row))
  }

  /** All values of a key of a family with lists. */
  def list(key: UnsafeRow): ValueList = {
    session.requireOpen()
    probe.set(key)
    new ValueList(family.values, gather(probe.keyHash, probe.locator, probe.base, probe.offset, probe.length))
  }

  /** Whether a lookup may have to read a file. */
  def readsFiles: Boolean = sealedRows.haveValuesInFiles

  /** Add what a lookup of the key would read from a file. */
  def readLater(key: UnsafeRow, reads: FileReads): Unit = {
    session.requireOpen()
    probe.set(key)
    if (overlays.find(probe) == 0) sealedRows.readLater(probe, reads)
  }

  def exists(key: UnsafeRow): Boolean = {
    session.requireOpen()
    probe.set(key)
    val row = overlays.find(probe)
    if (row == 0) sealedRows.isVisible(probe) else !OverlayRow.isTombstone(row)
  }

  def put(key: UnsafeRow, row: UnsafeRow): Unit =
    write(key, if (family.hasLists) listOf(Array(row)) else family.values.write(row, value), append = false)
  def putList(key: UnsafeRow, rows: Array[UnsafeRow]): Unit = write(key, listOf(rows), append = false)
  def appendList(key: UnsafeRow, rows: Array[UnsafeRow]): Unit = write(key, listOf(rows), append = true)

  private def listOf(rows: Array[UnsafeRow]): ValueBytes = value.setList(rows, family.values)

  private def write(key: UnsafeRow, value: ValueBytes, append: Boolean): Unit = {
    session.requireOpen()
    value.requireStorable()
    probe.set(key)
    val overlay = overlays.writable()
    val bytesBefore = overlay.bytes
    val existing = overlay.find(probe)
    val existed = if (existing == 0) existsBelowActive() else !OverlayRow.isTombstone(existing)
    val isVisible = existed && !(existing == 0 && belowExpired)
    if (append) overlay.append(existing, probe, value, isVisible, !existed) else overlay.write(existing, probe, value, !existed)
    if (!existed) keyChange += 1
    session.afterWrite(overlay.bytes - bytesBefore + log(value, append && (isVisible || !existed)))
  }

  def remove(key: UnsafeRow): Unit = {
    session.requireOpen()
    probe.set(key)
    val overlay = overlays.writable()
    val existing = overlay.find(probe)
    val existed = if (existing == 0) existsBelowActive() else !OverlayRow.isTombstone(existing)
    if (existed) {
      val bytesBefore = overlay.bytes
      overlay.write(existing, probe, value.tombstone(), isNew = false)
      keyChange -= 1
      session.afterWrite(overlay.bytes - bytesBefore + log(value, isAppended = false))
    }
  }

  /** Add a write of the probe's key to the changelog; returns the bytes that it takes. */
  private def log(value: ValueBytes, isAppended: Boolean): Int =
    if (changelog == null) 0 else changelog.add(probe, value, isAppended)

  /**
   * Remove expired keys among some of the sealed rows.
   *
   * @param from only rows from this locator on
   * @param limit about how many rows to look at
   * @return the locator where the next search continues, 0 at the end of all rows; and how many rows were removed
   */
  def expire(from: Long, limit: Int): (Long, Long) =
    if (horizon == 0) (0L, 0L)
    else {
      val rows = new SegmentMerge(sealedRows.parts, MergeStart(Some(from)), Long.MaxValue, horizon)
      var seen = 0
      var removed = 0L
      var last = from
      while (rows.next()) {
        if (seen >= limit && rows.locator != last) return (rows.locator, removed)
        last = rows.locator
        seen += 1
        if (seen % StoredRows.SkippedPerCheck == 0) session.requireOpen()
        if (!rows.isTombstone && rows.isExpired && removeIfOld(rows)) removed += 1
      }
      (0L, removed)
    }

  private def removeIfOld(rows: SegmentMerge): Boolean = {
    val bytes = new Array[Byte](rows.keyLength)
    Bytes.copy(null, rows.keyAddress, bytes, Platform.BYTE_ARRAY_OFFSET, rows.keyLength)
    val key = keyRow(bytes, Platform.BYTE_ARRAY_OFFSET, rows.keyLength)
    probe.set(key)
    // A removal may have moved a fresh row from a buffer to a segment that the search does not read.
    val isOld = overlays.find(probe) == 0 && sealedRows.contains(probe) && sealedRows.foundExpired
    if (isOld) remove(key)
    isOld
  }

  /** A stored key as a row. */
  def keyRow(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow = probe.row(bytes, offset, length)

  /** See these runs, newest first: those that the session has sorted, and those of the version that it began with. */
  def see(own: Array[MappedRun], base: Array[MappedRun]): Unit =
    sealedRows.see(own.flatMap(_.part(family.id)), base.flatMap(_.part(family.id)))

  /** Write the active overlay to a file; None if nothing was written. */
  def writeChunk(files: SessionFiles): Option[ChunkMessage] = overlays.writeChunk(files)

  /** Have writes that came in a file, of a family to which nothing else is written. */
  def take(chunk: Option[ChunkMessage], newKeys: Long): Unit = {
    taken = chunk
    keyChange += newKeys
  }

  /** The file that was taken. */
  def takenChunk: Option[ChunkMessage] = taken

  /** The file is on its way to the store process, and the next write begins a new overlay. */
  def startSorting(): Unit = overlays.startSorting()

  /** The rows of that file are in a segment now, which the family sees. */
  def dropSorting(): Unit = overlays.dropSorting()

  /** Move the changelog from memory to a file. */
  def spillChangelog(files: SessionFiles): Unit = if (changelog != null) changelog.spill(files)

  /** All writes of this session, in files. */
  def sealChangelog(files: SessionFiles): Seq[ChunkMessage] = if (changelog == null) Nil else changelog.seal(files)

  /** The writes are part of the base version now. */
  def forgetWrites(): Unit = {
    release()
    keyChange = 0
    taken = None
  }

  def release(): Unit = {
    overlays.release()
    sealedRows.release()
    if (changelog != null) changelog.release()
  }

  private def existsBelowActive(): Boolean = {
    val row = overlays.findSorting(probe)
    if (row != 0) {
      belowExpired = false
      !OverlayRow.isTombstone(row)
    } else {
      val stored = sealedRows.contains(probe)
      belowExpired = sealedRows.foundExpired
      stored
    }
  }

  /** The values of a key, from old to new: those of its newest row, after those of the rows that it was appended to. */
  private[session] def gather(keyHash: Long, locator: Long, base: AnyRef, offset: Long, length: Int): Array[Byte] = {
    var pieces = List.empty[StoredValue]
    var hasOlder = true
    overlays.unsorted.foreach { overlay =>
      var row = if (hasOlder) overlay.find(keyHash, base, offset, length) else 0L
      while (row != 0) {
        if (!OverlayRow.isTombstone(row)) pieces ::= new OverlayValue(row)
        hasOlder = OverlayRow.isAppended(row)
        row = if (hasOlder) OverlayRow.older(row) else 0L
      }
    }
    if (hasOlder) pieces = sealedRows.gather(keyHash, locator, base, offset, length, pieces)
    ValueList.concatenated(pieces)
  }
}
