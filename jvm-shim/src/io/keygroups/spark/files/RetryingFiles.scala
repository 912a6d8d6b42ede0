package io.keygroups.spark.files

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{AccessDeniedException, Path => LocalPath}
import java.util.concurrent.{ExecutionException, Executor, Future, ThreadLocalRandom, TimeoutException, TimeUnit}

import io.keygroups.spark.{Failures, ThreadPools}
import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException
import org.apache.spark.internal.Logging

/**
 * Adds a deadline and retries to each operation on other files: a remote store may be slow, or fail for a while. The error of
 * the last attempt names the file and the remedy.
 *
 * @param operatorFolder what paths of files to read are relative to
 * @param attempts how often an operation is tried
 * @param timeoutSeconds for all attempts of an operation together
 */
final class RetryingFiles(inner: CheckpointFiles, operatorFolder: Path, attempts: Int, timeoutSeconds: Int)
  extends CheckpointFiles with Logging {
  import RetryingFiles._

  override def folder: Path = inner.folder
  override def list(store: String): Seq[Seq[Any]] =
    patiently("listed", new Path(operatorFolder, store))(inner.list(store))
  override def createFolder(): Unit = patiently("created", folder)(inner.createFolder())
  override def delete(names: Seq[String]): Unit = patiently("cleaned", folder)(inner.delete(names))

  /**
   * If this fails, the file may exist all the same, since its acknowledgement was lost or came too late. It stays: Spark may have
   * committed another attempt at the version by now, and where it has no checkpoint ids, the next batch may have loaded this one.
   */
  override def put(local: LocalPath, name: String): Unit =
    patiently("written", new Path(folder, name))(inner.put(local, name))

  override def fetch(path: String, local: LocalPath): Boolean =
    patiently("read", new Path(operatorFolder, path))(inner.fetch(path, local))

  /** Most files are small, and a request of an object store takes 20 ms and more. */
  override def downloaders: Executor = ThreadPools.downloads

  override def head(path: String, bytes: Int): Option[Array[Byte]] =
    patiently("read", new Path(operatorFolder, path))(inner.head(path, bytes))

  private def patiently[T](what: String, path: Path)(operation: => T): T = {
    val start = System.nanoTime()
    val end = start + TimeUnit.SECONDS.toNanos(timeoutSeconds.toLong)
    def failure(error: Throwable, attempt: Int): Throwable = Failures.unavailable(
      s"the checkpoint's file system does not answer as it should: a path could not be $what (path $path, found $error " +
        s"in attempt $attempt of $attempts, after ${TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start)} s of " +
        s"$timeoutSeconds): nothing is lost; restart the query when the file system answers, or raise " +
        "keyGroups.fileAttempts and keyGroups.fileTimeoutSeconds", error)
    var attempt = 1
    var result = Option.empty[T]
    while (result.isEmpty) {
      try result = Some(inTime(end)(operation))
      catch {
        case late: TimeoutException => throw failure(late, attempt)
        case error: IOException if isTransient(error) =>
          val pause = pauseMillis(attempt)
          if (attempt >= attempts || System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pause) >= end) {
            throw failure(error, attempt)
          }
          logWarning(s"$path could not be $what, attempt $attempt of $attempts: $error")
          Thread.sleep(pause)
          attempt += 1
      }
    }
    result.get
  }

  /** Run an operation on another thread, which is interrupted at the deadline. */
  private def inTime[T](end: Long)(operation: => T): T = {
    val running: Future[T] = ThreadPools.fileOperation(operation)
    def giveUp(error: Exception): Nothing = {
      running.cancel(true)
      throw error
    }
    try running.get(math.max(0L, end - System.nanoTime()), TimeUnit.NANOSECONDS)
    catch {
      case error: ExecutionException => throw error.getCause
      case _: TimeoutException => giveUp(new TimeoutException("no answer in time"))
      case interrupted: InterruptedException => giveUp(Failures.interrupted(interrupted))
    }
  }
}

private object RetryingFiles {
  /** 0.1, 0.4, 1.6 s ... plus up to half of that at random, so that tasks which failed together do not retry together. */
  private def pauseMillis(attempt: Int): Long = {
    val base = math.min(100L << math.min(2 * (attempt - 1), 12), 30000L)
    base + ThreadLocalRandom.current().nextLong(base / 2)
  }

  private def isTransient(error: IOException): Boolean = error match {
    case _: FileNotFoundException | _: AccessDeniedException | _: AccessControlException => false
    case _ => true
  }
}
