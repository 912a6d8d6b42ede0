package io.keygroups.spark.files

import java.io.IOException
import java.nio.file.{Files, Path => LocalPath, StandardCopyOption}

import scala.util.Try

import org.apache.hadoop.fs.Path

/** Prints whether a file is there one second after its upload has failed: its acknowledgement was lost, or came too late. */
object LostAnswersMain {
  private val folder = Files.createTempDirectory("keygroups-answers")

  def main(args: Array[String]): Unit = {
    println(s"lost ${isThere("lost")(throw new IOException("the connection was cut"))}")
    println(s"late ${isThere("late")(Thread.sleep(60000))}")
    Files.list(folder).forEach(Files.delete(_))
    Files.delete(folder)
    System.exit(0)
  }

  private def isThere(name: String)(answer: => Unit): Boolean = {
    val source = Files.createTempFile("keygroups-upload", "")
    val files = new RetryingFiles(new Remote(answer), new Path(folder.toUri), attempts = 2, timeoutSeconds = 1)
    require(Try(files.upload(source.toString, name)).isFailure && !Files.exists(source))
    Thread.sleep(1000)
    Files.exists(folder.resolve(name))
  }

  /** Files whose uploads succeed, without an answer that says so. */
  private final class Remote(answer: => Unit) extends CheckpointFiles {
    override def folder: Path = new Path(LostAnswersMain.folder.toUri)
    override def list(store: String): Seq[Seq[Any]] = Seq.empty
    override def createFolder(): Unit = ()
    override def put(local: LocalPath, name: String, moved: () => Unit): Unit = {
      Files.copy(local, here(name), StandardCopyOption.REPLACE_EXISTING)
      answer
    }
    override def fetch(path: String, local: LocalPath, moved: () => Unit): Boolean = false
    override def head(path: String, bytes: Int): Option[Array[Byte]] = None
    override def delete(names: Seq[String]): Unit = names.foreach(name => Files.delete(here(name)))

    private def here(name: String): LocalPath = LostAnswersMain.folder.resolve(name)
  }
}
