package org.apache.spark.sql.execution.streaming.state.keygroups

import java.io.File
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions
import java.util.UUID

import scala.jdk.CollectionConverters._

import io.keygroups.spark.KeyGroupsException
import io.keygroups.spark.session.{EncodedValues, ValueCodec}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.{SparkEnv, SparkException, SparkFiles, SparkThrowable}
import org.apache.spark.api.python.PythonUtils
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.{NextIterator, Utils}

/** What we use of Spark that is visible inside its own packages only. */
object SparkInternals {

  /** The interpreter that Spark gives to Python code on this executor, if the query names no other. */
  def python(configured: String): String =
    Seq(
      Option(configured),
      Option(SparkEnv.get).flatMap(env => env.conf.getOption("spark.pyspark.python")),
      Option(System.getenv("PYSPARK_PYTHON"))
    ).flatten.find(_.nonEmpty).getOrElse("python3")

  /** PYTHONPATH for a process that finds what Spark's own Python workers find, `--py-files` included. */
  def pythonPath(): String = {
    val shipped =
      if (SparkEnv.get == null) Seq.empty
      else {
        val root = new File(SparkFiles.getRootDirectory())
        val archives = Option(root.listFiles()).toSeq.flatten.map(_.getPath)
        root.getPath +: archives.filter(p => Seq(".zip", ".egg", ".whl").exists(p.endsWith)).sorted
      }
    val own = Option(System.getenv("PYTHONPATH")).toSeq
    val merged = PythonUtils.mergePythonPaths((own ++ shipped :+ PythonUtils.sparkPythonPath): _*)
    // The process has another working folder than this one.
    merged.split(File.pathSeparator).filter(_.nonEmpty).map(new File(_).getAbsolutePath).mkString(File.pathSeparator)
  }

  /** A new folder, 0700, under `parent` or, if that is empty, under Spark's local directory; gone at JVM exit. */
  def createLocalFolder(parent: String): File = {
    val spark = Option(SparkEnv.get).map(env => Utils.getLocalDir(env.conf))
    val root = if (parent.nonEmpty) parent else spark.getOrElse(System.getProperty("java.io.tmpdir"))
    val folder = Utils.createTempDir(root, "keygroups")
    Files.setPosixFilePermissions(folder.toPath, PosixFilePermissions.fromString("rwx------"))
    folder
  }

  /** Also in a thread that is interrupted, as that of a task whose query stops: Spark waits for a process that deletes. */
  def deleteRecursively(folder: File): Unit = {
    val interrupted = Thread.interrupted()
    try Utils.deleteRecursively(folder)
    finally if (interrupted) Thread.currentThread().interrupt()
  }

  /** Spark's error of a failed commit. Its text ends with ours: users see no causes in a StreamingQueryException. */
  def failedToCommit(store: String, cause: Throwable): Throwable =
    withText(QueryExecutionErrors.failedToCommitStateFileError(store, cause), cause)

  /** Spark's error of a failed load of the store in that folder, with ours at the end of its text. */
  def failedToLoad(folder: Path, cause: Throwable): Throwable = cause match {
    case damaged: KeyGroupsException if damaged.kind == "checkpoint" =>
      withText(QueryExecutionErrors.failedToReadStreamingStateFileError(folder, cause), cause)
    case known: SparkThrowable if known.getCondition != null => StateStoreErrors.cannotLoadStore(cause)
    case _ => withText(StateStoreErrors.cannotLoadStore(cause), cause)
  }

  /** The schemas of Spark's own tests come from no file: families are added to them here. */
  def tellTests(schemas: StateSchemaProvider, family: String, keySchema: StructType, valueSchema: StructType): Unit =
    schemas match {
      case test: TestStateSchemaProvider => test.captureSchema(family, keySchema, valueSchema)
      case _ => ()
    }

  /** Values in Avro, each with the number of its schema; readers bring them to the present one. */
  def avroValues(keySchema: StructType, valueSchema: StructType, schemas: Option[StateSchemaProvider],
      family: String): ValueCodec = {
    val encoder = new AvroStateEncoder(NoPrefixKeyStateEncoderSpec(keySchema), valueSchema, schemas, family)
    new EncodedValues(encoder.encodeValue, encoder.decodeValue)
  }

  /** Report to the driver that a version is complete, which Spark calls the upload of a snapshot. */
  def reportSnapshot(store: StateStoreId, runId: String, version: Long): Unit =
    StateStoreProvider.coordinatorRef.foreach { coordinator =>
      coordinator.snapshotUploaded(StateStoreProviderId(store, UUID.fromString(runId)), version, System.currentTimeMillis())
    }

  /** A row that a version changed: what happened, key, value, batch. */
  type Change = (RecordType.Value, UnsafeRow, UnsafeRow, Long)
  type Changes = NextIterator[Change]

  /** Spark's iterator over another; `release` is called once, at the end or when Spark closes it. */
  def changes(rows: Iterator[Change], release: () => Unit): Changes = new NextIterator[Change] {
    override protected def getNext(): Change =
      if (rows.hasNext) rows.next()
      else {
        finished = true
        null
      }
    override protected def close(): Unit = release()
  }

  /** The run of the query that a provider was made for. */
  def runId(conf: Configuration): String = StateStoreProvider.getRunId(conf)

  def unexpectedVersion(version: Long): Throwable = QueryExecutionErrors.unexpectedStateStoreVersion(version)

  private def withText(error: Throwable, cause: Throwable): Throwable = error match {
    case known: SparkThrowable =>
      val text = s"${error.getMessage.trim} ${Option(cause.getMessage).getOrElse(cause.toString)}"
      new SparkException(text, cause, Option(known.getCondition), known.getMessageParameters.asScala.toMap)
    case _ => error
  }
}
