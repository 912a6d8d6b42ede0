package io.keygroups.spark.memory

import java.lang.reflect.Field
import java.nio.{Buffer, ByteBuffer, ByteOrder}

import org.apache.spark.unsafe.Platform
import sun.misc.Unsafe

/** Memory outside of the heap, always owned by a buffer object: the garbage collector frees what nothing else has freed. */
object OffHeap {
  private val unsafe: Unsafe = {
    val field: Field = classOf[Unsafe].getDeclaredField("theUnsafe")
    field.setAccessible(true)
    field.get(null).asInstanceOf[Unsafe]
  }
  private val addressOffset: Long = unsafe.objectFieldOffset(classOf[Buffer].getDeclaredField("address"))

  /** Whether memory can be allocated without clearing it: it takes no room before it is used. Spark opens both packages. */
  val reserves: Boolean =
    Seq("java.nio", "jdk.internal.ref").forall(classOf[ByteBuffer].getModule.isOpen(_, classOf[Platform].getModule))

  /** The C library maps allocations above its largest threshold, 32 MB; below, it kept up to 80 MB of freed memory. */
  private val AlwaysMapped = 33 << 20
  private val Large = 1 << 20

  /** Memory with any content. The JVM's limit of direct memory, which is that of its heap, does not count where it reserves. */
  def allocate(bytes: Int): ByteBuffer = {
    val buffer =
      if (reserves) Platform.allocateDirectBuffer(math.max(bytes, if (bytes < Large) 1 else AlwaysMapped)).limit(bytes)
      else ByteBuffer.allocateDirect(bytes)
    buffer.order(ByteOrder.nativeOrder())
  }

  /** Address of a direct or mapped buffer. It is valid as long as the buffer is. */
  def address(buffer: ByteBuffer): Long = unsafe.getLong(buffer, addressOffset)

  /** Free the memory now, or unmap it. No address in it may be used any more. */
  def free(buffer: ByteBuffer): Unit = unsafe.invokeCleaner(buffer)
}
