package io.keygroups.spark.bridge

/** Prints which error leaves the thread that reads the log of a process, if the process is stopped in the middle of it. */
object ClosedLogMain {
  def main(args: Array[String]): Unit = {
    @volatile var uncaught = Option.empty[Throwable]
    Thread.setDefaultUncaughtExceptionHandler((_, error) => uncaught = Some(error))
    (1 to 20).foreach { _ =>
      val process = new ProcessBuilder("sh", "-c", "while :; do echo INFO line >&2; done").start()
      val reader = ServerLog.forward(process)
      Thread.sleep(50)
      process.destroyForcibly()
      reader.join(10000)
      require(!reader.isAlive)
    }
    println(s"uncaught $uncaught")
    System.exit(0)
  }
}
