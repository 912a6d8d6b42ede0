package io.keygroups.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Path => LocalPath}

import io.keygroups.spark.files.CheckpointFiles
import org.apache.hadoop.fs.Path

/** Prints times of batches as three stores see them, and how often each has read the log. */
object BatchTimesMain {
  def main(args: Array[String]): Unit = {
    val stores = Seq("1000", "1000", "2000").map(new Log(_))
    def times(run: String, batch: Long) = stores.map(BatchTimes.millis(run, _, batch).fold("none")(_.toString)).mkString(" ")
    println(s"same run ${times("a", 7)}, reads ${stores.map(_.reads).mkString(" ")}")
    println(s"another batch ${times("a", 8)}, reads ${stores.map(_.reads).mkString(" ")}")
    println(s"not in the log ${times("a", 9)}, reads ${stores.map(_.reads).mkString(" ")}")
    println(s"other runs ${stores.zipWithIndex.map { case (log, n) => BatchTimes.millis(s"run $n", log, 7).get }.mkString(" ")}")
    (100L to 200L).foreach(BatchTimes.millis("b", stores.head, _))
    stores.foreach(_.reads = 0)
    println(s"after 100 others ${times("a", 8)}, reads ${stores.map(_.reads).mkString(" ")}")
    System.exit(0)
  }

  /** Files of a store whose query has a log of all batches but 9. */
  private final class Log(time: String) extends CheckpointFiles {
    var reads = 0
    override def folder: Path = new Path("/checkpoint/state/0/0")
    override def list(store: String): Seq[Seq[Any]] = Seq.empty
    override def createFolder(): Unit = ()
    override private[spark] def put(local: LocalPath, name: String, moved: () => Unit): Unit = ()
    override private[spark] def fetch(path: String, local: LocalPath, moved: () => Unit): Boolean = false
    override def delete(names: Seq[String]): Unit = ()
    override private[spark] def head(path: String, bytes: Int): Option[Array[Byte]] = {
      reads += 1
      val text = s"v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":$time,\"conf\":{}}"
      if (path == "../../offsets/9") None else Some(text.getBytes(UTF_8))
    }
  }
}
