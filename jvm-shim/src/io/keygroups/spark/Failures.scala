package io.keygroups.spark

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

  def localDisk(folder: Path, cause: Throwable): KeyGroupsException =
    capacity(s"the local disk is full or can't be written (path $folder, found $cause): free space there, or set " +
      "keyGroups.localDir", cause)

  def damaged(path: String, found: String): KeyGroupsException =
    new KeyGroupsException("checkpoint", s"a local segment file is damaged (path $path, found $found): " +
      "retry; if it happens again, check the disk")

  def unfit(family: String, expected: String, found: String): KeyGroupsException =
    new KeyGroupsException("checkpoint", s"the checkpoint has a column family '$family' of another form than the query " +
      s"(expected $expected, found $found): restore the checkpoint, or start the query on a new one")

  def tooLong(bytes: Long, limit: Int): KeyGroupsException =
    capacity(s"the values of one key are too long to be read together (expected at most $limit bytes, found $bytes): " +
      "put fewer values under one key", null)
}
