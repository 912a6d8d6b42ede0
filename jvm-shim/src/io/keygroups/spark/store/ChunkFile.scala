package io.keygroups.spark.store

import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, StandardOpenOption}
import java.util.UUID

import io.keygroups.spark.Failures
import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.memory.{Arena, Bytes}
import org.apache.spark.unsafe.Platform

/** A file of rows for Python, as `keygroups.segment.chunk` reads it: headers, keys, values. */
private[store] object ChunkFile {
  /** Of a row: locator 8, h 4, key length 4, value length 4, flags 4. */
  val HeaderBytes = 24

  def fillHeader(at: Long, locator: Long, h: Int, keyLength: Int, valueLength: Int, flags: Int): Unit = {
    Platform.putLong(null, at, locator)
    Platform.putInt(null, at + 8, h)
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

  /** Write a new file. KeyGroupsException: the local disk is full, and nothing is left behind. */
  def write(folder: Path, family: Int, rows: Int, keys: Arena, values: Arena)(headers: FileChannel => Unit): ChunkMessage = {
    val path = folder.resolve(s"${UUID.randomUUID()}.chunk")
    try {
      val channel = FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)
      try {
        headers(channel)
        keys.writeTo(channel)
        values.writeTo(channel)
      } finally channel.close()
      ChunkMessage(family, path.toString, rows, keys.bytes, values.bytes)
    } catch {
      case error: IOException =>
        Files.deleteIfExists(path)
        throw Failures.localDisk(folder, error)
    }
  }
}
