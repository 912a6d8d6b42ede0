package keygroups.fuzz

import java.io.RandomAccessFile
import java.lang.management.ManagementFactory
import java.nio.channels.FileChannel.MapMode
import java.nio.file.{Files, Path, Paths}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.keygroups.spark.KeyGroupsException
import io.keygroups.spark.bridge.Json
import io.keygroups.spark.segment.{MappedSegment, MappedValues, SegmentView}

/**
 * Maps mutated local segments and compares all their rows. Arguments: a folder with views (`*.json`) and rows (`*.rows`) of
 * valid segments, the seed, the first input, how many, and in which way the reader is wrong (see `Judge`). The number of the
 * input under way is kept in the file `progress`, for when this process dies.
 */
object FuzzMain {
  private final case class Sample(view: SegmentView, content: Array[Byte], rows: Seq[String])

  def main(args: Array[String]): Unit = {
    val folder = Paths.get(args(0))
    val samples = Files.list(folder).iterator().asScala.filter(_.toString.endsWith(".json")).toSeq.sorted.map(sample)
    val progress = new RandomAccessFile(folder.resolve("progress").toFile, "rw").getChannel.map(MapMode.READ_WRITE, 0, 8)
    val counts = mutable.Map.empty[String, Int].withDefaultValue(0)
    val threads = ManagementFactory.getThreadMXBean
    val judge = new Judge(if (args.length > 4) args(4) else "")
    val first = args(2).toLong
    for (number <- first until first + args(3).toLong) {
      progress.putLong(0, number)
      val random = new Random(args(1).toLong * 1000003 + number)
      val start = threads.getCurrentThreadCpuTime
      val ending = run(samples(random.nextInt(samples.length)), folder.resolve("input"), random, judge)
      counts(if (threads.getCurrentThreadCpuTime - start > 1000000000L) s"slow input $number" else ending(number)) += 1
    }
    println(counts.toSeq.sorted.map { case (ending, count) => s"$count $ending" }.mkString("\n"))
  }

  private def sample(path: Path): Sample = {
    val view = Json.read[SegmentView](Files.readString(path))
    val rows = Files.readString(Paths.get(path.toString.stripSuffix(".json") + ".rows")).linesIterator.toSeq
    Sample(view, Files.readAllBytes(Paths.get(view.path)), rows)
  }

  /** Mutates the bytes, the layouts, both, or, of one input in 16, neither: then the rows are those that were written. */
  private def run(sample: Sample, path: Path, random: Random, judge: Judge): Long => String = {
    val kind = if (random.nextInt(16) == 0) 3 else random.nextInt(3)
    val bytes = if (kind == 0 || kind == 3) sample.content else Mutations.mutated(sample.content, random)
    val layouts = if (kind == 1 || kind == 3) sample.view.blocks else Mutations.mutated(sample.view.blocks, random)
    val forged = kind != 3 && random.nextInt(8) == 0
    val length = if (forged) Mutations.number(random) else bytes.length.toLong
    val rows = if (kind != 3 && random.nextInt(8) == 0) sample.view.rows else layouts.map(_.rows.toLong).sum
    Files.write(path, bytes)
    try {
      val view = SegmentView(sample.view.id, path.toString, rows, length, layouts)
      val values = if (random.nextBoolean()) MappedValues.None else MappedValues.upTo(Long.MaxValue)
      val segment = MappedSegment.open(view, 1 + random.nextInt(4), values, if (random.nextBoolean()) Long.MaxValue else 0L)
      val blocks = layouts.map(_.family).distinct.flatMap(segment.part).flatMap(_.blocks)
      try judge.judge(segment, view, bytes, if (kind == 3) sample.rows else null, random) finally blocks.foreach(_.release())
      _ => if (kind == 3) "read whole" else "read"
    } catch {
      case error: KeyGroupsException if kind != 3 && error.kind == "checkpoint" && error.getMessage.contains(path.toString) =>
        _ => "refused"
      case error: Throwable => number => s"wrong: input $number: $error at ${error.getStackTrace.take(4).mkString(" < ")}"
    }
  }
}
