package keygroups.fuzz

import java.nio.{ByteBuffer, ByteOrder}

import scala.util.Random

import io.keygroups.spark.segment.BlockLayout

/** Mutations of a local segment's bytes, and of what the store process says about it. */
object Mutations {
  val Numbers = Array(0L, 1, -1, -2, 4, 7, 8, 64, 4096, Int.MaxValue, Int.MinValue, 1L << 31, (1L << 32) - 1, 1L << 62,
    Long.MaxValue, Long.MaxValue - 7, Long.MinValue)

  def number(random: Random): Long = Numbers(random.nextInt(Numbers.length))

  def mutated(content: Array[Byte], random: Random): Array[Byte] = {
    var bytes = content.clone()
    for (_ <- 0 to random.nextInt(3); if bytes.length >= 8) random.nextInt(8) match {
      case 0 => bytes = bytes.take(random.nextInt(bytes.length + 1))
      case 1 =>
        val (at, until) = (random.nextInt(bytes.length), random.nextInt(bytes.length))
        bytes = bytes.take(until) ++ bytes.drop(at)
      case 2 => bytes(random.nextInt(bytes.length)) = random.nextInt().toByte
      case n =>
        val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
        if (n < 6) buffer.putInt(random.nextInt(bytes.length / 4) * 4, number(random).toInt)
        else buffer.putLong(random.nextInt(bytes.length / 8) * 8, number(random))
    }
    bytes
  }

  def mutated(blocks: Seq[BlockLayout], random: Random): Seq[BlockLayout] = random.nextInt(10) match {
    case 0 => blocks.reverse
    case 1 => blocks ++ blocks.take(1)
    case 2 => blocks.drop(1)
    case _ =>
      val at = random.nextInt(blocks.length)
      blocks.updated(at, (0 to random.nextInt(2)).foldLeft(blocks(at))((block, _) => mutated(block, random)))
  }

  private def mutated(b: BlockLayout, random: Random): BlockLayout = {
    def long(value: Long): Long = random.nextInt(4) match {
      case 0 => value + Array(-8, -1, 1, 8)(random.nextInt(4))
      case 1 => value + random.nextInt(4096) - 2048
      case _ => number(random)
    }
    def int(value: Int): Int = long(value.toLong).toInt
    random.nextInt(15) match {
      case 0 => b.copy(family = int(b.family))
      case 1 => b.copy(rows = int(b.rows))
      case 2 => b.copy(locator = long(b.locator))
      case 3 => b.copy(keyGroup = long(b.keyGroup))
      case 4 => b.copy(keyWidth = int(b.keyWidth))
      case 5 => b.copy(keyOffsets = long(b.keyOffsets))
      case 6 => b.copy(keyData = long(b.keyData))
      case 7 => b.copy(keyBytes = long(b.keyBytes))
      case 8 => b.copy(valueWidth = int(b.valueWidth))
      case 9 => b.copy(valueOffsets = long(b.valueOffsets))
      case 10 => b.copy(valueData = long(b.valueData))
      case 11 => b.copy(valueBytes = long(b.valueBytes))
      case 12 => b.copy(valueValidity = long(b.valueValidity))
      case 13 => b.copy(appended = long(b.appended))
      case _ => b.copy(written = long(b.written))
    }
  }
}
