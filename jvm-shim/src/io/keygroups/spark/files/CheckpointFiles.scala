package io.keygroups.spark.files

import java.io.InputStream
import java.nio.file.{Files, Path => LocalPath, Paths}
import java.util.concurrent.Executor

import io.keygroups.spark.Settings
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** Files of one store in the checkpoint. Paths in manifests are relative to `<checkpoint>/state/<operator>`. */
trait CheckpointFiles {
  /** The store's folder, for messages. */
  def folder: Path

  /**
   * Name, time of modification in ms and length of all files in a folder; empty if there is none.
   *
   * @param store a store of the operator: the folder's path below the operator's
   */
  def list(store: String): Seq[Seq[Any]]

  /** Create the store's folder: Spark's state reader counts partitions by their folders. */
  def createFolder(): Unit

  /**
   * Put a local file under a new name, atomically.
   *
   * @param moved called whenever some bytes have moved
   */
  private[files] def put(local: LocalPath, name: String, moved: () => Unit = CheckpointFiles.Unseen): Unit

  /** Download a file to a local path; false if it does not exist. For `moved`, see `put`. */
  private[files] def fetch(path: String, local: LocalPath, moved: () => Unit = CheckpointFiles.Unseen): Boolean

  /** The first bytes of a file; None if it does not exist. */
  private[spark] def head(path: String, bytes: Int): Option[Array[Byte]]

  def delete(names: Seq[String]): Unit

  /** Upload a local file, and delete it whether the upload succeeds or fails. */
  def upload(local: String, name: String): Unit = {
    val source = Paths.get(local)
    try put(source, name)
    finally Files.deleteIfExists(source)
  }

  /** Runs downloads of one operation, several at a time where that is faster. */
  def downloaders: Executor = (download: Runnable) => download.run()

  /** Download a file to a local path, or its first 256 KiB; false if it does not exist. */
  def download(path: String, local: LocalPath, headOnly: Boolean): Boolean =
    if (!headOnly) fetch(path, local)
    else {
      val bytes = head(path, CheckpointFiles.HeadBytes)
      bytes.foreach(Files.write(local, _))
      bytes.isDefined
    }
}

object CheckpointFiles {
  private[spark] val HeadBytes = 256 * 1024
  private[spark] val Unseen: () => Unit = () => ()
  private val ManagerKey = "spark.sql.streaming.checkpointFileManagerClass"
  /** Spark's manager that writes without a rename, as `AtomicFiles` does with an eighth of its requests. */
  private val Abortable = "org.apache.spark.internal.io.cloud.AbortableStreamBasedCheckpointFileManager"

  /**
   * Files of one store; through a file manager of the user's choice, if there is one.
   *
   * @param operatorFolder what paths in manifests are relative to
   * @param folder of the store, below it
   */
  def apply(operatorFolder: Path, folder: Path, conf: Configuration, settings: Settings): CheckpointFiles = {
    val fs = folder.getFileSystem(conf)
    val scheme = fs.getUri.getScheme
    val isAtomic = settings.atomicFileSystems.contains(scheme)
    val chosen = conf.get(ManagerKey)
    val isChosen = chosen != null && !(isAtomic && chosen == Abortable)
    if (!isChosen && scheme == "file" && fs.getClass.getName.startsWith("org.apache.hadoop.")) { // Spark with Hive wraps it
      new MountedFiles(operatorFolder, folder)
    } else {
      val files =
        if (!isChosen && isAtomic) new AtomicFiles(operatorFolder, folder, conf)
        else new HadoopFiles(operatorFolder, folder, conf)
      new RetryingFiles(files, operatorFolder, settings.fileAttempts, settings.fileTimeoutSeconds)
    }
  }

  private[files] def readHead(in: InputStream, bytes: Int): Array[Byte] =
    try in.readNBytes(bytes)
    finally in.close()
}
