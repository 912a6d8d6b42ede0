package keygroups.conformance

import java.io.IOException
import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermission

import scala.jdk.CollectionConverters._

import org.apache.hadoop.util.Shell

/**
 * Hadoop's local file system without its native library starts `readlink` and `chmod` processes: 1,913 in a suite of 8
 * tests. These two have the same effect without a process; any other command starts one.
 */
object LocalCommands {
  private val Mode = "0?([0-7]{3})".r

  def execCommand(command: Array[String]): String = command match {
    case Array("readlink", file) =>
      val path = Path.of(file)
      if (Files.isSymbolicLink(path)) s"${Files.readSymbolicLink(path)}\n" else throw new IOException(s"$file: no link")
    case Array("chmod", Mode(mode), file) =>
      Files.setPosixFilePermissions(Path.of(file), permissions(Integer.parseInt(mode, 8)))
      ""
    case _ => Shell.execCommand(command: _*)
  }

  /** The constants of the enumeration stand in the order of the bits, the highest first. */
  private def permissions(mode: Int): java.util.Set[PosixFilePermission] =
    PosixFilePermission.values.zipWithIndex.collect { case (bit, i) if (mode >> (8 - i) & 1) == 1 => bit }.toSet.asJava
}
