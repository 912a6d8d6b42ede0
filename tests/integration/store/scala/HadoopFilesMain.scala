package io.keygroups.spark.files

import java.io.FileNotFoundException
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals

import scala.util.Try

/** Prints whether a file that cannot be opened fails a download and a read of its head; one that is gone does not. */
object HadoopFilesMain {
  def main(args: Array[String]): Unit = {
    val folder = Files.createTempDirectory("keygroups-hadoop")
    val root = new Path(folder.toUri)
    val files = new HadoopFiles(root, new Path(root, "0"), new Configuration())
    Files.createDirectories(folder.resolve("0").resolve("refused")) // the local file system says of a folder: not found
    Files.writeString(folder.resolve("0").resolve("file"), "text")
    val copy = folder.resolve("copy")
    println(s"downloaded ${Seq("file", "gone").map(name => files.fetch(s"0/$name", copy)).mkString(" ")}")
    println(s"read ${Seq("file", "gone").map(name => files.head(s"0/$name", 4).isDefined).mkString(" ")}")
    println(s"refused ${refused(files.fetch("0/refused", copy))} ${refused(files.head("0/refused", 4))}")
    SparkInternals.deleteRecursively(folder.toFile)
    System.exit(0)
  }

  private def refused(body: => Any): Boolean = Try(body).failed.toOption.exists(_.isInstanceOf[FileNotFoundException])
}
