package io.keygroups.spark.bridge

import java.io.{BufferedReader, File, InputStreamReader, IOException}
import java.net.InetAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.security.SecureRandom
import java.util.Base64
import java.util.concurrent.{CompletableFuture, TimeUnit, TimeoutException}
import javax.net.SocketFactory

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.keygroups.spark.{Failures, KeyGroupsException, Settings}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals
import py4j.{CallbackClient, Gateway}

/**
 * A Python process and the py4j client to it. It ends when its standard input closes, so it cannot outlive this JVM.
 *
 * @param folder for its local files, 0700; the process deletes it at its end
 */
final class ServerProcess private (process: Process, client: CallbackClient, val folder: File) extends Logging {
  private val api = client.getPythonServerEntryPoint(new Gateway(null, client), Array[Class[_]](classOf[ServerApi]))
    .asInstanceOf[ServerApi]

  @volatile private var stopped = false

  def isAlive: Boolean = !stopped && process.isAlive

  def pid: Long = process.pid()

  /** Bytes of the process's own memory; 0 where the system does not say. */
  def ownBytes: Long =
    try Files.readAllLines(Paths.get(s"/proc/$pid/status")).asScala.collectFirst {
      case ServerProcess.OwnMemory(kilobytes) => kilobytes.toLong << 10
    }.getOrElse(0L)
    catch { case _: IOException => 0L }

  def call(method: String, payload: String): String = call(method, payload, method)

  /**
   * One call, or a question after it: either is answered in a second or so, however long the work takes. Throws
   * KeyGroupsException of kind retry if the process has died or does not answer in time; it is stopped then.
   *
   * @param name what is called or asked after
   */
  def call(method: String, payload: String, name: String): String =
    try api.call(method, payload)
    catch {
      case NonFatal(error) =>
        val hasDied = ends()
        stop()
        throw (
          if (hasDied) Failures.retry(
            s"the store process (pid $pid) died in '$name': exit status ${process.exitValue()}; the task is retried on a new one",
            error)
          else Failures.retry(
            s"the store process (pid $pid) did not answer '$name' in time: the task is retried on a new one", error))
    }

  /** Whether the process has ended. One that dies closes its connections a moment before that can be seen. */
  private def ends(): Boolean = {
    try process.waitFor(1, TimeUnit.SECONDS)
    catch { case _: InterruptedException => Thread.currentThread().interrupt() }
    !process.isAlive
  }

  def stop(): Unit = {
    stopped = true
    ServerProcess.kill(process)
    try process.waitFor(5, TimeUnit.SECONDS)
    catch { case _: InterruptedException => Thread.currentThread().interrupt() } // the error of the call is the one to see
    finally {
      client.shutdown()
      try SparkInternals.deleteRecursively(folder)
      catch { case error: IOException => logWarning(s"$folder could not be deleted", error) } // other tasks may do it too
    }
  }
}

object ServerProcess extends Logging {
  private val OwnMemory = "RssAnon:\\s*(\\d+) kB".r

  private case class Ready(port: Int, version: String, pid: Long, missing: String, failed: String)

  private val bootstrap =
    """import json, sys
      |try:
      |    from keygroups.bridge.process import run
      |except ModuleNotFoundError as error:
      |    sys.exit(print(json.dumps({"missing": error.name})))
      |except ImportError as error:
      |    sys.exit(print(json.dumps({"failed": str(error)})))
      |run()
      |""".stripMargin

  /** Start a process. Throws KeyGroupsException: one sentence that says what is missing on this machine. */
  def start(settings: Settings): ServerProcess = {
    val python = SparkInternals.python(settings.python)
    val folder = SparkInternals.createLocalFolder(settings.localDir)
    try start(python, folder, settings)
    catch {
      case NonFatal(error) =>
        SparkInternals.deleteRecursively(folder)
        throw error
    }
  }

  private def start(python: String, folder: File, settings: Settings): ServerProcess = {
    val process = launch(python, folder)
    try {
      ServerLog.forward(process)
      val token = newToken()
      val input = process.getOutputStream
      input.write((Json.write(Map("token" -> token, "folder" -> folder.getPath)) + "\n").getBytes(UTF_8))
      input.flush()
      val ready = awaitReady(process, python, settings.startTimeoutSeconds)
      logInfo(s"keygroups ${ready.version} serves state in process ${ready.pid}, local files in $folder")
      new ServerProcess(process, connect(ready.port, token, settings.callTimeoutSeconds), folder)
    } catch {
      case error: Throwable =>
        kill(process)
        error match {
          case known: KeyGroupsException => throw known
          case other => throw Failures.version(cannotStart(python, s"it failed with $other"))
        }
    }
  }

  /** This closes its log: of a process that has died, the last lines may still have to be read. */
  private def kill(process: Process): Unit = if (process.isAlive) process.destroyForcibly()

  private def launch(python: String, folder: File): Process = {
    // A relative path (spark.archives) is relative to the executor's folder, not to ours.
    val command = if (python.contains('/')) new File(python).getAbsolutePath else python
    val builder = new ProcessBuilder(command, "-c", bootstrap).directory(folder)
    ProcessEnvironment.restrict(builder.environment())
    builder.environment().put("PYTHONPATH", SparkInternals.pythonPath())
    try builder.start()
    catch {
      case error: java.io.IOException =>
        throw Failures.version(cannotStart(python, s"it could not be run (${error.getMessage}): install it, or name " +
          s"another with ${Settings.Prefix}python or spark.pyspark.python"))
    }
  }

  private def awaitReady(process: Process, python: String, seconds: Int): Ready = {
    val reader = new BufferedReader(new InputStreamReader(process.getInputStream, UTF_8))
    val line =
      try CompletableFuture.supplyAsync(() => reader.readLine()).get(seconds.toLong, TimeUnit.SECONDS)
      catch { case _: TimeoutException => throw Failures.version(cannotStart(python, s"no answer in $seconds s")) }
    if (line == null) throw Failures.version(cannotStart(python, "it ended at once: see the log of this executor"))
    val ready = Json.read[Ready](line)
    if (ready.missing != null) {
      throw Failures.version(cannotStart(python, s"the Python package '${ready.missing}' is missing there: install " +
        s"it with '$python -m pip install spark-keygroups==${Settings.version}', or name another interpreter with " +
        s"${Settings.Prefix}python"))
    }
    if (ready.failed != null) throw Failures.version(cannotStart(python, ready.failed))
    if (ready.version != Settings.version) {
      throw Failures.version(cannotStart(python, s"the Python package is keygroups ${ready.version} and the jar is " +
        s"keygroups ${Settings.version}: install the same version of both"))
    }
    ready
  }

  private def cannotStart(python: String, reason: String): String =
    s"the store process can't start with $python on ${InetAddress.getLocalHost.getHostName}: $reason"

  /**
   * As many connections as there are calls at the same time, each with a thread of the process. py4j's ClientServer has one
   * for each thread that ever called, and keeps it when that thread ends; an executor's threads end after an idle minute.
   */
  private def connect(port: Int, token: String, timeoutSeconds: Int): CallbackClient = {
    val never = 0L // closes idle connections: py4j would do so from a thread that keeps the JVM from ending
    new CallbackClient(port, InetAddress.getLoopbackAddress, token, never, TimeUnit.SECONDS, SocketFactory.getDefault,
      false, timeoutSeconds * 1000)
  }

  private def newToken(): String = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    Base64.getUrlEncoder.withoutPadding().encodeToString(bytes)
  }
}
