package io.keygroups.spark.session

import io.keygroups.spark.memory.Bytes
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair
import org.apache.spark.unsafe.Platform

/**
 * The rows of a source as Spark wants them, copied: they outlive the memory they come from.
 *
 * @param accept a last test of the row at which the source stands
 * @param allValues one pair for each value of a key, instead of one with the first
 */
final class Scan(session: Session, family: FamilySession, private var rows: RowSource, accept: RowSource => Boolean,
    allValues: Boolean) extends Iterator[UnsafeRowPair] {
  private val commits = session.commits
  private val values = family.family.values
  private val pair = new UnsafeRowPair()
  private var key: UnsafeRow = _
  private var value: UnsafeRow = _
  private var isAtEnd = false
  private var isAbandoned = false
  private var more: Iterator[UnsafeRow] = Iterator.empty
  private var spills = family.spills
  /** The last key returned, at the beginning of an array, and its locator. */
  private var last: Array[Byte] = _
  private var lastLength = 0
  private var lastLocator = 0L

  override def hasNext: Boolean = {
    if (value == null) {
      session.requireOpen()
      if (session.commits != commits) throw new IllegalStateException("a scan cannot continue after its session has committed")
      if (isAbandoned) throw Scan.abandoned(family.family.name)
      if (more.hasNext) value = more.next() else findNext()
    }
    value != null
  }

  override def next(): UnsafeRowPair = {
    if (!hasNext) throw new NoSuchElementException("end of scan")
    pair.withRows(key, value)
    value = null
    pair
  }

  /** End the scan. */
  def close(): Unit = {
    value = null
    more = Iterator.empty
    end()
  }

  private[session] def pins(overlay: Overlay): Boolean = !isAtEnd && rows.pins(overlay)

  /** The spill before which the scan was last read. */
  private[session] def lastRead: Int = spills

  /** Read no overlay any more. */
  private[session] def abandon(): Unit = isAbandoned = true

  private def findNext(): Unit = {
    if (!isAtEnd && spills != family.spills) followSpills()
    while (value == null && !isAtEnd) {
      if (!rows.next()) end()
      else if (accept(rows)) {
        lastLocator = rows.locator
        lastLength = rows.keyLength
        if (family.family.hasLists) takeList() else takeRow()
      } else session.requireOpen()
    }
  }

  private def followSpills(): Unit = {
    spills = family.spills
    rows = family.moved(rows, Option(last).map(KeyBound.above(lastLocator, _, lastLength)))
  }

  private def end(): Unit = if (!isAtEnd) {
    isAtEnd = true
    family.endScan(this)
  }

  private def takeRow(): Unit = {
    val valueLength = rows.valueLength
    val bytes = new Array[Byte](lastLength + valueLength)
    val start = Platform.BYTE_ARRAY_OFFSET.toLong
    Bytes.copy(null, rows.keyAddress, bytes, start, lastLength)
    rows.copyValue(bytes, start + lastLength) // may read a file, during which a closed session's memory may go
    last = bytes
    key = family.keyRow(bytes, start, lastLength)
    value = values.read(bytes, start + lastLength, valueLength)
  }

  private def takeList(): Unit = {
    val bytes = new Array[Byte](rows.keyLength)
    Bytes.copy(null, rows.keyAddress, bytes, Platform.BYTE_ARRAY_OFFSET, rows.keyLength)
    last = bytes
    key = family.keyRow(bytes, Platform.BYTE_ARRAY_OFFSET, rows.keyLength)
    val list = family.listAt(rows)
    if (list.hasNext) value = list.next()
    if (allValues) more = list
  }
}

private object Scan {
  def abandoned(family: String): Throwable = new IllegalStateException(s"a scan of all rows of the column family '$family' " +
    "was left open while write buffers were spilled (expected at most " +
    s"${FamilyOverlays.MaxSpilled} spilled buffers that scans still read): read a scan to its end, or close it, before the next")
}
