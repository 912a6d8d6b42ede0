package keygroups.fuzz

import java.nio.{ByteBuffer, ByteOrder}

import io.keygroups.spark.segment.{Block, BlockLayout}
import org.apache.spark.unsafe.Platform

/** One row of a segment, as a text that two readings can be compared by. A value of null is a tombstone. */
final case class Row(locator: Long, h: Int, key: Seq[Byte], value: Option[Seq[Byte]], appended: Boolean, written: Long) {
  override def toString: String = {
    def hex(bytes: Seq[Byte]): String = bytes.map(byte => f"$byte%02x").mkString
    s"$locator $h ${hex(key)} ${value.fold("null")(hex)} $appended $written"
  }
}

/** Reads rows by address, as the provider does. */
object Mapped {
  def row(block: Block, n: Int): Row = Row(block.locator(n), block.keyGroup(n), key(block, n).toSeq,
    if (block.isTombstone(n)) None else Some(value(block, n).toSeq),
    block.isAppended(n), written(block, n))

  private def value(block: Block, n: Int): Array[Byte] = {
    val bytes = new Array[Byte](block.valueLength(n))
    block.copyValue(n, bytes, Platform.BYTE_ARRAY_OFFSET.toLong)
    bytes
  }

  def key(block: Block, n: Int): Array[Byte] = copy(block.keyAddress(n), block.keyLength(n))

  /** The time is asked for by halves: a block only says whether it was before a moment. */
  private def written(block: Block, n: Int): Long = {
    var (low, high) = (0L, 1L << 32) // isExpired(high) and not isExpired(low), if at all
    if (!block.isExpired(n, high)) return 0
    while (high - low > 1) {
      val middle = (low + high) >>> 1
      if (block.isExpired(n, middle)) high = middle else low = middle
    }
    high
  }

  private def copy(address: Long, length: Int): Array[Byte] = {
    val bytes = new Array[Byte](length)
    Platform.copyMemory(null, address, bytes, Platform.BYTE_ARRAY_OFFSET.toLong, length.toLong)
    bytes
  }
}

/** Reads rows from a file's bytes by a layout, with an array's own bounds checks and nothing of the provider. */
final class Plain(content: Array[Byte], layout: BlockLayout) {
  private val bytes = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN)

  def rows: Seq[Row] = (0 until layout.rows).map { n =>
    val live = layout.valueValidity == -1 || bit(layout.valueValidity, n)
    val value = if (live) Some(cell(layout.valueWidth, layout.valueOffsets, layout.valueData, n)) else None
    Row(locator(n), bytes.getShort(at(layout.keyGroup, n, 2)) & 0xffff, cell(layout.keyWidth, layout.keyOffsets, layout.keyData, n), value,
      layout.appended != -1 && bit(layout.appended, n),
      if (layout.written == -1) 0 else Integer.toUnsignedLong(bytes.getInt(at(layout.written, n, 4))))
  }

  private def locator(n: Int): Long = bytes.getLong(at(layout.locator, n, 8))

  private def bit(start: Long, n: Int): Boolean = (bytes.get(at(start, n / 8, 1)) >> (n % 8) & 1) == 1

  private def cell(width: Int, offsets: Long, data: Long, n: Int): Seq[Byte] = {
    val (start, end) =
      if (width > 0) (n.toLong * width, (n + 1L) * width)
      else (bytes.getInt(at(offsets, n, 4)).toLong, bytes.getInt(at(offsets, n + 1, 4)).toLong)
    if (start == end) Seq.empty
    else content.slice(at(data + start, 0, 1), Math.addExact(at(data + start, 0, 1), (end - start).toInt)).toSeq
  }

  private def at(start: Long, n: Int, size: Int): Int = Math.toIntExact(Math.addExact(start, n.toLong * size))
}
