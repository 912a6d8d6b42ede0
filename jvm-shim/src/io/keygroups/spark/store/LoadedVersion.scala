package io.keygroups.spark.store

import io.keygroups.spark.bridge.VersionKey
import io.keygroups.spark.segment.MappedSegment

/** A version whose segments are mapped, newest first. It holds them until it is released, once. */
final class LoadedVersion(val key: VersionKey, val numKeys: Long, val maxParallelism: Int,
    val segments: Array[MappedSegment]) {
  private var released = false

  def bytes: Long = segments.map(_.bytes).sum

  /** Another holder of the same segments; None if they are gone. */
  def share(): Option[LoadedVersion] = synchronized {
    if (released) None
    else {
      segments.foreach(_.retain())
      Some(new LoadedVersion(key, numKeys, maxParallelism, segments))
    }
  }

  def release(): Unit = synchronized {
    if (!released) {
      released = true
      segments.foreach(_.release())
    }
  }
}
