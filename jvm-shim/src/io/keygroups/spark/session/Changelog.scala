package io.keygroups.spark.session

import io.keygroups.spark.bridge.ChunkMessage
import io.keygroups.spark.keys.KeyProbe
import io.keygroups.spark.memory.Arena

/**
 * All writes of a session to one family, in the order of the calls, for a change feed that shows each write. An overlay keeps
 * only the last state of a key. The rows have their number in place of the locator that rows of other chunks have.
 */
final class Changelog(family: Int) {
  private var headers = new Arena
  private var keys = new Arena
  private var values = new Arena
  private var number = 0L
  private var rows = 0
  private var files = Vector.empty[ChunkMessage]

  /** Add a write; returns the bytes that it takes. */
  def add(probe: KeyProbe, value: ValueBytes, isAppended: Boolean): Int = {
    val length = if (value.isTombstone) 0 else value.length
    val flags = (if (value.isTombstone) OverlayRow.Tombstone else 0) | (if (isAppended) OverlayRow.Appended else 0)
    ChunkFile.append(keys, probe.base, probe.offset, probe.length)
    ChunkFile.append(values, value.base, value.offset, length)
    ChunkFile.fillHeader(headers.allocate(ChunkFile.HeaderBytes), number, probe.keyGroup, probe.length, length, flags)
    number += 1
    rows += 1
    ChunkFile.HeaderBytes + probe.length + length
  }

  /** Move the rows in memory to a file. If that fails, they stay in memory. */
  def spill(target: SessionFiles): Unit = if (rows > 0) {
    files :+= ChunkFile.write(target, family, rows, keys, values)(headers.writeTo)
    release()
    headers = new Arena
    keys = new Arena
    values = new Arena
    rows = 0
  }

  /** All writes, in files. */
  def seal(target: SessionFiles): Seq[ChunkMessage] = {
    spill(target)
    files
  }

  def release(): Unit = Seq(headers, keys, values).foreach(_.release())
}
