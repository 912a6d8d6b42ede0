package io.keygroups.spark.memory

import java.lang.reflect.Field
import java.nio.{Buffer, ByteBuffer, ByteOrder}
import java.util.concurrent.ConcurrentLinkedDeque
import java.util.concurrent.atomic.AtomicInteger

import sun.misc.Unsafe

/** Memory outside of the heap, always owned by a buffer object: what nobody frees, the garbage collector does. */
object OffHeap {
  private val unsafe: Unsafe = {
    val field: Field = classOf[Unsafe].getDeclaredField("theUnsafe")
    field.setAccessible(true)
    field.get(null).asInstanceOf[Unsafe]
  }
  private val addressOffset: Long = unsafe.objectFieldOffset(classOf[Buffer].getDeclaredField("address"))

  def allocate(bytes: Int): ByteBuffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder())

  /** Address of a direct or mapped buffer. It is good for as long as the buffer is. */
  def address(buffer: ByteBuffer): Long = unsafe.getLong(buffer, addressOffset)

  /** Give the memory back now, or unmap it. Nobody may use an address in it any more. */
  def free(buffer: ByteBuffer): Unit = unsafe.invokeCleaner(buffer)
}

/** Pages that overlays of all tasks share, so that a steady query allocates none. */
object PagePool {
  val PageBytes: Int = 1 << 20
  /** Kept for reuse between batches; more are freed. */
  private val MaxIdle = 64
  private val idle = new ConcurrentLinkedDeque[ByteBuffer]()
  private val idleCount = new AtomicInteger()

  def acquire(): ByteBuffer = {
    val page = idle.pollFirst()
    if (page == null) OffHeap.allocate(PageBytes)
    else {
      idleCount.decrementAndGet()
      page
    }
  }

  def release(page: ByteBuffer): Unit =
    if (page.capacity() == PageBytes && idleCount.incrementAndGet() <= MaxIdle) idle.addFirst(page)
    else {
      if (page.capacity() == PageBytes) idleCount.decrementAndGet()
      OffHeap.free(page)
    }
}
