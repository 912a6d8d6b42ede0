package io.keygroups.spark

import java.io.{IOException, InterruptedIOException}
import java.nio.channels.ClosedByInterruptException
import java.nio.file.Path

/**
 * An error of the store.
 *
 * @param kind what there is to do about it, as in `keygroups.errors`: setting, checkpoint, capacity, retry, version,
 *             internal; and unavailable: the checkpoint's file system fails, which only this side talks to
 */
class KeyGroupsException(val kind: String, message: String, cause: Throwable = null)
  extends RuntimeException(message, cause)

object Failures {
  def setting(message: String): KeyGroupsException = new KeyGroupsException("setting", message)

  def version(message: String): KeyGroupsException = new KeyGroupsException("version", message)

  def retry(message: String, cause: Throwable): KeyGroupsException = new KeyGroupsException("retry", message, cause)

  def capacity(message: String, cause: Throwable): KeyGroupsException =
    new KeyGroupsException("capacity", message, cause)

  def unavailable(message: String, cause: Throwable): KeyGroupsException =
    new KeyGroupsException("unavailable", message, cause)

  /** A file in the folder could not be written. Java closes a file when the thread that writes it is interrupted. */
  def localDisk(folder: Path, cause: Throwable): KeyGroupsException =
    if (isInterrupt(cause)) interrupted(cause)
    else scarce(folder, cause).getOrElse(capacity(s"the local disk is full or cannot be written (path $folder, found $cause): free space there, or set " +
      "keyGroups.localDir", cause))

  /** What the operating system refuses: a file handle, or a mapping; None if the error is another. */
  private def scarce(path: Path, cause: Throwable): Option[KeyGroupsException] = Option(cause.getMessage).collect {
    case text if text.contains("Too many open files") =>
      capacity(s"the executor has too many files open (path $path): raise its limit of open files (ulimit -n)", cause)
    case text if text.contains("Map failed") =>
      capacity(s"the executor has too many memory mappings, or no address space (path $path): raise vm.max_map_count on " +
        "the machine", cause)
  }

  /** Open or map a file of the local disk. KeyGroupsException: the operating system refuses that. */
  def opening[T](path: Path)(body: => T): T =
    try body
    catch { case error: IOException => throw scarce(path, error).getOrElse(error) }

  def isInterrupt(error: Throwable): Boolean = error match {
    case _: ClosedByInterruptException | _: InterruptedException | _: InterruptedIOException => true
    case _ => false
  }

  def interrupted(cause: Throwable): KeyGroupsException = retry("the task was interrupted", cause)

  def damaged(path: String, found: String): KeyGroupsException =
    new KeyGroupsException("checkpoint", s"a local segment file is damaged (path $path, found $found): " +
      "retry; if it happens again, check the disk")

  def unfit(family: String, expected: String, found: String): KeyGroupsException =
    new KeyGroupsException("checkpoint", s"the checkpoint has a column family '$family' of another form than the query " +
      s"(expected $expected, found $found): restore the checkpoint, or start the query on a new one")

  def missing(path: String, cause: Throwable): KeyGroupsException =
    retry(s"a local segment file is missing (path $path, expected a file of the store process, found none): the task is " +
      "retried; if it happens again, find out what deletes files there, or set keyGroups.localDir", cause)

  def foreignId(commitLog: String, id: String): KeyGroupsException = new KeyGroupsException("checkpoint",
    s"the commit log names a state store checkpoint id that keygroups did not write (path $commitLog, expected 32 " +
      s"hexadecimal digits, found '${id.take(80)}'): restore the checkpoint from a backup, run the query with the state " +
      "store provider that wrote it, or start the query on a new checkpoint")

  def noMemory(limit: Long, found: Long): KeyGroupsException =
    capacity("the indexes of the state on this executor, and the keys beside them, do not fit into memory " +
      s"(expected at most $limit bytes, found $found): raise spark.executor.memoryOverhead, and keyGroups.memoryBudget if it " +
      "is set, or give the query more executors", null)

  def behind(store: String, most: Int, found: Int, cause: Throwable): KeyGroupsException =
    capacity(s"the runs of a store cannot be merged, and become too many (path $store, expected fewer than $most, found " +
      s"$found): the previous version stays good; mend what makes merges fail (${cause.getMessage}), and restart the query", cause)

  def slowUpload(path: String): KeyGroupsException =
    capacity(s"the upload of merged rows took so long that another executor may delete the file (path $path, expected less " +
      "than half an hour): nothing is lost, and the next merge uploads the rows again; give the executor a faster way to the " +
      "checkpoint, or lower keyGroups.blockBytes, which makes smaller files", null)

  def tooLongToRead(bytes: Long, limit: Int): KeyGroupsException =
    capacity(s"the values of one key are too long to be read together (expected at most $limit bytes, found $bytes): " +
      "put fewer values under one key", null)

  def tooLongToWrite(bytes: Long, limit: Int): KeyGroupsException =
    capacity(s"a value, or the list of values of one key, is too long to be written (expected at most $limit bytes, found " +
      s"$bytes): write shorter values, or append to a list in several calls", null)
}
