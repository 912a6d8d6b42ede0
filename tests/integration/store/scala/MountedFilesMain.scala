package io.keygroups.spark.files

import java.nio.file.{Files, FileSystemException, Path => LocalPath}

import org.apache.hadoop.fs.Path

import scala.util.{Failure, Try}

/** Prints whether a file that the system cannot tell anything about fails a listing and a download; one that is gone does not. */
object MountedFilesMain {
  def main(args: Array[String]): Unit = {
    val folder = Files.createTempDirectory("keygroups-mounted")
    val root = new Path(folder.toUri)
    val files = new MountedFiles(root, new Path(root, "0"))
    println(s"no folder ${files.list("0").length}")
    val store = Files.createDirectory(folder.resolve("0"))
    Files.createDirectory(store.resolve("folder"))
    Files.writeString(store.resolve("file"), "text")
    Files.createSymbolicLink(store.resolve("gone"), store.resolve("nothing"))
    println(s"listed ${files.list("0").map(_.head).mkString(" ")}")
    println(s"downloaded ${Seq("file", "gone").map(name => files.fetch(s"0/$name", folder.resolve("copy"))).mkString(" ")}")
    Files.createSymbolicLink(store.resolve("loop"), store.resolve("loop"))
    println(s"refused ${refused(files.list("0"))} ${refused(files.fetch("0/loop", folder.resolve("copy")))}")
    delete(folder)
    System.exit(0)
  }

  private def refused(body: => Any): Boolean = Try(body) match {
    case Failure(error: FileSystemException) => error.getMessage.contains("loop")
    case _ => false
  }

  private def delete(folder: LocalPath): Unit =
    Files.walk(folder).sorted(java.util.Comparator.reverseOrder[LocalPath]).forEach(Files.delete(_))
}
