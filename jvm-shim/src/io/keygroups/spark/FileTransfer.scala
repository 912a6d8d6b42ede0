package io.keygroups.spark

import java.io.{File, FileNotFoundException, InputStream, OutputStream}
import java.nio.file.{Files, Path => LocalPath, Paths, StandardCopyOption}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, PathFilter}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/**
 * Files between the local disk and the checkpoint, through Spark's own file manager: whatever file system and
 * credentials the query has work here.
 *
 * @param operatorFolder `<checkpoint>/state/<operator>`, to which the paths in manifests are relative
 * @param storeFolder the store's folder below it
 */
final class FileTransfer(operatorFolder: Path, val storeFolder: Path, hadoopConf: Configuration) {
  private lazy val files = CheckpointFileManager.create(storeFolder, hadoopConf)
  private lazy val isLocal = storeFolder.getFileSystem(hadoopConf).getUri.getScheme == "file"

  /** Name, time of modification and length of all files in the store's folder. */
  def list(): Seq[Seq[Any]] =
    try {
      val everything: PathFilter = _ => true
      files.list(storeFolder, everything).toSeq.filter(_.isFile).map { status =>
        Seq(status.getPath.getName, status.getModificationTime, status.getLen)
      }
    } catch { case _: FileNotFoundException => Seq.empty }

  /** Create the store's folder: Spark's state reader counts partitions by their folders. */
  def createFolder(): Unit = if (!files.exists(storeFolder)) files.mkdirs(storeFolder)

  /** Upload a local file under a name that did not exist, all or nothing, and delete the local file. */
  def upload(local: String, name: String): Unit = {
    val source = Paths.get(local)
    val output = files.createAtomic(new Path(storeFolder, name), false)
    try {
      Files.copy(source, output: OutputStream)
      output.close()
    } catch {
      case error: Throwable =>
        try output.cancel()
        catch { case NonFatal(suppressed) => error.addSuppressed(suppressed) }
        throw error
    } finally Files.deleteIfExists(source)
  }

  /**
   * Download files.
   *
   * @param wanted pairs of path under the operator's folder, and local path
   * @param head the first 256 KiB are enough
   * @return paths that do not exist
   */
  def download(wanted: Seq[(String, String)], head: Boolean): Seq[String] =
    wanted.collect { case (path, local) if !fetch(path, Paths.get(local), head) => path }

  def delete(names: Seq[String]): Unit = names.foreach(name => files.delete(new Path(storeFolder, name)))

  private def fetch(path: String, local: LocalPath, head: Boolean): Boolean = {
    val part = new File(local.toString + ".part").toPath
    try {
      val source = new Path(operatorFolder, path)
      if (!head && isLocal) linkTo(source, local)
      else {
        val input = files.open(source)
        try {
          if (head) Files.write(part, readHead(input)) else Files.copy(input, part, StandardCopyOption.REPLACE_EXISTING)
        } finally input.close()
        Files.move(part, local, StandardCopyOption.ATOMIC_MOVE)
      }
      true
    } catch {
      case _: FileNotFoundException => false
    } finally Files.deleteIfExists(part)
  }

  /** A checkpoint on a mounted file system is read where it lies; files carry checksums of their own. */
  private def linkTo(source: Path, local: LocalPath): Unit = {
    val target = Paths.get(source.toUri.getPath)
    if (!Files.exists(target)) throw new FileNotFoundException(target.toString)
    Files.deleteIfExists(local)
    Files.createSymbolicLink(local, target)
  }

  private def readHead(input: InputStream): Array[Byte] = input.readNBytes(FileTransfer.HeadBytes)
}

object FileTransfer {
  private val HeadBytes = 256 * 1024
}
