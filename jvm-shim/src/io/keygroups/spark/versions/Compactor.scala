package io.keygroups.spark.versions

import java.io.File
import java.util.concurrent.Future
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.util.control.NonFatal

import io.keygroups.spark.{ThreadPools, Metrics}
import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import org.apache.spark.internal.Logging

/**
 * Compacts a store: the store process merges, this uploads.
 *
 * @param maxSegments with that many segments a commit waits for the compaction under way
 * @param keepOpen runs an action during which the store stays open
 */
private[spark] final class Compactor(store: OpenStore, name: String, files: CheckpointFiles, maxSegments: Int,
    keepOpen: (() => Unit) => Unit) extends Logging {
  private val isRunning = new AtomicBoolean()
  @volatile private var running: Future[_] = _

  val millis = new AtomicLong()

  /** Compact in the background, unless that is under way. */
  def start(remote: RemoteStore, thorough: Boolean): Unit =
    if (isRunning.compareAndSet(false, true)) {
      running = ThreadPools.compact {
        try keepOpen(() => compact(remote, thorough))
        catch {
          case NonFatal(error) => if (store.opened.contains(remote)) logWarning(s"compaction of $name failed", error)
        } finally isRunning.set(false)
      }
    }

  def awaitIfBehind(segments: Int): Unit = {
    val compaction = running
    if (segments >= maxSegments && compaction != null) compaction.get()
  }

  /**
   * Compact until there is nothing to do.
   *
   * @param thorough merge also to save space, and upload segments whose upload failed
   */
  def compact(remote: RemoteStore, thorough: Boolean): Unit = Metrics.timed(t => millis.addAndGet(t)) {
    while (compactOnce(remote, thorough)) {}
  }

  private def compactOnce(remote: RemoteStore, thorough: Boolean): Boolean = {
    val done = remote.call[Compacted]("compact", CompactRequest(remote.number, thorough))
    done.foreach { compacted =>
      try {
        store.replaceLatest(remote, compacted.version)
        files.upload(compacted.upload.head, compacted.upload(1))
      } catch {
        case error: Throwable =>
          new File(compacted.upload.head).delete()
          store.ignoring("uploaded")(uploaded(remote, compacted, success = false))
          throw error
      }
      uploaded(remote, compacted, success = true)
    }
    done.isDefined
  }

  private def uploaded(remote: RemoteStore, compacted: Compacted, success: Boolean): Unit =
    remote.call[Boolean]("uploaded", UploadedRequest(remote.number, compacted.upload(1), success))
}
