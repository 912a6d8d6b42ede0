package io.keygroups.spark.session

import java.io.IOException
import java.nio.file.{Files, Path, Paths}
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import io.keygroups.spark.bridge.ChunkMessage
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals

/**
 * Owns the chunk files of a session. The store process deletes the files that it has read; this deletes what is left, when a
 * call is over or when the session ends. Deleting a file twice is harmless.
 *
 * @param folder where new files go; it changes when a store process has died
 */
final class SessionFiles(folder: () => Path) extends Logging {
  private val paths = ConcurrentHashMap.newKeySet[Path]()
  private val folders = ConcurrentHashMap.newKeySet[Path]()

  /** The path of a new file. */
  def newPath(): Path = {
    val path = folder().resolve(s"${UUID.randomUUID()}.chunk")
    paths.add(path)
    path
  }

  /** A new folder, for files of a worker. */
  def newFolder(): Path = {
    val path = folder().resolve(UUID.randomUUID().toString)
    Files.createDirectory(path)
    folders.add(path)
    path
  }

  /** A file that cannot be deleted is left to the store process, which deletes the folder at its end. */
  def delete(path: Path): Unit = {
    try Files.deleteIfExists(path)
    catch { case error: IOException => logWarning(s"$path could not be deleted", error) }
    paths.remove(path)
    ()
  }

  def delete(chunks: Seq[ChunkMessage]): Unit = chunks.foreach(chunk => delete(Paths.get(chunk.path)))

  def deleteAll(): Unit = {
    paths.forEach(path => delete(path))
    folders.forEach { path =>
      try SparkInternals.deleteRecursively(path.toFile) // a worker that is killed may still write there
      catch { case error: IOException => logWarning(s"$path could not be deleted", error) }
    }
  }
}
