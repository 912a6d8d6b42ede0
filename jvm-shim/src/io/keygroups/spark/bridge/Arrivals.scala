package io.keygroups.spark.bridge

import java.nio.file.Paths
import java.util.concurrent.{ExecutionException, ExecutorCompletionService, Future}

import scala.collection.mutable

import io.keygroups.spark.Failures
import io.keygroups.spark.files.CheckpointFiles

/**
 * What one operation downloads. The store process uses files while others are on their way: with 50 million keys on S3, download
 * and restore take several seconds each.
 */
private[bridge] final class Arrivals(files: CheckpointFiles) extends AutoCloseable {
  import Arrivals._
  private val completed = new ExecutorCompletionService[Download](files.downloaders)
  private val running = mutable.Map.empty[Future[Download], Download]

  /** Starts the downloads that have not begun, and waits for one, or for all heads. Returns the paths that do not exist. */
  def await(want: Want): Seq[String] = {
    val underWay = running.values.map(_.local).toSet
    val added = want.files.map(file => Download(file.head, file(1), want.head)).filterNot(file => underWay(file.local))
    if (running.isEmpty && added.length == 1) added.filterNot(found).map(_.path) // at once, however many others wait
    else {
      added.foreach(file => running(completed.submit(() => file.copy(exists = found(file)))) = file)
      arrived(all = want.head).filterNot(_.exists).map(_.path)
    }
  }

  override def close(): Unit = running.keys.foreach(_.cancel(true))

  private def found(file: Download): Boolean = files.download(file.path, Paths.get(file.local), file.headOnly)

  private def arrived(all: Boolean): Seq[Download] = {
    val done = Seq.newBuilder[Download]
    try {
      var next = if (running.isEmpty) null else completed.take()
      while (next != null) {
        running -= next
        done += next.get()
        next = if (all && running.nonEmpty) completed.take() else completed.poll()
      }
    } catch {
      case error: ExecutionException => throw error.getCause
      case error: InterruptedException => throw Failures.interrupted(error)
    }
    done.result()
  }
}

private object Arrivals {
  case class Download(path: String, local: String, headOnly: Boolean, exists: Boolean = true)
}
