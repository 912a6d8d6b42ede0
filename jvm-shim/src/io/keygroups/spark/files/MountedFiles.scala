package io.keygroups.spark.files

import java.nio.file.{AtomicMoveNotSupportedException, DirectoryIteratorException, Files, NoSuchFileException, Path => LocalPath, Paths}
import java.nio.file.{StandardCopyOption, StandardOpenOption}
import java.nio.file.attribute.BasicFileAttributes
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
    try Using.resource(Files.newDirectoryStream(listed)) { paths =>
      for (path <- paths.asScala.toSeq; found <- attributes(path) if found.isRegularFile) yield
        Seq[Any](path.getFileName.toString, found.lastModifiedTime.toMillis, found.size)
    } catch {
      case _: NoSuchFileException => Seq.empty
      case error: DirectoryIteratorException => throw error.getCause
    }
  }

  /** None if there is no such file. Any other error is thrown: a cleanup takes a file that is not listed for one that is gone. */
  private def attributes(path: LocalPath): Option[BasicFileAttributes] =
    try Some(Files.readAttributes(path, classOf[BasicFileAttributes]))
    catch { case _: NoSuchFileException => None }

  override def createFolder(): Unit = {
    Files.createDirectories(root)
    ()
  }

  override def put(source: LocalPath, name: String, moved: () => Unit): Unit = {
    createFolder()
    try Files.move(source, root.resolve(name), StandardCopyOption.ATOMIC_MOVE)
    catch { case _: AtomicMoveNotSupportedException => copy(source, name) }
    ()
  }

  /** From another disk. Since JDK 21 `Files.copy` between paths ignores an error of `close`, where NFS says that the disk is full. */
  private def copy(source: LocalPath, name: String): Unit = {
    val temporary = root.resolve(s".$name.${UUID.randomUUID()}.tmp")
    try {
      Using.resource(Files.newOutputStream(temporary, StandardOpenOption.CREATE_NEW))(Files.copy(source, _))
      Files.move(temporary, root.resolve(name), StandardCopyOption.ATOMIC_MOVE)
    } finally Files.deleteIfExists(temporary)
  }

  override def fetch(path: String, link: LocalPath, moved: () => Unit): Boolean = {
    val target = local(new Path(operatorFolder, path))
    val found = attributes(target)
    found.foreach { _ =>
      Files.deleteIfExists(link)
      Files.createSymbolicLink(link, target)
    }
    found.isDefined
  }

  override def head(path: String, bytes: Int): Option[Array[Byte]] =
    try Some(CheckpointFiles.readHead(Files.newInputStream(local(new Path(operatorFolder, path))), bytes))
    catch { case _: NoSuchFileException => None }

  override def delete(names: Seq[String]): Unit = names.foreach(name => Files.deleteIfExists(root.resolve(name)))

  private def local(path: Path): LocalPath = Paths.get(path.toUri.getPath)
}
