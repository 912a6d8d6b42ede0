package io.keygroups.spark.session

import java.nio.file.Files

import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals

/** Prints whether a thread that is interrupted deletes the folder of a worker's files, and is still interrupted then. */
object InterruptedMain {
  def main(args: Array[String]): Unit = {
    val parent = Files.createTempDirectory("keygroups-interrupted")
    val files = new SessionFiles(() => parent)
    val folder = files.newFolder()
    Files.writeString(folder.resolve("file"), "text")
    Thread.currentThread().interrupt()
    files.deleteAll()
    val interrupted = Thread.interrupted()
    println(s"deleted ${!Files.exists(folder)} interrupted $interrupted")
    SparkInternals.deleteRecursively(parent.toFile)
    System.exit(0)
  }
}
