package io.keygroups.spark.memory

/** Prints how many megabytes outside of the heap could be taken, in pieces of a few kilobytes to just below a megabyte. */
object OffHeapMain {
  def main(args: Array[String]): Unit = {
    val sizes = Iterator.iterate(0)(n => (n * 7 + 65536) % (1 << 20)).take(1600).toSeq
    val buffers = sizes.map(OffHeap.allocate)
    buffers.zip(sizes).foreach { case (buffer, size) => require(buffer.limit() == size && buffer.capacity() >= size) }
    println(s"taken ${sizes.map(_.toLong).sum >> 20}, heap ${Runtime.getRuntime.maxMemory >> 20}")
    buffers.foreach(OffHeap.free)
    System.exit(0)
  }
}
