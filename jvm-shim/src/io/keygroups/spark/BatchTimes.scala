package io.keygroups.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{LinkedHashMap => Entries, Map => JMap}

import io.keygroups.spark.files.CheckpointFiles

/**
 * The times of batches, from Spark's offset log. Each is read once for all stores that this JVM has of a run of a query: a
 * store in each of 10,000 partitions would make as many requests a batch.
 */
private[spark] object BatchTimes {
  private val Millis = "\"batchTimestampMs\":(\\d+)".r
  /** Some batches of each of the queries that a JVM runs beside each other. */
  private val Most = 64

  private val known = new Entries[(String, Long), Long]() {
    override def removeEldestEntry(eldest: JMap.Entry[(String, Long), Long]): Boolean = this.size > Most
  }

  /**
   * The time of a batch in ms; None if it is not in the log: there is no query, or its state is read.
   *
   * @param run of the query: another run may have another log
   * @param files of any store of the query
   */
  def millis(run: String, files: CheckpointFiles, batch: Long): Option[Long] =
    synchronized(Option(known.get((run, batch)))).orElse {
      val found = logged(files, batch)
      found.foreach(time => synchronized(known.put((run, batch), time)))
      found
    }

  private def logged(files: CheckpointFiles, batch: Long): Option[Long] =
    files.head(s"../../offsets/$batch", CheckpointFiles.HeadBytes).flatMap { bytes =>
      Millis.findFirstMatchIn(new String(bytes, UTF_8)).map(_.group(1).toLong)
    }
}
