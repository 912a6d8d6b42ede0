package io.keygroups.spark.operators

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeRow}

/**
 * Rows of a `KeyedInput` in batches. Each has to be read to its end before the next.
 *
 * @param mostRows rows of a batch; 0 or less is no limit
 * @param mostBytes a batch ends with the row that reaches them
 */
private[operators] final class RowBatches(rows: Iterator[InternalRow], mostRows: Int, mostBytes: Long)
  extends Iterator[Iterator[InternalRow]] {
  override def hasNext: Boolean = rows.hasNext

  override def next(): Iterator[InternalRow] = new Iterator[InternalRow] {
    private var count = 0
    private var bytes = 0L

    override def hasNext: Boolean = (mostRows <= 0 || count < mostRows) && bytes < mostBytes && rows.hasNext

    override def next(): InternalRow = {
      val row = rows.next()
      count += 1
      bytes += sizeOf(row)
      row
    }
  }

  private def sizeOf(row: InternalRow): Int = row match {
    case joined: JoinedRow => joined.getLeft match {
      case data: UnsafeRow => data.getSizeInBytes + RowBatches.KeyBytes
      case _ => RowBatches.KeyBytes
    }
    case _ => RowBatches.KeyBytes
  }
}

private object RowBatches {
  /** About what a key takes with its hash and its locator. */
  val KeyBytes = 64
}
