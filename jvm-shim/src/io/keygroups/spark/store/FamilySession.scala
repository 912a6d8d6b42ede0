package io.keygroups.spark.store

import java.nio.file.Path

import io.keygroups.spark.Failures
import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.keys.{KeyOrder, KeyProbe}
import io.keygroups.spark.memory.Bytes
import io.keygroups.spark.segment.MappedSegment
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/**
 * What a session sees of one family. From new to old: the active overlay, an overlay that is being sorted, segments of the
 * session, segments of the base version.
 *
 * @param maxParallelism G
 * @param changelog keeps each write for the change feed, null if that shows keys
 */
final class FamilySession(session: Session, val family: Family, maxParallelism: Int, private var expectedRows: Int,
    changelog: Changelog) {
  private var usedProbe: KeyProbe = _
  private val value = new ValueBytes
  private var active: Overlay = _
  private var sorting: Overlay = _
  private var retired = List.empty[Overlay]
  /** Scans that are not at their end: they may read overlays that are in a segment by now. */
  private var openScans = 0
  private var newKeys = 0L
  /** Spark's own books of an operator have to be whole: they do not expire. */
  private val horizon = if (family.isInternal) 0L else session.expiry.horizon
  private val sealedRows = new SealedRows(horizon)
  /** Whether the key that a write found below the active overlay has expired. */
  private var belowExpired = false

  /** Made at the first use: its generated code costs a millisecond, and a batch touches few of many families. */
  private def probe: KeyProbe = {
    if (usedProbe == null) usedProbe = KeyProbe(family.shape, maxParallelism)
    usedProbe
  }

  /** Keys written and not there before, less keys removed. */
  def addedKeys: Long = newKeys
  def bytes: Long = size(active) + size(sorting)
  def hasPrefixScan: Boolean = family.shape.order != KeyOrder.Hashed
  def hasRangeScan: Boolean = family.shape.order match {
    case KeyOrder.Ordered(_) | KeyOrder.Timed => true
    case _ => false
  }
  def rowsWritten: Int = if (active == null) 0 else active.rows

  /** The value of a key, null if it has none; of a list the first. */
  def get(key: UnsafeRow): UnsafeRow = if (family.hasLists) list(key).nextOption().orNull else getSingle(key)

  private def getSingle(key: UnsafeRow): UnsafeRow = {
    session.requireOpen()
    probe.set(key)
    val row = findWritten()
    if (row == 0) sealedRows.get(probe, family.values)
    else if (Overlay.isTombstone(row)) null
    else family.values.read(Overlay.valueAddress(row), Overlay.valueLength(row))
  }

  /** All values of a key of a family with lists. */
  def list(key: UnsafeRow): ValueList = {
    session.requireOpen()
    probe.set(key)
    new ValueList(family.values, gather(probe.keyHash, probe.locator, probe.base, probe.offset, probe.length))
  }

  def exists(key: UnsafeRow): Boolean = {
    session.requireOpen()
    probe.set(key)
    val row = findWritten()
    if (row == 0) sealedRows.has(probe) else !Overlay.isTombstone(row)
  }

  def put(key: UnsafeRow, row: UnsafeRow): Unit =
    write(key, if (family.hasLists) listOf(Array(row)) else family.values.write(row, value), append = false)
  def putList(key: UnsafeRow, rows: Array[UnsafeRow]): Unit = write(key, listOf(rows), append = false)
  def appendList(key: UnsafeRow, rows: Array[UnsafeRow]): Unit = write(key, listOf(rows), append = true)

  private def listOf(rows: Array[UnsafeRow]): ValueBytes = value.setList(rows, family.values)

  private def write(key: UnsafeRow, value: ValueBytes, append: Boolean): Unit = {
    session.requireOpen()
    probe.set(key)
    val overlay = writable()
    val bytesBefore = overlay.bytes
    val existing = overlay.find(probe.keyHash, probe.base, probe.offset, probe.length)
    val existed = if (existing == 0) existsBelowActive() else !Overlay.isTombstone(existing)
    val isVisible = existed && !(existing == 0 && belowExpired)
    if (append) overlay.append(existing, probe, value, isVisible, !existed) else overlay.write(existing, probe, value, !existed)
    if (!existed) newKeys += 1
    session.afterWrite(overlay.bytes - bytesBefore + log(value, append && (isVisible || !existed)))
  }

  def remove(key: UnsafeRow): Unit = {
    session.requireOpen()
    probe.set(key)
    val overlay = writable()
    val existing = overlay.find(probe.keyHash, probe.base, probe.offset, probe.length)
    val existed = if (existing == 0) existsBelowActive() else !Overlay.isTombstone(existing)
    if (existed) {
      val bytesBefore = overlay.bytes
      overlay.write(existing, probe, value.tombstone(), isNew = false)
      newKeys -= 1
      session.afterWrite(overlay.bytes - bytesBefore + log(value, isAppended = false))
    }
  }

  /** Note a write to the key where the probe stands; the bytes that it takes. */
  private def log(value: ValueBytes, isAppended: Boolean): Int =
    if (changelog == null) 0 else changelog.add(probe, value, isAppended)

  /**
   * All rows: those of this moment, though rows written while it goes on may show or not.
   *
   * @param allValues one pair for each value of a key
   */
  def scan(allValues: Boolean): Scan = family.shape.order match {
    case KeyOrder.Ordered(_) => scanOf(new OrderedRows(overlays, sealedRows.parts, None, None, None, horizon), _ => true, allValues)
    case _ =>
      if (!session.readOnly && sealedRows.parts.nonEmpty) writable() // rows that are written on the way have a place to be met in
      scanOf(new UnorderedRows(overlays, sealedRows.parts, horizon), _ => true, allValues)
  }

  /** The rows whose keys begin with `prefix`, in the order of their keys' bytes, as in Spark's RocksDB provider. */
  def scanPrefix(prefix: UnsafeRow, allValues: Boolean): Scan = {
    probe.setPrefix(prefix)
    val test = probe.prefixTest
    val rows = family.shape.order match {
      case KeyOrder.Ordered(_) =>
        new OrderedRows(overlays, sealedRows.parts, None, Some(KeyBound.of(probe)), KeyBound.after(probe), horizon)
      case _ => new OrderedRows(overlays, sealedRows.parts, Some(probe.locator), None, None, horizon)
    }
    scanOf(rows, at => test(at.keyAddress, at.keyLength), allValues)
  }

  /**
   * The rows from one key (inclusive) to another (exclusive). Where only rows of one prefix are in order, both keys have
   * to begin with the same columns, or none may be given.
   */
  def scanRange(from: Option[UnsafeRow], until: Option[UnsafeRow], allValues: Boolean): Scan = {
    val start = from.map(bound)
    val end = until.map(bound)
    if (family.shape.order != KeyOrder.Timed || (start.isEmpty && end.isEmpty)) {
      scanOf(new OrderedRows(overlays, sealedRows.parts, None, start, end, horizon), _ => true, allValues)
    } else {
      require(start.exists(a => end.exists(a.isOfSameKey)), s"a range scan of the column family '${family.name}', whose " +
        "keys end with a timestamp, is for one key: expected two bounds that differ in the timestamp only")
      val rows = new OrderedRows(overlays, sealedRows.parts, start.map(_.locator), start, end, horizon)
      scanOf(rows, at => start.get.isOfSameKey(at.keyAddress, at.keyLength), allValues)
    }
  }

  private def bound(key: UnsafeRow): KeyBound = {
    probe.set(key)
    KeyBound.of(probe)
  }

  private def scanOf(rows: RowSource, accept: RowSource => Boolean, allValues: Boolean): Scan = {
    session.requireOpen()
    openScans += 1
    new Scan(session, this, rows, accept, allValues)
  }

  private[store] def endScan(): Unit = openScans -= 1

  /** The values of the row that a source stands at. */
  private[store] def listAt(rows: RowSource): ValueList = {
    val hash = KeyProbe.hash(null, rows.keyAddress, rows.keyLength)
    new ValueList(family.values, gather(hash, rows.locator, null, rows.keyAddress, rows.keyLength))
  }

  /**
   * Remove what has expired among some of the sealed rows.
   *
   * @param from only rows from this locator on
   * @param limit about how many rows to look at
   * @return the locator to go on from, 0 at the end of all rows; and how many rows were removed
   */
  def expire(from: Long, limit: Int): (Long, Long) =
    if (horizon == 0) (0L, 0L)
    else {
      val rows = new SegmentMerge(sealedRows.parts, Some(from), Long.MaxValue, horizon)
      var seen = 0
      var removed = 0L
      var last = from
      while (rows.next()) {
        if (seen >= limit && rows.locator != last) return (rows.locator, removed)
        last = rows.locator
        seen += 1
        if (!rows.isTombstone && rows.isExpired && removeIfUnwritten(rows)) removed += 1
      }
      (0L, removed)
    }

  private def removeIfUnwritten(rows: SegmentMerge): Boolean = {
    val bytes = new Array[Byte](rows.keyLength)
    Bytes.copy(null, rows.keyAddress, bytes, Platform.BYTE_ARRAY_OFFSET, rows.keyLength)
    val key = keyRow(bytes, Platform.BYTE_ARRAY_OFFSET, rows.keyLength)
    probe.set(key)
    val isUnwritten = findWritten() == 0
    if (isUnwritten) remove(key)
    isUnwritten
  }

  /** A stored key as a row. */
  def keyRow(bytes: Array[Byte], offset: Long, length: Int): UnsafeRow = probe.row(bytes, offset, length)

  /** See these segments, newest first. */
  def see(segments: Array[MappedSegment]): Unit = sealedRows.see(segments.flatMap(_.part(family.id)))

  /** Write the active overlay to a file. It stays readable until `dropSorting`; None if nothing was written. */
  def startSorting(folder: Path): Option[ChunkMessage] =
    if (rowsWritten == 0) None
    else {
      val chunk = active.writeTo(folder, family.id)
      sorting = active
      expectedRows = active.rows
      active = null
      Some(chunk)
    }

  /** The sorted overlay's rows are in a segment now. */
  def dropSorting(): Unit = if (sorting != null) {
    if (openScans > 0) retired ::= sorting else sorting.release()
    sorting = null
  }

  /** Write the active overlay to a file, as the last of this session. */
  def seal(folder: Path): Option[ChunkMessage] =
    if (rowsWritten == 0) None else Some(active.writeTo(folder, family.id))

  /** Make room in memory: what is logged goes to a file. */
  def spillChangelog(folder: Path): Unit = if (changelog != null) changelog.spill(folder)

  /** Each write of this session, in files. */
  def sealChangelog(folder: Path): Seq[ChunkMessage] = if (changelog == null) Nil else changelog.seal(folder)

  /** The writes have become part of the base version. */
  def forgetWrites(): Unit = {
    release()
    newKeys = 0
  }

  def holdsMemory: Boolean = active != null || sorting != null || retired.nonEmpty || changelog != null

  def release(): Unit = {
    (retired ++ Option(active) ++ Option(sorting)).foreach(_.release())
    if (changelog != null) changelog.release()
    retired = Nil
    active = null
    sorting = null
  }

  /** Those with writes of this session that are in no segment yet, newest first. */
  private def overlays: Array[Overlay] = Array(active, sorting).filter(_ != null)

  private def writable(): Overlay = {
    if (active == null) active = new Overlay(family.shape.order, family.hasLists, expectedRows)
    active
  }

  private def size(overlay: Overlay): Long = if (overlay == null) 0L else overlay.bytes

  private def findWritten(): Long = {
    var row = if (active == null) 0L else active.find(probe.keyHash, probe.base, probe.offset, probe.length)
    if (row == 0 && sorting != null) row = sorting.find(probe.keyHash, probe.base, probe.offset, probe.length)
    row
  }

  private def existsBelowActive(): Boolean = {
    val row = if (sorting == null) 0L else sorting.find(probe.keyHash, probe.base, probe.offset, probe.length)
    if (row != 0) {
      belowExpired = false
      !Overlay.isTombstone(row)
    } else {
      val stored = sealedRows.stores(probe)
      belowExpired = sealedRows.foundExpired
      stored
    }
  }

  /** The values of a key, from old to new: those of its newest row, after what that was put after. */
  private def gather(keyHash: Long, locator: Long, base: AnyRef, offset: Long, length: Int): Array[Byte] = {
    var pieces = List.empty[(Long, Int)]
    var goesOn = true
    overlays.foreach { overlay =>
      var row = if (goesOn) overlay.find(keyHash, base, offset, length) else 0L
      while (row != 0) {
        if (!Overlay.isTombstone(row)) pieces ::= ((Overlay.valueAddress(row), Overlay.valueLength(row)))
        goesOn = Overlay.isAppended(row)
        row = if (goesOn) Overlay.older(row) else 0L
      }
    }
    if (goesOn) pieces = sealedRows.gather(locator, base, offset, length, pieces)
    FamilySession.concatenated(pieces)
  }
}

private object FamilySession {
  /** The longest array that every JVM allocates. */
  private val MaxArray = Int.MaxValue - 15

  def concatenated(pieces: List[(Long, Int)]): Array[Byte] = {
    var size = 0L
    pieces.foreach(piece => size += piece._2)
    if (size > MaxArray) throw Failures.tooLong(size, MaxArray)
    val bytes = new Array[Byte](size.toInt)
    var at = Platform.BYTE_ARRAY_OFFSET.toLong
    pieces.foreach { case (address, length) =>
      Bytes.copy(null, address, bytes, at, length)
      at += length
    }
    bytes
  }
}
