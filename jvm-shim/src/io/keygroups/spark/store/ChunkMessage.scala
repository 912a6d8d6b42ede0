package io.keygroups.spark.store

/** Where a chunk lies and how long its parts are; see `keygroups.segment.chunk`. */
case class ChunkMessage(path: String, rows: Int, keyBytes: Long, valueBytes: Long)
