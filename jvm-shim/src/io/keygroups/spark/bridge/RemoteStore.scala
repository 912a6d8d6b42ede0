package io.keygroups.spark.bridge

import java.io.File

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.module.scala.JavaTypeable
import java.util.concurrent.atomic.AtomicLong

import io.keygroups.spark.{KeyGroupsException, Settings}
import io.keygroups.spark.files.CheckpointFiles

/** A store that is open in a server process. */
final class RemoteStore private (server: ServerProcess, val number: Int, transfer: CheckpointFiles) {
  /** Calls made so far. */
  val calls = new AtomicLong()

  def isAlive: Boolean = server.isAlive

  /** Where chunks for this process go. */
  def folder: File = server.folder

  /** Pid of the process, for logs and tests. */
  def pid: Long = server.pid

  def call[T: JavaTypeable](method: String, request: AnyRef): Option[T] = {
    calls.incrementAndGet()
    val answer = RemoteStore.checked(server.call(method, Json.write(request)))
    if (answer.has("wanted")) throw new Wanted(Json.convert[Want](answer.get("wanted")))
    Option(answer.get("ok")).filterNot(_.isNull).map(Json.convert[T](_))
  }

  /** A call that may want a listing or files of the checkpoint first. */
  def callWithFiles[T: JavaTypeable](method: String)(
      request: (Option[Seq[Seq[Any]]], Seq[String]) => AnyRef): Option[T] = {
    var listing: Option[Seq[Seq[Any]]] = None
    var missing = Seq.empty[String]
    while (true) {
      try return call[T](method, request(listing, missing))
      catch {
        case wanted: Wanted =>
          if (wanted.want.listing) listing = Some(transfer.list())
          missing ++= transfer.download(wanted.want.files.map(f => f.head -> f(1)), wanted.want.head)
      }
    }
    throw new IllegalStateException("not reached")
  }
}

private final class Wanted(val want: Want) extends RuntimeException("wanted", null, false, false)

object RemoteStore {

  /** Open a store in the server process, which is started if need be. */
  def open(settings: Settings, spec: StoreSpec, transfer: CheckpointFiles): RemoteStore = {
    val server = StoreServer.get(settings)
    val answer = checked(server.call("open", Json.write(OpenRequest(spec, settings.forPython))))
    new RemoteStore(server, answer.get("ok").asInt(), transfer)
  }

  private def checked(text: String): JsonNode = {
    val answer = Json.tree(text)
    if (answer.has("error")) {
      val failure = Json.convert[Failure](answer.get("error"))
      throw new KeyGroupsException(failure.kind, failure.message)
    }
    answer
  }
}
