package io.keygroups.spark.files

import java.io.IOException
import java.nio.file.{Path => LocalPath}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Abortable, FSDataOutputStream, Path}

/**
 * A file system where a file appears atomically when it is closed, as in an object store. So no file is renamed, which there
 * would copy it: a version file is one PUT on S3, where Spark's file manager sends 6 requests.
 */
final class AtomicFiles(operatorFolder: Path, folder: Path, conf: Configuration)
  extends HadoopFiles(operatorFolder, folder, conf) {
  private lazy val fs = folder.getFileSystem(conf)

  /** A folder exists as soon as it contains a file. */
  override def createFolder(): Unit = ()

  override def put(local: LocalPath, name: String, moved: () => Unit): Unit = {
    // Without the option S3A asks first whether the path is a folder.
    val output: FSDataOutputStream = fs.createFile(new Path(folder, name)).recursive().overwrite(true)
      .opt("fs.s3a.create.performance", true).progress(() => moved()).build() // S3A sends a small file in `close`
    try HadoopFiles.copy(local, output, moved)
    catch {
      case error: Throwable =>
        abandon(output, error)
        throw error
    }
    output.close()
  }

  /** Closing would publish the part that was written; a stream that can't be aborted is left open. */
  private def abandon(output: FSDataOutputStream, error: Throwable): Unit =
    try output.getWrappedStream match {
      case stream: Abortable => stream.abort()
      case _ => ()
    } catch { case NonFatal(suppressed) => error.addSuppressed(suppressed) }

  override def delete(names: Seq[String]): Unit =
    if (names.nonEmpty) Using.resource(fs.createBulkDelete(folder)) { bulk =>
      names.map(new Path(folder, _)).grouped(bulk.pageSize()).foreach { page =>
        bulk.bulkDelete(page.asJava).asScala.headOption.foreach { failed =>
          throw new IOException(s"${failed.getKey} could not be deleted: ${failed.getValue}")
        }
      }
    }
}
