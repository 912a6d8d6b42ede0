package io.keygroups.spark.files

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{AccessDeniedException, Path => LocalPath}
import java.util.concurrent.{ExecutionException, Executor, Future, ThreadLocalRandom, TimeoutException, TimeUnit}

import scala.annotation.tailrec

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
 * @param timeoutSeconds for all attempts of an operation together, from when the last bytes of a file moved
 */
final class RetryingFiles(inner: CheckpointFiles, operatorFolder: Path, attempts: Int, timeoutSeconds: Int)
  extends CheckpointFiles with Logging {
  import RetryingFiles._

  override def folder: Path = inner.folder
  override def list(store: String): Seq[Seq[Any]] =
    patiently("listed", new Path(operatorFolder, store), _ => inner.list(store))
  override def createFolder(): Unit = patiently("created", folder, _ => inner.createFolder())
  override def delete(names: Seq[String]): Unit = patiently("cleaned", folder, _ => inner.delete(names))

  /**
   * If this fails, the file may exist all the same, since its acknowledgement was lost or came too late. It stays: Spark may have
   * committed another attempt at the version by now, and where it has no checkpoint ids, the next batch may have loaded this one.
   */
  override def put(local: LocalPath, name: String, moved: () => Unit): Unit =
    patiently("written", new Path(folder, name), inner.put(local, name, _))

  override def fetch(path: String, local: LocalPath, moved: () => Unit): Boolean =
    patiently("read", new Path(operatorFolder, path), inner.fetch(path, local, _))

  /** Most files are small, and a request of an object store takes 20 ms and more. */
  override def downloaders: Executor = ThreadPools.downloads

  override def head(path: String, bytes: Int): Option[Array[Byte]] =
    patiently("read", new Path(operatorFolder, path), _ => inner.head(path, bytes))

  /** @param operation gets what it may call whenever some bytes have moved */
  private def patiently[T](what: String, path: Path, operation: (() => Unit) => T): T = {
    val deadline = new Deadline(timeoutSeconds)
    def failure(error: Throwable, attempt: Int): Throwable = Failures.unavailable(
      s"the checkpoint's file system does not answer as it should: a path could not be $what (path $path, found $error " +
        s"in attempt $attempt of $attempts, $deadline): nothing is lost; restart the query when the file system answers, " +
        "or raise keyGroups.fileAttempts and keyGroups.fileTimeoutSeconds", error)
    var attempt = 1
    var result = Option.empty[T]
    while (result.isEmpty) {
      try result = Some(inTime(deadline)(operation(deadline.moved)))
      catch {
        case late: TimeoutException => throw failure(late, attempt)
        case error: IOException if isTransient(error) =>
          val pause = pauseMillis(attempt)
          if (attempt >= attempts || deadline.nanosLeft <= TimeUnit.MILLISECONDS.toNanos(pause)) {
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
  private def inTime[T](deadline: Deadline)(operation: => T): T = {
    val running: Future[T] = ThreadPools.fileOperation(operation)
    def giveUp(error: Exception): Nothing = {
      running.cancel(true)
      throw error
    }
    try await(running, deadline)
    catch {
      case error: ExecutionException => throw error.getCause
      case _: TimeoutException => giveUp(new TimeoutException("no answer in time"))
      case interrupted: InterruptedException => giveUp(Failures.interrupted(interrupted))
    }
  }

  /** Throws TimeoutException. Bytes that move put the deadline off. */
  @tailrec private def await[T](running: Future[T], deadline: Deadline): T = {
    val answer =
      try Some(running.get(math.max(0L, deadline.nanosLeft), TimeUnit.NANOSECONDS))
      catch { case _: TimeoutException if deadline.nanosLeft > 0 => None }
    answer match {
      case Some(result) => result
      case None => await(running, deadline)
    }
  }
}

private object RetryingFiles {
  /** So many seconds from the start of an operation, or from when bytes last moved. */
  final class Deadline(seconds: Int) {
    private val start = System.nanoTime()
    @volatile private var last = start

    val moved: () => Unit = () => last = System.nanoTime()
    def nanosLeft: Long = TimeUnit.SECONDS.toNanos(seconds.toLong) - (System.nanoTime() - last)
    override def toString: String = s"after ${since(start)} s, of which nothing moved for ${since(last)} s of $seconds"
    private def since(nanos: Long): Long = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - nanos)
  }

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
