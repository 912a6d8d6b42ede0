package io.keygroups.spark.session

import java.nio.file.Path
import java.util.concurrent.CompletableFuture

import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.segment.{MappedSegment, SegmentView}

/** What a session needs of its provider. */
trait SessionHost {
  def overlayBytes: Long
  /** Bytes that the overlays of all sessions may take. */
  def writeMemory: Long
  /** Rows that the last batch wrote to a family. */
  def expectedRows(family: Int): Int
  /** The locator where the search for expired rows of a family continues. */
  def expiryCursor(family: Int): Long
  def setExpiryCursor(family: Int, locator: Long): Unit
  /** Where chunks may be written. */
  def chunkFolder: Path
  /** Whether the change feed shows each write rather than each key. */
  def feedsWrites: Boolean
  /** Sort chunks of a session in the background. When that has ended, in whatever way, the chunks are deleted. */
  def sortChunks(session: Session, chunks: Seq[ChunkMessage]): CompletableFuture[MappedSegment]
  /** Upload a sorted segment of a session in the background; the bytes uploaded, 0 if that is left to the commit. */
  def saveSegment(session: Session, segment: SegmentView): CompletableFuture[Long]
}
