package io.keygroups.spark.session

import io.keygroups.spark.bridge.{Catalog, VersionKey, VersionView}
import io.keygroups.spark.segment.MappedSegment

/**
 * A version whose segments are mapped, newest first. It holds them until it is released, once.
 *
 * @param catalog all column families that it has, whether this query has declared them yet or not
 * @param startsEmpty the next version has no row of this one
 */
final class LoadedVersion(val key: VersionKey, val catalog: Catalog, val maxParallelism: Int,
    val segments: Array[MappedSegment], val startsEmpty: Boolean = false) {
  private var released = false

  def bytes: Long = segments.map(_.bytes).sum

  /** Another holder of the same segments; None if this one has released them. */
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

object LoadedVersion {
  /**
   * Map the segments of a version, or hold those that are mapped. If one cannot be mapped, none is held.
   *
   * @param known mapped segments by their ids
   */
  def map(view: VersionView, known: Map[String, MappedSegment], partitions: Int): LoadedVersion = {
    var held = Vector.empty[MappedSegment]
    try {
      view.segments.foreach(s => held :+= known.get(s.id).filter(_.retain()).getOrElse(MappedSegment.open(s, partitions)))
      new LoadedVersion(view.key, view.catalog, view.maxParallelism, held.toArray)
    } catch {
      case error: Throwable =>
        held.foreach(_.release())
        throw error
    }
  }
}
