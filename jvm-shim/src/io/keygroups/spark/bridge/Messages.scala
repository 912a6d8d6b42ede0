package io.keygroups.spark.bridge

import io.keygroups.spark.segment.SegmentView

/* What crosses the bridge; the other side is keygroups.bridge.messages. */

/**
 * A column family, as a manifest keeps it.
 *
 * @param id its number in segments, never given to another family of the store
 * @param encoder Spark's KeyStateEncoderSpec as JSON
 * @param encoding of values: unsaferow or avro
 * @param lists a key has any number of values
 * @param internal Spark keeps its own books in it
 * @param keys keys that it holds
 */
case class FamilyMessage(id: Int, name: String, key_schema: String, value_schema: String, encoder: String,
    encoding: String, lists: Boolean, internal: Boolean, keys: Long)

/** @param next_family the number of the next family that is created */
case class Catalog(families: Seq[FamilyMessage], next_family: Int)

case class StoreSpec(operatorFolder: String, store: String, partitions: Int)

/** Where a chunk lies and how long its parts are; see `keygroups.segment.chunk`. */
case class ChunkMessage(family: Int, path: String, rows: Int, keyBytes: Long, valueBytes: Long)

case class OpenRequest(spec: StoreSpec, settings: Map[String, String])

/** A version, and which attempt's. */
case class VersionKey(version: Long, checkpointId: Option[String])

/**
 * What was brought from the checkpoint so far for one operation, which may take several calls.
 *
 * @param folder local folder of this operation alone
 * @param listings checkpoint folders, by their stores: of each file its name, time of modification in ms and length
 * @param missing checkpoint paths that do not exist
 */
case class Downloads(folder: String, listings: Map[String, Seq[Seq[Any]]] = Map.empty, missing: Seq[String] = Nil)

/** @param known ids of the segments that this JVM has mapped: the answer does not describe them */
case class LoadRequest(store: Int, key: VersionKey, downloads: Downloads, known: Seq[String])

case class DeletableRequest(store: Int, retain: Int, downloads: Downloads)

/** @param batchTime in seconds since 1970, 0 without a time to live */
case class SpillRequest(store: Int, session: String, chunks: Seq[ChunkMessage], catalog: Catalog, batchTime: Long)

/** @param empty see `CommitRequest` */
case class SaveRequest(store: Int, session: String, segment: String, base: VersionKey, empty: Boolean)

/**
 * @param sorted the session's segments that the store process has, newest first
 * @param saved those of them whose files are uploaded
 * @param empty the next version has no row of the base
 * @param changelog all writes in the order of the calls, where the change feed shows them
 * @param known see `LoadRequest`
 */
case class CommitRequest(store: Int, session: String, base: VersionKey, sorted: Seq[String], saved: Seq[String],
    chunks: Seq[ChunkMessage], catalog: Catalog, batchTime: Long, empty: Boolean, changelog: Seq[ChunkMessage],
    known: Seq[String])

/** @param writes each write, where the version has kept them, rather than the keys of its own file */
case class ChangeRequest(store: Int, key: VersionKey, writes: Boolean, downloads: Downloads)

case class SessionRequest(store: Int, session: String)

case class ForgetRequest(store: Int, key: VersionKey)

case class CompactRequest(store: Int, thorough: Boolean, newest: Boolean)

/** @param known see `LoadRequest` */
case class InstallRequest(store: Int, segment: String, known: Seq[String])

case class AbandonRequest(store: Int, segment: String)

case class UploadedRequest(store: Int, name: String, success: Boolean)

case class CloseRequest(store: Int)

/** Asks after an operation, or cancels it. */
case class TicketRequest(ticket: Long)

/** Rows of a segment, from `start` to `stop`, exclusive. */
case class PieceView(id: String, start: Long, stop: Long)

/**
 * @param revision of two answers with one key the later one has the higher
 * @param runs newest first; of each its pieces in the order of their rows
 * @param batches how many batches or merges made the runs
 * @param segments those of the pieces that this JVM does not know
 */
case class VersionView(key: VersionKey, catalog: Catalog, maxParallelism: Int, revision: Int,
    runs: Seq[Seq[PieceView]], batches: Int, segments: Seq[SegmentView])

/**
 * @param uploads in their order; of each the fields of `keygroups.store.checkpoint_writer.Upload`, a pair in JSON: local path, name in the
 *   checkpoint folder
 */
case class Committed(version: VersionView, uploads: Seq[Seq[String]], compact: Boolean, writeMillis: Long)

/** What a version changed: a version with those rows only; and the version that it was built on. */
case class ChangeView(version: VersionView, parent: Option[VersionKey])

/** @param upload see `Committed`; None if the piece has no rows */
case class Installed(version: VersionView, upload: Option[Seq[String]])

/**
 * What the JVM must bring before it calls again.
 *
 * @param listings stores of the operator whose folders are to be listed
 * @param files pairs of checkpoint path and local path
 */
case class Want(listings: Seq[String], files: Seq[Seq[String]], head: Boolean)

case class Failure(kind: String, message: String)
