package io.keygroups.spark.store

import java.nio.file.{Files, Path, Paths}

import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.keys.KeyProbe
import io.keygroups.spark.memory.Arena

/**
 * All writes of a session to one family, in the order of the calls, for a change feed that shows each of them. An overlay
 * keeps only what a key has at the end. Its rows are numbered where those of other chunks have their locators.
 */
final class Changelog(family: Int) {
  private var headers = new Arena
  private var keys = new Arena
  private var values = new Arena
  private var number = 0L
  private var rows = 0
  private var files = Vector.empty[ChunkMessage]

  /** Note a write; the bytes that it takes. */
  def add(probe: KeyProbe, value: ValueBytes, isAppended: Boolean): Int = {
    val length = if (value.isTombstone) 0 else value.length
    val flags = (if (value.isTombstone) Overlay.Tombstone else 0) | (if (isAppended) Overlay.Appended else 0)
    ChunkFile.append(keys, probe.base, probe.offset, probe.length)
    ChunkFile.append(values, value.base, value.offset, length)
    ChunkFile.fillHeader(headers.allocate(ChunkFile.HeaderBytes), number, probe.h, probe.length, length, flags)
    number += 1
    rows += 1
    ChunkFile.HeaderBytes + probe.length + length
  }

  /** Move what memory holds to a file. */
  def spill(folder: Path): Unit = if (rows > 0) {
    files :+= ChunkFile.write(folder, family, rows, keys, values)(headers.writeTo)
    freeMemory()
    headers = new Arena
    keys = new Arena
    values = new Arena
    rows = 0
  }

  /** All writes, in files. */
  def seal(folder: Path): Seq[ChunkMessage] = {
    spill(folder)
    files
  }

  /** Let go of memory and files; Python has deleted those that it has read. */
  def release(): Unit = {
    freeMemory()
    files.foreach(file => Files.deleteIfExists(Paths.get(file.path)))
    files = Vector.empty
  }

  private def freeMemory(): Unit = Seq(headers, keys, values).foreach(_.release())
}
