package io.keygroups.spark.operators

import scala.collection.mutable.ArrayBuffer

import io.keygroups.spark.ThreadPools
import io.keygroups.spark.segment.FileReads
import io.keygroups.spark.session.FamilySession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/**
 * The input of a stateful operator. While the operator works on some rows, the values of the keys of the next ones are read
 * from their files. Rows pass as they are where no lookup reads a file. After rows none of whose keys has a value in a file,
 * such as new keys, more and more of them pass without a look: it takes a copy of the row and a lookup.
 *
 * @param key the key of a row's state; made only if something is read ahead, for its generated code costs a millisecond
 * @param opened the state as the task sees it; asked for at the first row, when the task has opened it
 */
private[operators] final class LookAhead(rows: Iterator[InternalRow], key: => UnsafeProjection, opened: () => Option[FamilySession])
  extends Iterator[InternalRow] {
  import LookAhead._

  private lazy val keyOf = key
  private lazy val family = opened().filter(_.readsFiles).orNull
  private var current = Iterator.empty[InternalRow]
  private var following: Batch = _
  /** Rows that pass without a look: after the last look that found nothing, and still. */
  private var passing = 0
  private var left = 0

  override def hasNext: Boolean =
    if (family == null) rows.hasNext
    else {
      if (!current.hasNext && left == 0) advance()
      current.hasNext || (left > 0 && rows.hasNext)
    }

  override def next(): InternalRow =
    if (family == null) rows.next()
    else if (!hasNext) Iterator.empty.next()
    else if (current.hasNext) current.next()
    else {
      left -= 1
      rows.next()
    }

  private def advance(): Unit = {
    val due = if (following == null) taken() else following
    if (due.reads.isEmpty) {
      passing = math.min(math.max(2 * passing, MostRows), MostPassing)
      left = passing
      following = null
    } else {
      passing = 0
      following = taken()
      due.reads.await()
    }
    current = due.rows.iterator
  }

  /** Takes the next rows, and begins to read the values of their keys. */
  private def taken(): Batch = {
    val batch = new Batch
    var bytes = 0L
    while (batch.rows.length < MostRows && bytes < MostBytes && rows.hasNext) {
      val row = rows.next().asInstanceOf[UnsafeRow].copy() // Spark uses the row object again
      batch.rows += row
      bytes += row.getSizeInBytes
      family.readLater(keyOf(row), batch.reads)
    }
    batch.reads.start(ThreadPools.reads, ThreadPools.ReadsAtOnce)
    batch
  }
}

private object LookAhead {
  /** They take 45 ms of a disk that reads 47,000 values a second. */
  val MostRows = 2048
  val MostBytes: Long = 4L << 20
  /** A sixteenth of new keys is looked up for nothing, and of rows behind them at most so many are not read ahead. */
  val MostPassing = 32768

  private final class Batch {
    val rows = new ArrayBuffer[InternalRow]
    val reads = new FileReads(MostRows)
  }
}
