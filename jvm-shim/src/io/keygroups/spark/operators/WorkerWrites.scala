package io.keygroups.spark.operators

import java.lang.{Long => JavaLong} // Jackson knows no other in collections
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, NoSuchFileException, Paths}

import io.keygroups.spark.{Failures, KeyGroupStateStore}
import io.keygroups.spark.bridge.{ChunkMessage, Json}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.{DataType, StructType}

/** What a worker is told of its version; the other side is `keygroups.partition.view`. */
case class WorkerView(folder: String, runs: Seq[Seq[StoredPiece]], families: Map[String, StoredFamily], maxParallelism: Int,
    watermark: Long, now: Long, partition: Int, partitions: Int)

/** @param span which rows of the file count: from the first number to the second, exclusive */
case class StoredPiece(path: String, span: Seq[JavaLong])

/** A column family of the version. */
case class StoredFamily(number: Int, keySchema: String, valueSchema: String, lists: Boolean)

/**
 * A family that a worker has written to.
 *
 * @param replaces the chunks are all of its rows: those of the version have another form
 */
case class WrittenFamily(name: String, keySchema: String, valueSchema: String, prefixColumns: Int, rangeColumns: Int,
    lists: Boolean, internal: Boolean, newKeys: Long, chunks: Seq[WrittenChunk], replaces: Boolean)

case class WrittenChunk(path: String, rows: Int, keyBytes: Long, valueBytes: Long)

/**
 * What a worker did.
 *
 * @param nextTimer when its next processing timer is due
 * @param metrics the function's counters and gauges
 */
case class Written(families: Seq[WrittenFamily], nextTimer: Option[JavaLong], metrics: Map[String, JavaLong])

/** The files through which a Python worker hands its writes to the store of its task. */
private[operators] final class WorkerWrites(store: KeyGroupStateStore) {
  requireFit()
  private val folder = store.session.files.newFolder()

  /** The version that a worker begins with, and the times of the batch in milliseconds. */
  def view(watermark: Long, now: Long, partitions: Int): String = {
    def version = store.session.version
    val families = version.catalog.families.map { family =>
      family.name -> StoredFamily(family.id, family.key_schema, family.value_schema, family.lists)
    }
    val runs = linked(WorkerWrites.Attempts)
    val partition = store.id.partitionId
    Json.write(WorkerView(folder.toString, runs, families.toMap, version.maxParallelism, watermark, now, partition, partitions))
  }

  /** Make the worker's writes those of the store's session. */
  def take(): Written = {
    val written = Json.read[Written](new String(Files.readAllBytes(folder.resolve("written.json")), UTF_8))
    val families = written.families
    families.foreach(declare)
    val rounds = families.map(_.chunks.length).maxOption.getOrElse(0)
    // Older chunks of a family are sorted first: a commit takes one of each.
    for (round <- 0 until rounds - 1) {
      store.session.sortTaken(families.filter(_.chunks.length > round + 1).map(family => chunk(family, round)))
    }
    families.foreach { family =>
      val last = family.chunks.indices.lastOption.map(chunk(family, _))
      store.session.find(family.name).get.take(last, family.newKeys)
    }
    written
  }

  /**
   * The version's files by links in the folder: a compaction deletes those that it has replaced, even if the worker has not
   * opened them yet. One that has ended and is not yet seen in this JVM has deleted them already.
   */
  private def linked(attempts: Int): Seq[Seq[StoredPiece]] =
    try {
      val version = store.session.version
      val links = version.segments.map { segment =>
        val link = folder.resolve(s"$attempts-${segment.view.id}.segment")
        segment -> Files.createLink(link, Paths.get(segment.view.path)).toString
      }.toMap
      version.runs.toSeq.map(_.pieces.toSeq.map(piece => StoredPiece(links(piece.segment), Seq(piece.start, piece.stop))))
    } catch {
      case error: NoSuchFileException =>
        if (attempts == 1) throw Failures.missing(error.getFile, error)
        Thread.sleep(WorkerWrites.PauseMillis)
        store.reload()
        linked(attempts - 1)
    }

  /** KeyGroupsException if a setting asks for what a worker does not do. */
  private def requireFit(): Unit = {
    val session = store.session
    if (session.expiry.horizon > 0) refuse("keyGroups.ttl is set", "leave this operator out of keyGroups.ttlOperators, or ttl unset")
    if (session.feedsWrites) refuse("keyGroups.changeFeed is writes", "set it to keys")
  }

  private def refuse(found: String, fix: String): Nothing =
    throw Failures.setting(s"a function of keygroups.key_by cannot run with this setting (found $found): $fix")

  private def declare(family: WrittenFamily): Unit = {
    val keySchema = schema(family.keySchema)
    val encoder =
      if (family.rangeColumns > 0) RangeKeyScanStateEncoderSpec(keySchema, 0 until family.rangeColumns)
      else if (family.prefixColumns > 0) PrefixKeyScanStateEncoderSpec(keySchema, family.prefixColumns)
      else NoPrefixKeyStateEncoderSpec(keySchema)
    if (family.replaces) store.removeColFamilyIfExists(family.name)
    store.createColFamilyIfAbsent(family.name, keySchema, schema(family.valueSchema), encoder, family.lists, family.internal)
  }

  private def schema(json: String): StructType = DataType.fromJson(json).asInstanceOf[StructType]

  private def chunk(family: WrittenFamily, number: Int): ChunkMessage = {
    val written = family.chunks(number)
    val id = store.session.find(family.name).get.family.id
    ChunkMessage(id, written.path, written.rows, written.keyBytes, written.valueBytes)
  }
}

private object WorkerWrites {
  /** Half a minute: mapping a merged segment of a gigabyte takes seconds. */
  val Attempts = 300
  val PauseMillis = 100
}
