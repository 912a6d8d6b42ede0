package io.keygroups.spark.session

import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.{NoSuchFileException, StandardOpenOption}

import io.keygroups.spark.Failures
import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.memory.{Arena, Bytes}
import org.apache.spark.unsafe.Platform

/** A file of rows for Python, as `keygroups.segment.chunk` reads it: headers, keys, values. */
private[session] object ChunkFile {
  /** Of a row: locator 8, key group 4, key length 4, value length 4, flags 4. */
  val HeaderBytes = 24

  def fillHeader(at: Long, locator: Long, keyGroup: Int, keyLength: Int, valueLength: Int, flags: Int): Unit = {
    Platform.putLong(null, at, locator)
    Platform.putInt(null, at + 8, keyGroup)
    Platform.putInt(null, at + 12, keyLength)
    Platform.putInt(null, at + 16, valueLength)
    Platform.putInt(null, at + 20, flags)
  }

  /** Append bytes to an arena; their address. */
  def append(arena: Arena, base: AnyRef, offset: Long, length: Int): Long = {
    val address = arena.allocate(length)
    if (length > 0) Bytes.copy(base, offset, null, address, length)
    address
  }

  /** Write a new file. KeyGroupsException: the local disk is full, or the task was interrupted; no file is left. */
  def write(files: SessionFiles, family: Int, rows: Int, keys: Arena, values: Arena)(
      headers: FileChannel => Unit): ChunkMessage = {
    val path = files.newPath()
    try {
      val channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)
      try {
        headers(channel)
        keys.writeTo(channel)
        values.writeTo(channel)
      } finally channel.close()
      ChunkMessage(family, path.toString, rows, keys.bytes, values.bytes)
    } catch {
      case error: NoSuchFileException => // the folder of a store process goes with it
        files.delete(path)
        throw Failures.retry("the store process died", error)
      case error: IOException =>
        files.delete(path)
        throw Failures.localDisk(path.getParent, error)
    }
  }
}
