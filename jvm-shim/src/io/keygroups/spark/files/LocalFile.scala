package io.keygroups.spark.files

import java.io.{FileOutputStream, IOException, OutputStream}
import java.nio.file.Path

import io.keygroups.spark.Failures

/** A local file to download to. Its errors are those of the local disk, not of the file system that is read. */
private[files] final class LocalFile(path: Path) extends OutputStream {
  private val output = local(new FileOutputStream(path.toFile))

  override def write(byte: Int): Unit = local(output.write(byte))
  override def write(bytes: Array[Byte], offset: Int, length: Int): Unit = local(output.write(bytes, offset, length))
  override def close(): Unit = local(output.close())

  private def local[T](body: => T): T =
    try body
    catch { case error: IOException => throw Failures.localDisk(path.getParent, error) }
}
