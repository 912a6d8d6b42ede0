package io.keygroups.spark.store

import io.keygroups.spark.bridge.{Catalog, VersionKey}
import io.keygroups.spark.segment.MappedSegment

/**
 * A version whose segments are mapped, newest first. It holds them until it is released, once.
 *
 * @param catalog all column families that it has, whether this query has declared them yet or not
 * @param startsEmpty whatever the checkpoint has of this version is not to be in the next one
 */
final class LoadedVersion(val key: VersionKey, val catalog: Catalog, val maxParallelism: Int,
    val segments: Array[MappedSegment], val startsEmpty: Boolean = false) {
  private var released = false

  def bytes: Long = segments.map(_.bytes).sum

  /** Another holder of the same segments; None if they are gone. */
  def share(): Option[LoadedVersion] = synchronized {
    if (released) None
    else {
      segments.foreach(_.retain())
      Some(new LoadedVersion(key, catalog, maxParallelism, segments, startsEmpty))
    }
  }

  def release(): Unit = synchronized {
    if (!released) {
      released = true
      segments.foreach(_.release())
    }
  }
}
