package io.keygroups.spark

/**
 * An error of the store.
 *
 * @param kind what there is to do about it, as in `keygroups.errors`: setting, checkpoint, capacity, retry, version,
 *             internal
 */
class KeyGroupsException(val kind: String, message: String, cause: Throwable = null)
  extends RuntimeException(message, cause)

object Failures {
  def setting(message: String): KeyGroupsException = new KeyGroupsException("setting", message)

  def version(message: String): KeyGroupsException = new KeyGroupsException("version", message)

  def retry(message: String, cause: Throwable): KeyGroupsException = new KeyGroupsException("retry", message, cause)

  def capacity(message: String, cause: Throwable): KeyGroupsException =
    new KeyGroupsException("capacity", message, cause)

  def damaged(path: String, found: String): KeyGroupsException =
    new KeyGroupsException("checkpoint", s"a local segment file is damaged (path $path, found $found): " +
      "retry; if it happens again, check the disk")
}
