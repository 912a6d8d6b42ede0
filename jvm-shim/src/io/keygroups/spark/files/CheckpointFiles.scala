package io.keygroups.spark.files

import java.io.InputStream
import java.nio.file.{Files, Path => LocalPath, Paths}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** Files of one store in the checkpoint. Paths in manifests are relative to `<checkpoint>/state/<operator>`. */
trait CheckpointFiles {
  /** The store's folder, for messages. */
  def folder: Path

  /** Name, time of modification in ms and length of all files in the store's folder; empty if there is no folder. */
  def list(): Seq[Seq[Any]]

  /** Create the store's folder: Spark's state reader counts partitions by their folders. */
  def createFolder(): Unit

  /** Put a local file under a name that did not exist, all or nothing. */
  protected def put(local: LocalPath, name: String): Unit

  /** Bring a file to a local path; false if it does not exist. */
  protected def fetch(path: String, local: LocalPath): Boolean

  /** The first bytes of a file; None if it does not exist. */
  protected def head(path: String, bytes: Int): Option[Array[Byte]]

  def delete(names: Seq[String]): Unit

  /** Upload a local file, and delete it whether that goes well or not. */
  def upload(local: String, name: String): Unit = {
    val source = Paths.get(local)
    try put(source, name)
    finally Files.deleteIfExists(source)
  }

  /**
   * Download files.
   *
   * @param wanted pairs of path and local path
   * @param headOnly the first 256 KiB are enough
   * @return paths that do not exist
   */
  def download(wanted: Seq[(String, String)], headOnly: Boolean): Seq[String] =
    wanted.collect { case (path, local) if !bring(path, Paths.get(local), headOnly) => path }

  private def bring(path: String, local: LocalPath, headOnly: Boolean): Boolean =
    if (!headOnly) fetch(path, local)
    else {
      val bytes = head(path, CheckpointFiles.HeadBytes)
      bytes.foreach(Files.write(local, _))
      bytes.isDefined
    }
}

object CheckpointFiles {
  private val HeadBytes = 256 * 1024
  private val ManagerKey = "spark.sql.streaming.checkpointFileManagerClass"

  def apply(operatorFolder: Path, folder: Path, conf: Configuration): CheckpointFiles =
    if (isMounted(folder, conf)) new MountedFiles(operatorFolder, folder) else new HadoopFiles(operatorFolder, folder, conf)

  /** Hadoop's own local file system (Spark with Hive wraps it), and no file manager of the user's choice. */
  private def isMounted(folder: Path, conf: Configuration): Boolean = {
    val fs = folder.getFileSystem(conf)
    conf.get(ManagerKey) == null && fs.getUri.getScheme == "file" && fs.getClass.getName.startsWith("org.apache.hadoop.")
  }

  private[files] def readHead(in: InputStream, bytes: Int): Array[Byte] =
    try in.readNBytes(bytes)
    finally in.close()
}
