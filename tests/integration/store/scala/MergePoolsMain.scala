package io.keygroups.spark.versions

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

/** Prints in which order turns are taken, and how many merges begin before an upload ends, and after one has ended. */
object MergePoolsMain {
  def main(args: Array[String]): Unit = {
    println(s"processors ${Runtime.getRuntime.availableProcessors}")
    println(s"order ${order(Seq("a" -> false, "b" -> false, "c" -> true, "d" -> false, "e" -> true)).mkString}")
    println(s"begun ${begun(MergePools.merges).mkString(" ")}")
    println(s"begun beside ${begun(MergePools.newest).mkString(" ")}")
    System.exit(0)
  }

  /** The order of turns that wait while another one runs, some of them urgent. */
  private def order(waiting: Seq[(String, Boolean)]): Seq[String] = {
    val turns = new Turns(Executors.newSingleThreadExecutor())
    val (busy, done) = (new CountDownLatch(1), new CountDownLatch(waiting.length))
    val taken = new ConcurrentLinkedQueue[String]
    turns.submit(turn(urgent = false)(busy.await()))
    waiting.foreach { case (name, urgent) =>
      turns.submit(turn(urgent) {
        taken.add(name)
        done.countDown()
      })
    }
    busy.countDown()
    require(done.await(10, TimeUnit.SECONDS))
    taken.toArray(Array.empty[String]).toSeq
  }

  /** How many of a hundred merges have begun: none has ended its upload, one has. */
  private def begun(pool: MergePool): Seq[Int] = {
    val count = new AtomicInteger
    (1 to 100).foreach(_ => pool.submit(turn(urgent = false)(count.incrementAndGet())))
    val before = settled(count)
    pool.leave()
    Seq(before, settled(count))
  }

  private def settled(count: AtomicInteger): Int = {
    var last = -1
    while (last != count.get) {
      last = count.get
      Thread.sleep(500)
    }
    last
  }

  private def turn(urgent: Boolean)(body: => Unit): Turn = new Turn {
    override def isUrgent: Boolean = urgent
    override def run(): Unit = body
  }
}
