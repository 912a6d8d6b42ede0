package io.keygroups.spark.session

import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.keys.KeyProbe

/**
 * The overlays of one family in a session: the active one, which takes the writes; one that is being sorted; and spilled ones
 * that are in a segment by now, but that a scan in the order of appending still reads.
 *
 * @param expectedRows rows of the last batch, to size the first overlay
 */
private[session] final class FamilyOverlays(family: Family, private var expectedRows: Int) {
  private var active: Overlay = _
  private var sorting: Overlay = _
  /** Oldest first, as their readers are. */
  private var spilled = Vector.empty[Overlay]
  private var readers = Vector.empty[Scan]
  private var spillCount = 0
  private var earlierRows = 0L

  /** How many overlays were spilled so far: the memory of the last one may be free. */
  def spills: Int = spillCount
  def bytes: Long = size(active) + size(sorting)
  def activeRows: Int = if (active == null) 0 else active.rows
  /** Of all overlays since `release`. */
  def rows: Long = earlierRows + activeRows

  /** The overlays whose rows are in no segment yet, newest first. */
  def unsorted: Array[Overlay] = Array(active, sorting).filter(_ != null)

  /** The active overlay, made at the first write. */
  def writable(): Overlay = {
    if (active == null) active = new Overlay(family.shape.order, family.hasLists, expectedRows)
    active
  }

  /** The newest row of a key, 0 if it was not written. */
  def find(probe: KeyProbe): Long = {
    val row = if (active == null) 0L else active.find(probe)
    if (row == 0) findSorting(probe) else row
  }

  def findSorting(probe: KeyProbe): Long = if (sorting == null) 0L else sorting.find(probe)

  /** Write the active overlay to a file; None if nothing was written. It changes nothing else. */
  def writeChunk(files: SessionFiles): Option[ChunkMessage] =
    if (activeRows == 0) None else Some(active.writeTo(files, family.id))

  /** The active overlay is on its way to the store process. It stays readable until `dropSorting`. */
  def startSorting(): Unit = if (activeRows > 0) {
    sorting = active
    expectedRows = active.rows
    earlierRows += active.rows
    active = null
  }

  /** The rows of the overlay that was being sorted are in a segment now. */
  def dropSorting(): Unit = if (sorting != null) {
    spilled :+= sorting
    sorting = null
    spillCount += 1
    releaseUnread()
    while (spilled.length > FamilyOverlays.MaxSpilled) abandonOne()
  }

  /** A scan that reads overlays after they are spilled, until `endScan`. */
  def beginScan(scan: Scan): Unit = readers :+= scan

  def endScan(scan: Scan): Unit = {
    readers = readers.filterNot(_ eq scan)
    releaseUnread()
  }

  def release(): Unit = {
    (spilled ++ Option(active) ++ Option(sorting)).foreach(_.release())
    spilled = Vector.empty
    readers = Vector.empty
    active = null
    sorting = null
    earlierRows = 0
  }

  private def releaseUnread(): Unit = {
    val (read, unread) = spilled.partition(overlay => readers.exists(_.pins(overlay)))
    spilled = read
    unread.foreach(_.release())
  }

  /** The scan that was read longest ago ends with an error, if it is read at all: Spark leaves scans that it does not need. */
  private def abandonOne(): Unit = {
    val scan = readers.filter(reader => spilled.exists(reader.pins)).minBy(_.lastRead)
    scan.abandon()
    endScan(scan)
  }

  private def size(overlay: Overlay): Long = if (overlay == null) 0L else overlay.bytes
}

private object FamilyOverlays {
  /** Spilled overlays that scans may keep: with the active and the sorting one, six times `overlayBytes` at most. */
  val MaxSpilled = 4
}
