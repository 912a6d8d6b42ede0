package io.keygroups.spark.files

import java.io.{ByteArrayInputStream, InputStream, OutputStream}
import java.nio.file.{Path => LocalPath, Paths}

import scala.util.Try

import org.apache.hadoop.fs.Path

/** Prints whether an upload and a download end that take twice the deadline: while bytes move, and when none do. */
object SlowFilesMain {
  def main(args: Array[String]): Unit = {
    println(s"moving ${ends(everyMillis = 400)}")
    println(s"stuck ${ends(everyMillis = 60000)}")
    System.exit(0)
  }

  private def ends(everyMillis: Long): String = {
    val files = new RetryingFiles(new Slow(everyMillis), new Path("/"), attempts = 1, timeoutSeconds = 2)
    val local = Paths.get("/nothing")
    Seq(Try(files.put(local, "name")), Try(files.fetch("path", local))).map(_.isSuccess).mkString(" ")
  }

  /** Files that move in eight parts. */
  private final class Slow(everyMillis: Long) extends CheckpointFiles {
    override def folder: Path = new Path("/")
    override def list(store: String): Seq[Seq[Any]] = Seq.empty
    override def createFolder(): Unit = ()
    override def put(local: LocalPath, name: String, moved: () => Unit): Unit =
      HadoopFiles.copy(new Parts, OutputStream.nullOutputStream(), moved)
    override def fetch(path: String, local: LocalPath, moved: () => Unit): Boolean = {
      HadoopFiles.copy(new Parts, OutputStream.nullOutputStream(), moved)
      true
    }
    override def head(path: String, bytes: Int): Option[Array[Byte]] = None
    override def delete(names: Seq[String]): Unit = ()

    private final class Parts extends InputStream {
      private val bytes = new ByteArrayInputStream(new Array[Byte](8))
      override def read(): Int = bytes.read()
      override def read(target: Array[Byte], at: Int, length: Int): Int = {
        Thread.sleep(everyMillis)
        bytes.read(target, at, math.min(length, 1))
      }
    }
  }
}
