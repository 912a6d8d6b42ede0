package io.keygroups.spark.files

import java.nio.file.{AtomicMoveNotSupportedException, Files, NoSuchFileException, Path => LocalPath, Paths, StandardCopyOption}
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.fs.Path

/**
 * A checkpoint on a mounted file system (a local disk, NFS), through java.nio. Hadoop's local file system starts a shell to
 * set permissions and to rename where its native library is missing, as it is in pyspark: 33 ms for a file of 500 kB that
 * takes 1 ms here. Files contain checksums, so there are no `.crc` files. A download is a symbolic link.
 */
final class MountedFiles(operatorFolder: Path, override val folder: Path) extends CheckpointFiles {
  private val root = local(folder)

  override def list(store: String): Seq[Seq[Any]] = {
    val listed = local(new Path(operatorFolder, store))
    if (!Files.isDirectory(listed)) Seq.empty
    else Using.resource(Files.list(listed)) { entries =>
      entries.iterator().asScala.filter(Files.isRegularFile(_)).flatMap { path =>
        try Some(Seq[Any](path.getFileName.toString, Files.getLastModifiedTime(path).toMillis, Files.size(path)))
        catch { case _: NoSuchFileException => None } // deleted or renamed meanwhile
      }.toSeq
    }
  }

  override def createFolder(): Unit = {
    Files.createDirectories(root)
    ()
  }

  override def put(source: LocalPath, name: String): Unit = {
    createFolder()
    try Files.move(source, root.resolve(name), StandardCopyOption.ATOMIC_MOVE)
    catch { case _: AtomicMoveNotSupportedException => copy(source, name) }
    ()
  }

  /** From another disk. */
  private def copy(source: LocalPath, name: String): Unit = {
    val temporary = root.resolve(s".$name.${UUID.randomUUID()}.tmp")
    try {
      Files.copy(source, temporary)
      Files.move(temporary, root.resolve(name), StandardCopyOption.ATOMIC_MOVE)
    } finally Files.deleteIfExists(temporary)
  }

  override def fetch(path: String, link: LocalPath): Boolean = {
    val target = local(new Path(operatorFolder, path))
    if (!Files.exists(target)) false
    else {
      Files.deleteIfExists(link)
      Files.createSymbolicLink(link, target)
      true
    }
  }

  override def head(path: String, bytes: Int): Option[Array[Byte]] =
    try Some(CheckpointFiles.readHead(Files.newInputStream(local(new Path(operatorFolder, path))), bytes))
    catch { case _: NoSuchFileException => None }

  override def delete(names: Seq[String]): Unit = names.foreach(name => Files.deleteIfExists(root.resolve(name)))

  private def local(path: Path): LocalPath = Paths.get(path.toUri.getPath)
}
