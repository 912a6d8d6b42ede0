package io.keygroups.spark.memory

import java.nio.ByteBuffer

import scala.collection.mutable.ArrayBuffer

/** A page of 1 MB in a slab of the pool, or a larger one of its own. */
final class Page private[memory] (val buffer: ByteBuffer, slab: PagePool.Slab) {
  def release(): Unit = {
    WriteMemory.add(-buffer.limit())
    if (slab == null) OffHeap.free(buffer) else PagePool.release(this, slab)
  }
}

/** Pages shared by the overlays of all tasks, so that a running query allocates none and an idle one holds none. */
object PagePool {
  val PageBytes: Int = 1 << 20
  private val SlabPages = if (OffHeap.reserves) 64 else 1
  private val slabs = ArrayBuffer.empty[Slab]

  /** A page with room for `size` bytes. */
  def acquire(size: Int): Page = {
    val page = if (size > PageBytes) new Page(OffHeap.allocate(size), null) else pooled()
    WriteMemory.add(page.buffer.limit())
    page
  }

  private def pooled(): Page = synchronized {
    val slab = slabs.find(_.idle.nonEmpty).getOrElse {
      slabs += new Slab
      slabs.last
    }
    slab.turns += 1
    slab.idle.remove(slab.idle.length - 1)
  }

  /** Pages that overlays hold. */
  def pagesInUse: Int = synchronized(slabs.iterator.map(SlabPages - _.idle.length).sum)

  private[memory] def release(page: Page, slab: Slab): Unit = synchronized {
    slab.idle += page
    val turns = slab.turns
    if (slab.idle.length == SlabPages) Reaper.later(freeIfUnused(slab, turns))
  }

  private def freeIfUnused(slab: Slab, turns: Long): Unit = synchronized {
    if (slab.turns == turns && slabs.contains(slab)) {
      slabs -= slab
      OffHeap.free(slab.memory)
    }
  }

  private[memory] final class Slab {
    val memory: ByteBuffer = OffHeap.allocate(SlabPages * PageBytes)
    /** Pages taken so far. */
    var turns = 0L
    /** The last one returned is the next one taken, so what a small batch does not need is not touched. */
    val idle: ArrayBuffer[Page] = ArrayBuffer.tabulate(SlabPages) { i =>
      new Page(memory.slice((SlabPages - 1 - i) * PageBytes, PageBytes), this)
    }
  }
}
