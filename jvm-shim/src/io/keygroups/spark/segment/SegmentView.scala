package io.keygroups.spark.segment

/** Where the columns of a block lie in its file; see `keygroups.segment.layout`. -1 where a buffer does not exist. */
case class BlockLayout(
    family: Int,
    rows: Int,
    locator: Long,
    keyGroup: Long,
    keyWidth: Int,
    keyOffsets: Long,
    keyData: Long,
    keyBytes: Long,
    valueWidth: Int,
    valueOffsets: Long,
    valueData: Long,
    valueBytes: Long,
    valueValidity: Long,
    appended: Long,
    written: Long)

/** A local segment file. */
case class SegmentView(id: String, path: String, rows: Long, bytes: Long, blocks: Seq[BlockLayout])
