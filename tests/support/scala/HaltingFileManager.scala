package keygroups.tests

import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.spark.sql.execution.streaming.checkpointing._
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream

/**
 * Spark's file manager in a JVM that does not live long: at the n-th step of operations on state files, before or after
 * something is done, the JVM halts. n is the system property `keygroups.tests.halt`; 0 never halts.
 */
class HaltingFileManager(path: Path, conf: Configuration) extends FileSystemBasedCheckpointFileManager(path, conf) {
  import HaltingFileManager.around

  override def createAtomic(path: Path, overwrite: Boolean): CancellableFSDataOutputStream = {
    val output = around(path)(super.createAtomic(path, overwrite))
    new CancellableFSDataOutputStream(output) {
      override def cancel(): Unit = around(path)(output.cancel())
      override def close(): Unit = around(path)(output.close())
    }
  }

  override def open(path: Path): FSDataInputStream = around(path)(super.open(path))
  override def list(path: Path, filter: PathFilter): Array[FileStatus] = around(path)(super.list(path, filter))
  override def delete(path: Path): Unit = around(path)(super.delete(path))
  override def mkdirs(path: Path): Unit = around(path)(super.mkdirs(path))
}

object HaltingFileManager {
  private val left = new AtomicInteger(Integer.getInteger("keygroups.tests.halt", 0))

  private def around[T](path: Path)(operation: => T): T = {
    step(path)
    val result = operation
    step(path)
    result
  }

  private def step(path: Path): Unit =
    if (path.toString.contains("/state/") && left.decrementAndGet() == 0) Runtime.getRuntime.halt(137)
}
