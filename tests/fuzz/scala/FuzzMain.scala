package keygroups.fuzz

import java.io.RandomAccessFile
import java.lang.management.ManagementFactory
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.FileChannel.MapMode
import java.nio.file.{Files, Path, Paths}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.keygroups.spark.KeyGroupsException
import io.keygroups.spark.bridge.Json
import io.keygroups.spark.segment.{Block, BlockLayout, MappedSegment, SegmentView}
import org.apache.spark.unsafe.Platform

/**
 * Maps mutated local segments and reads all their rows. Arguments: a folder with `*.json` views of valid segments, the seed,
 * the first input and how many. The number of the input under way is kept in the file `progress`, for when this process dies.
 */
object FuzzMain {
  private val Numbers = Array(0L, 1, -1, -2, 4, 7, 8, 64, 4096, Int.MaxValue, Int.MinValue, 1L << 31, (1L << 32) - 1, 1L << 62,
    Long.MaxValue, Long.MaxValue - 7, Long.MinValue)

  def main(args: Array[String]): Unit = {
    val folder = Paths.get(args(0))
    val samples = Files.list(folder).iterator().asScala.filter(_.toString.endsWith(".json")).toSeq.sorted
      .map(path => Json.read[SegmentView](Files.readString(path)))
    val contents = samples.map(view => Files.readAllBytes(Paths.get(view.path)))
    val progress = new RandomAccessFile(folder.resolve("progress").toFile, "rw").getChannel.map(MapMode.READ_WRITE, 0, 8)
    val counts = mutable.Map.empty[String, Int].withDefaultValue(0)
    val threads = ManagementFactory.getThreadMXBean
    val first = args(2).toLong
    for (number <- first until first + args(3).toLong) {
      progress.putLong(0, number)
      val random = new Random(args(1).toLong * 1000003 + number)
      val sample = random.nextInt(samples.length)
      val start = threads.getCurrentThreadCpuTime
      val ending = run(samples(sample), contents(sample), folder.resolve("input"), random)
      counts(if (threads.getCurrentThreadCpuTime - start > 1000000000L) s"slow input $number" else ending(number)) += 1
    }
    println(counts.toSeq.sorted.map { case (ending, count) => s"$count $ending" }.mkString("\n"))
  }

  private def run(view: SegmentView, content: Array[Byte], path: Path, random: Random): Long => String = {
    val kind = random.nextInt(3)
    val bytes = if (kind == 0) content else mutated(content, random)
    val layouts = if (kind == 1) view.blocks else mutated(view.blocks, random)
    val length = if (random.nextInt(8) == 0) Numbers(random.nextInt(Numbers.length)) else bytes.length.toLong
    val rows = if (random.nextInt(8) == 0) view.rows else layouts.map(_.rows.toLong).sum
    Files.write(path, bytes)
    try {
      read(SegmentView(view.id, path.toString, rows, length, layouts), random)
      _ => "read"
    } catch {
      case error: KeyGroupsException if error.kind == "checkpoint" && error.getMessage.contains(path.toString) => _ => "refused"
      case error: Throwable => number => s"wrong: input $number: $error at ${error.getStackTrace.take(4).mkString(" < ")}"
    }
  }

  private def read(view: SegmentView, random: Random): Unit = {
    val segment = MappedSegment.open(view, 1 + random.nextInt(4))
    val parts = view.blocks.map(_.family).distinct.flatMap(segment.part)
    try parts.foreach(part => part.blocks.foreach { block =>
      part.blockOf(random.nextLong())
      block.lowerBound(random.nextLong())
      (0 until block.rows).foreach(touch(block, _))
    }) finally parts.foreach(_.blocks.foreach(_.release()))
  }

  private def touch(block: Block, row: Int): Unit = {
    val key = copy(block.keyAddress(row), block.keyLength(row))
    if (!block.isTombstone(row)) copy(block.valueAddress(row), block.valueLength(row))
    block.isAppended(row)
    block.isExpired(row, 1)
    block.h(row)
    block.lowerBound(block.locator(row))
    block.find(block.locator(row), key, Platform.BYTE_ARRAY_OFFSET.toLong, key.length)
    ()
  }

  private def copy(address: Long, length: Int): Array[Byte] = {
    val bytes = new Array[Byte](length)
    Platform.copyMemory(null, address, bytes, Platform.BYTE_ARRAY_OFFSET.toLong, length.toLong)
    bytes
  }

  private def mutated(content: Array[Byte], random: Random): Array[Byte] = {
    var bytes = content.clone()
    for (_ <- 0 to random.nextInt(3); if bytes.length >= 8) random.nextInt(8) match {
      case 0 => bytes = bytes.take(random.nextInt(bytes.length + 1))
      case 1 =>
        val (at, until) = (random.nextInt(bytes.length), random.nextInt(bytes.length))
        bytes = bytes.take(until) ++ bytes.drop(at)
      case 2 => bytes(random.nextInt(bytes.length)) = random.nextInt().toByte
      case n =>
        val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
        val number = Numbers(random.nextInt(Numbers.length))
        if (n < 6) buffer.putInt(random.nextInt(bytes.length / 4) * 4, number.toInt)
        else buffer.putLong(random.nextInt(bytes.length / 8) * 8, number)
    }
    bytes
  }

  private def mutated(blocks: Seq[BlockLayout], random: Random): Seq[BlockLayout] = random.nextInt(10) match {
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
      case _ => Numbers(random.nextInt(Numbers.length))
    }
    def int(value: Int): Int = long(value.toLong).toInt
    random.nextInt(15) match {
      case 0 => b.copy(family = int(b.family))
      case 1 => b.copy(rows = int(b.rows))
      case 2 => b.copy(locator = long(b.locator))
      case 3 => b.copy(hash = long(b.hash))
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
