package org.apache.spark.sql.keygroups

import java.io.File
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.spark.{SparkEnv, SparkFiles}
import org.apache.spark.api.python.PythonUtils
import org.apache.spark.sql.errors.QueryExecutionErrors
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
    PythonUtils.mergePythonPaths((own ++ shipped :+ PythonUtils.sparkPythonPath): _*)
  }

  /** A new folder, 0700, under `parent` or, if that is empty, under Spark's local directory; gone at JVM exit. */
  def createLocalFolder(parent: String): File = {
    val root = if (parent.nonEmpty) parent else Utils.getLocalDir(SparkEnv.get.conf)
    val folder = Utils.createTempDir(root, "keygroups")
    Files.setPosixFilePermissions(folder.toPath, PosixFilePermissions.fromString("rwx------"))
    folder
  }

  def deleteRecursively(folder: File): Unit = Utils.deleteRecursively(folder)

  def failedToCommit(store: String, cause: Throwable): Throwable =
    QueryExecutionErrors.failedToCommitStateFileError(store, cause)

  def unexpectedVersion(version: Long): Throwable = QueryExecutionErrors.unexpectedStateStoreVersion(version)
}
