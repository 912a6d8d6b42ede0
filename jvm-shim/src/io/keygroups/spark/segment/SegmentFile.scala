package io.keygroups.spark.segment

import java.io.IOException
import java.nio.{ByteBuffer, MappedByteBuffer}
import java.nio.channels.FileChannel
import java.nio.file.{Files, NoSuchFileException, Path, StandardOpenOption}
import java.util.UUID

import scala.util.Try

import io.keygroups.spark.Failures
import io.keygroups.spark.memory.OffHeap

/** A segment's file, from which threads read side by side. It may be deleted meanwhile. */
private[segment] final class SegmentFile(path: Path) {
  private val channel = Failures.opening(path)(FileChannel.open(path, StandardOpenOption.READ))
  /** Spark interrupts tasks, and an interrupted read would close the file for all others. */
  val isShareable: Boolean = SegmentFile.ignoreInterrupts(channel)

  def size: Long = channel.size()
  def map(position: Long, bytes: Long): MappedByteBuffer =
    Failures.opening(path)(channel.map(FileChannel.MapMode.READ_ONLY, position, bytes))

  /** A copy outside of the heap. */
  def copy(position: Long, bytes: Int): ByteBuffer = {
    val buffer = OffHeap.allocate(bytes)
    var done = false
    try {
      readFully(buffer, position)
      done = true
    } finally if (!done) OffHeap.free(buffer)
    buffer
  }

  /**
   * A copy in a file of its own, mapped: a page fault reads no more than the copy, where in this file it would read the values
   * around. The file goes with the mapping. KeyGroupsException: the local disk is full.
   */
  def mapCopy(position: Long, bytes: Long): ByteBuffer = {
    val copy = path.resolveSibling(s"keys-${UUID.randomUUID()}")
    try {
      write(copy, position, bytes)
      val target = new SegmentFile(copy)
      try target.map(0, bytes)
      finally target.close()
    } finally Files.deleteIfExists(copy)
  }

  private def write(copy: Path, position: Long, bytes: Long): Unit =
    try {
      val target = FileChannel.open(copy, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)
      try transfer(position, bytes, target)
      finally target.close()
    } catch {
      case error: NoSuchFileException => throw error // the folder of a store process goes with it
      case error: IOException => throw Failures.localDisk(path.getParent, error)
    }

  private def transfer(position: Long, bytes: Long, target: FileChannel): Unit = {
    var done = 0L
    while (done < bytes) {
      val count = channel.transferTo(position + done, bytes - done, target)
      if (count <= 0) throw Failures.damaged(path.toString, "a block lies outside of the file")
      done += count
    }
  }

  /** Read bytes into an array. */
  def read(position: Long, target: Array[Byte], at: Int, length: Int): Unit = {
    var done = 0
    while (done < length) { // each piece has a buffer outside of the heap, which the thread keeps
      val piece = math.min(length - done, SegmentFile.PieceBytes)
      readFully(ByteBuffer.wrap(target, at + done, piece), position + done)
      done += piece
    }
  }

  /** Read bytes that nobody wants yet into the page cache. */
  def touch(position: Long, length: Int, scratch: Array[Byte]): Unit = {
    var done = 0
    while (done < length) {
      val piece = math.min(length - done, scratch.length)
      readFully(ByteBuffer.wrap(scratch, 0, piece), position + done)
      done += piece
    }
  }

  /** Read until a buffer is full. */
  def readFully(target: ByteBuffer, position: Long): Unit = {
    val start = target.position()
    while (target.hasRemaining) {
      if (channel.read(target, position + target.position() - start) < 0) {
        throw Failures.damaged(path.toString, "a block lies outside of the file")
      }
    }
  }

  def close(): Unit = channel.close()
}

private object SegmentFile {
  val PieceBytes: Int = 128 << 10

  /** False where the JDK has no way to it, or where Spark has not opened the package. */
  private def ignoreInterrupts(channel: FileChannel): Boolean =
    Try(channel.getClass.getMethod("setUninterruptible").invoke(channel)).isSuccess
}
