package io.keygroups.spark.versions

import java.io.File
import java.util.concurrent.atomic.AtomicLong

import scala.util.control.NonFatal

import io.keygroups.spark.{ThreadPools, Metrics}
import io.keygroups.spark.bridge._
import io.keygroups.spark.files.CheckpointFiles
import org.apache.spark.internal.Logging

/**
 * Compacts a store: the store process merges, this uploads.
 *
 * @param maxSegments with that many runs a commit waits for the compaction under way
 * @param keepOpen runs an action during which the store stays open
 */
private[spark] final class Compactor(store: OpenStore, name: String, files: CheckpointFiles, maxSegments: Int,
    keepOpen: (() => Unit) => Unit) extends Logging {
  /** Guarded by this object, which is notified after each step of a compaction in the background. */
  private var isRunning = false

  val millis = new AtomicLong()

  /** Compact in the background, unless that is under way. */
  def start(remote: RemoteStore, thorough: Boolean): Unit = {
    val begins = synchronized {
      val wasRunning = isRunning
      isRunning = true
      !wasRunning
    }
    if (begins) continue(remote, thorough)
  }

  /** Wait until the latest version has fewer runs, or no compaction is under way. */
  def awaitIfBehind(): Unit = synchronized {
    while (isRunning && store.latest.exists(_.runs.length >= maxSegments)) wait()
  }

  /** Do one step, then let other stores take their turns. */
  private def continue(remote: RemoteStore, thorough: Boolean): Unit =
    try ThreadPools.compact {
      var goesOn = false
      try goesOn = step(remote, thorough)
      catch {
        case NonFatal(error) => if (store.opened.contains(remote)) logWarning(s"compaction of $name failed", error)
      } finally {
        report(goesOn)
        if (goesOn) continue(remote, thorough)
      }
    } catch {
      case error: Throwable => // there is no thread for it
        report(goesOn = false)
        throw error
    }

  private def report(goesOn: Boolean): Unit = synchronized {
    isRunning = goesOn
    notifyAll()
  }

  /**
   * Compact until there is nothing to do, or the store is closed.
   *
   * @param thorough merge also to save space, and upload segments whose upload failed
   */
  def compact(remote: RemoteStore, thorough: Boolean): Unit = while (step(remote, thorough)) {}

  /** Merge a piece and upload it; false if there was nothing to do, or the store is closed. */
  private def step(remote: RemoteStore, thorough: Boolean): Boolean = {
    var hasMerged = false
    keepOpen { () =>
      if (store.opened.contains(remote)) {
        hasMerged = Metrics.timed(t => millis.addAndGet(t))(store.withKnown(stepKnowing(remote, thorough, _)))
      }
    }
    hasMerged
  }

  private def stepKnowing(remote: RemoteStore, thorough: Boolean, known: KnownSegments): Boolean = {
    val done = store.inBackground(remote.call[Compacted]("compact", CompactRequest(remote.number, thorough, known.ids)))
    done.foreach { compacted =>
      try {
        store.replaceLatest(remote, compacted.version, known)
        compacted.upload.foreach(upload => files.upload(upload.head, upload(1)))
      } catch {
        case error: Throwable =>
          compacted.upload.foreach(upload => new File(upload.head).delete())
          store.ignoring("uploaded")(uploaded(remote, compacted, success = false))
          throw error
      }
      uploaded(remote, compacted, success = true)
    }
    done.isDefined
  }

  private def uploaded(remote: RemoteStore, compacted: Compacted, success: Boolean): Unit =
    compacted.upload.foreach { upload =>
      remote.call[Boolean]("uploaded", UploadedRequest(remote.number, upload(1), success))
    }
}
