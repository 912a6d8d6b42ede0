package io.keygroups.spark.operators

import scala.collection.mutable.ArrayBuffer

import io.keygroups.spark.ThreadPools
import io.keygroups.spark.segment.FileReads
import io.keygroups.spark.session.FamilySession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/**
 * The input of a stateful operator. While the operator works on some rows, the values of the keys of the next ones are read
 * from their files. Rows pass as they are where no lookup reads a file.
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

  override def hasNext: Boolean =
    if (family == null) rows.hasNext
    else {
      if (!current.hasNext) advance()
      current.hasNext
    }

  override def next(): InternalRow =
    if (family == null) rows.next()
    else if (hasNext) current.next()
    else Iterator.empty.next()

  private def advance(): Unit = {
    val due = if (following == null) taken() else following
    following = taken()
    due.reads.await()
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

  private final class Batch {
    val rows = new ArrayBuffer[InternalRow]
    val reads = new FileReads(MostRows)
  }
}
