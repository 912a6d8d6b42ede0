package io.keygroups.spark.files

import java.io.{FileNotFoundException, OutputStream}
import java.nio.file.{Files, Path => LocalPath, Paths, StandardCopyOption}

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, PathFilter}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/** Through Spark's own file manager: whatever file system and credentials the query has work here. */
final class HadoopFiles(operatorFolder: Path, override val folder: Path, conf: Configuration) extends CheckpointFiles {
  private lazy val files = CheckpointFileManager.create(folder, conf)

  override def list(): Seq[Seq[Any]] =
    try {
      val everything: PathFilter = _ => true
      files.list(folder, everything).toSeq.filter(_.isFile).map { status =>
        Seq(status.getPath.getName, status.getModificationTime, status.getLen)
      }
    } catch { case _: FileNotFoundException => Seq.empty }

  override def createFolder(): Unit = if (!files.exists(folder)) files.mkdirs(folder)

  override protected def put(local: LocalPath, name: String): Unit = {
    val output = files.createAtomic(new Path(folder, name), false)
    try {
      Files.copy(local, output: OutputStream)
      output.close()
    } catch {
      case error: Throwable =>
        try output.cancel()
        catch { case NonFatal(suppressed) => error.addSuppressed(suppressed) }
        throw error
    }
  }

  override protected def fetch(path: String, local: LocalPath): Boolean = {
    val part = Paths.get(local.toString + ".part")
    try {
      val input = files.open(new Path(operatorFolder, path))
      try Files.copy(input, part, StandardCopyOption.REPLACE_EXISTING)
      finally input.close()
      Files.move(part, local, StandardCopyOption.ATOMIC_MOVE)
      true
    } catch { case _: FileNotFoundException => false }
    finally Files.deleteIfExists(part)
  }

  override protected def head(path: String, bytes: Int): Option[Array[Byte]] =
    try Some(CheckpointFiles.readHead(files.open(new Path(operatorFolder, path)), bytes))
    catch { case _: FileNotFoundException => None }

  override def delete(names: Seq[String]): Unit = names.foreach(name => files.delete(new Path(folder, name)))
}
