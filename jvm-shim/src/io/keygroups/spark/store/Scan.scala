package io.keygroups.spark.store

import io.keygroups.spark.memory.Bytes
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair
import org.apache.spark.unsafe.Platform

/**
 * The rows of a source as Spark wants them, copied: they outlive the memory they come from.
 *
 * @param accept a last test of where the source stands
 * @param allValues one pair for each value of a key, instead of one with the first
 */
final class Scan(session: Session, family: FamilySession, rows: RowSource, accept: RowSource => Boolean,
    allValues: Boolean) extends Iterator[UnsafeRowPair] {
  private val era = session.era
  private val values = family.family.values
  private val pair = new UnsafeRowPair()
  private var key: UnsafeRow = _
  private var value: UnsafeRow = _
  private var isAtEnd = false
  private var more: Iterator[UnsafeRow] = Iterator.empty

  override def hasNext: Boolean = {
    if (value == null) {
      session.requireOpen()
      if (session.era != era) throw new IllegalStateException("a scan can't go on after its session has committed")
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

  private def findNext(): Unit = {
    while (value == null && !isAtEnd) {
      if (!rows.next()) {
        isAtEnd = true
        family.endScan()
      } else if (accept(rows)) {
        if (family.family.hasLists) takeList() else takeRow()
      }
    }
  }

  private def takeRow(): Unit = {
    val bytes = new Array[Byte](rows.keyLength + rows.valueLength)
    val start = Platform.BYTE_ARRAY_OFFSET.toLong
    Bytes.copy(null, rows.keyAddress, bytes, start, rows.keyLength)
    Bytes.copy(null, rows.valueAddress, bytes, start + rows.keyLength, rows.valueLength)
    key = family.keyRow(bytes, start, rows.keyLength)
    value = values.read(bytes, start + rows.keyLength, rows.valueLength)
  }

  private def takeList(): Unit = {
    val bytes = new Array[Byte](rows.keyLength)
    Bytes.copy(null, rows.keyAddress, bytes, Platform.BYTE_ARRAY_OFFSET, rows.keyLength)
    key = family.keyRow(bytes, Platform.BYTE_ARRAY_OFFSET, rows.keyLength)
    val list = family.listAt(rows)
    if (list.hasNext) value = list.next()
    if (allValues) more = list
  }
}
