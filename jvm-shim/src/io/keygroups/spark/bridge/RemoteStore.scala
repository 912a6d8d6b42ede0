package io.keygroups.spark.bridge

import java.io.{File, IOException}
import java.nio.file.Files

import scala.annotation.tailrec
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.module.scala.JavaTypeable
import java.util.concurrent.atomic.AtomicLong

import io.keygroups.spark.{Failures, KeyGroupsException, Settings}
import io.keygroups.spark.files.CheckpointFiles
import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging

/** A store that is open in a server process. */
final class RemoteStore private (server: ServerProcess, val number: Int, transfer: CheckpointFiles) extends Logging {
  import RemoteStore._

  /** Calls made so far. */
  val calls = new AtomicLong()

  def isAlive: Boolean = server.isAlive

  /** Where chunks for this process go. */
  def folder: File = server.folder

  /** Pid of the process, for logs and tests. */
  def pid: Long = server.pid

  /**
   * A call that needs nothing of the checkpoint.
   *
   * @param isWanted asked every second or so: whether the work is to go on
   */
  def call[T: JavaTypeable](method: String, request: AnyRef, isWanted: () => Boolean = isTaskAlive): Option[T] =
    callOrWant[T](method, request, isWanted) match {
      case Right(answer) => answer
      case Left(want) => throw new IllegalStateException(s"$method wants $want")
    }

  private def callOrWant[T: JavaTypeable](
      method: String, request: AnyRef, isWanted: () => Boolean): Either[Want, Option[T]] = {
    calls.incrementAndGet()
    val answer = settled(method, checked(server.call(method, Json.write(request))), isWanted)
    if (answer.has("wanted")) Left(Json.convert[Want](answer.get("wanted")))
    else Right(Option(answer.get("ok")).filterNot(_.isNull).map(Json.convert[T](_)))
  }

  /** Ask after work until it has ended; KeyGroupsException if it is not wanted any more. */
  @tailrec
  private def settled(method: String, answer: JsonNode, isWanted: () => Boolean): JsonNode =
    if (!answer.has("pending")) answer
    else {
      val pending = answer.get("pending")
      val ticket = Json.write(TicketRequest(pending.get("ticket").asLong))
      logDebug(s"'$method' of store $number goes on after ${pending.get("progress")} steps")
      if (!isWanted()) {
        server.call("cancel", ticket)
        throw Failures.interrupted(new InterruptedException(s"'$method' is not wanted any more"))
      }
      settled(method, checked(server.call("await", ticket, method)), isWanted)
    }

  /**
   * A call that may want a listing or files of the checkpoint first. The files go into a folder of this operation alone, which
   * is deleted at its end: a damaged download is fetched again by the next attempt, and no attempt deletes another's files.
   */
  def callWithFiles[T: JavaTypeable](method: String)(request: Downloads => AnyRef): Option[T] = {
    val downloads = newFolder()
    val arrivals = new Arrivals(transfer)
    try callUntilComplete[T](method, request, Downloads(downloads.getPath), arrivals)
    finally {
      arrivals.close()
      delete(downloads)
    }
  }

  /**
   * Under another name: a download that goes on cannot put a file there any more, and the store process drops what it has
   * restored for an operation whose folder is gone.
   */
  private def delete(downloads: File): Unit = {
    val renamed = new File(s"$downloads-old")
    val folder = if (downloads.renameTo(renamed)) renamed else downloads
    Option(folder.listFiles()).foreach(_.foreach(_.delete()))
    folder.delete()
    ()
  }

  private def newFolder(): File =
    try Files.createTempDirectory(folder.toPath, "downloads-").toFile
    catch {
      case error: IOException if isAlive => throw Failures.localDisk(folder.toPath, error)
      case error: IOException => throw died(error)
    }

  private def died(error: Throwable): KeyGroupsException = Failures.retry(s"the store process (pid $pid) died", error)

  @tailrec
  private def callUntilComplete[T: JavaTypeable](
      method: String, request: Downloads => AnyRef, brought: Downloads, arrivals: Arrivals): Option[T] =
    callOrWant[T](method, request(brought), isTaskAlive) match {
      case Right(answer) => answer
      case Left(want) =>
        val missing =
          try arrivals.await(want)
          catch { // the folder that the files go to went with the process
            case NonFatal(error) if !isAlive && !Failures.isInterrupt(error.getCause) => throw died(error)
          }
        val listings = brought.listings ++ want.listings.map(store => store -> transfer.list(store))
        val more = brought.copy(listings = listings, missing = brought.missing ++ missing)
        callUntilComplete[T](method, request, more, arrivals)
    }
}

object RemoteStore {

  /** Open a store in the server process, which is started if need be. */
  def open(settings: Settings, spec: StoreSpec, transfer: CheckpointFiles): RemoteStore = {
    val server = StoreServer.get(settings)
    val answer = checked(server.call("open", Json.write(OpenRequest(spec, settings.forPython))))
    new RemoteStore(server, answer.get("ok").asInt(), transfer)
  }

  /** Whether Spark has not killed the task of this thread, if it is one. */
  private val isTaskAlive: () => Boolean =
    () => !Thread.currentThread().isInterrupted && !Option(TaskContext.get()).exists(_.isInterrupted())

  private def checked(text: String): JsonNode = {
    val answer = Json.tree(text)
    if (answer.has("error")) {
      val failure = Json.convert[Failure](answer.get("error"))
      throw new KeyGroupsException(failure.kind, failure.message)
    }
    answer
  }
}
