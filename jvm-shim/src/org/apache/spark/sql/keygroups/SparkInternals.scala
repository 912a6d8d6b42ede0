package org.apache.spark.sql.keygroups

import java.io.File
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import scala.jdk.CollectionConverters._

import io.keygroups.spark.KeyGroupsException
import org.apache.hadoop.fs.Path
import org.apache.spark.{SparkEnv, SparkException, SparkFiles, SparkThrowable}
import org.apache.spark.api.python.PythonUtils
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.streaming.state.StateStoreErrors
import org.apache.spark.util.Utils

/** The few things of Spark that are visible inside its own packages only, in one place. */
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

  def deleteRecursively(folder: File): Unit = Utils.deleteRecursively(folder)

  /** Spark's error of a failed commit. Its text ends with ours: users see no causes in a StreamingQueryException. */
  def failedToCommit(store: String, cause: Throwable): Throwable =
    withText(QueryExecutionErrors.failedToCommitStateFileError(store, cause), cause)

  /** Spark's error of a failed load of the store in that folder, likewise. */
  def failedToLoad(folder: Path, cause: Throwable): Throwable = cause match {
    case damaged: KeyGroupsException if damaged.kind == "checkpoint" =>
      withText(QueryExecutionErrors.failedToReadStreamingStateFileError(folder, cause), cause)
    case known: SparkThrowable if known.getCondition != null => StateStoreErrors.cannotLoadStore(cause)
    case _ => withText(StateStoreErrors.cannotLoadStore(cause), cause)
  }

  def unexpectedVersion(version: Long): Throwable = QueryExecutionErrors.unexpectedStateStoreVersion(version)

  private def withText(error: Throwable, cause: Throwable): Throwable = error match {
    case known: SparkThrowable =>
      val text = s"${error.getMessage.trim} ${Option(cause.getMessage).getOrElse(cause.toString)}"
      new SparkException(text, cause, Option(known.getCondition), known.getMessageParameters.asScala.toMap)
    case _ => error
  }
}
