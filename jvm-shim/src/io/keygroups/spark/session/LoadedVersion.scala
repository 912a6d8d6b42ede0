package io.keygroups.spark.session

import io.keygroups.spark.bridge.{Catalog, PieceView, VersionKey, VersionView}
import io.keygroups.spark.segment.{MappedRun, MappedSegment, Piece, SegmentView}

/**
 * A version whose segments are mapped. It holds them until it is released, once.
 *
 * @param catalog all column families that it has, whether this query has declared them yet or not
 * @param runs newest first
 * @param batches see `VersionView`
 * @param revision see `VersionView`
 * @param startsEmpty the next version has no row of this one
 */
final class LoadedVersion(val key: VersionKey, val catalog: Catalog, val maxParallelism: Int,
    val runs: Array[MappedRun], val batches: Int = 0, val revision: Int = 0, val startsEmpty: Boolean = false) {
  private var released = false

  /** Each once. */
  val segments: Array[MappedSegment] = runs.flatMap(_.pieces.map(_.segment)).distinct

  def bytes: Long = segments.map(_.bytes).sum
  def ownBytes: Long = segments.map(_.ownBytes).sum

  /** Another holder of the same segments; None if this one has released them. */
  def share(): Option[LoadedVersion] = synchronized {
    if (released) None
    else {
      segments.foreach(_.retain())
      Some(new LoadedVersion(key, catalog, maxParallelism, runs, batches, revision, startsEmpty))
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
   * @param known mapped segments by their ids, which the view does not describe
   * @param open maps a segment
   */
  def map(view: VersionView, known: Map[String, MappedSegment], open: SegmentView => MappedSegment): LoadedVersion = {
    val described = view.segments.map(s => s.id -> s).toMap
    var held = Map.empty[String, MappedSegment]
    try {
      view.runs.iterator.flatten.map(_.id).distinct.foreach { id =>
        held += id -> known.get(id).filter(_.retain()).getOrElse(open(described(id)))
      }
      val runs = view.runs.map(run => new MappedRun(run.map(pieceOf(_, held)).toArray))
      new LoadedVersion(view.key, view.catalog, view.maxParallelism, runs.toArray, view.batches, view.revision)
    } catch {
      case error: Throwable =>
        held.valuesIterator.foreach(_.release())
        throw error
    }
  }

  private def pieceOf(view: PieceView, held: Map[String, MappedSegment]): Piece =
    new Piece(held(view.id), view.start, view.stop)
}
