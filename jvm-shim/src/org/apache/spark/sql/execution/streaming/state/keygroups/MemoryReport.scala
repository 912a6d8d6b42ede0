package org.apache.spark.sql.execution.streaming.state.keygroups

import org.apache.spark.memory.{MemoryMode, UnifiedMemoryManager, UnmanagedMemoryConsumer, UnmanagedMemoryConsumerId}

/** Tells Spark's memory manager what all stores of this JVM take outside of the heap, as its RocksDB provider does. */
final class MemoryReport(bytes: () => Long) extends UnmanagedMemoryConsumer {
  override val unmanagedMemoryConsumerId: UnmanagedMemoryConsumerId = UnmanagedMemoryConsumerId("KeyGroups", "executor")
  override def memoryMode: MemoryMode = MemoryMode.OFF_HEAP
  override def getMemBytesUsed: Long = bytes()

  /** Spark asks from now on, if `spark.memory.unmanagedMemoryPollingInterval` is set; may be called again. */
  def begin(): Unit = UnifiedMemoryManager.registerUnmanagedMemoryConsumer(this)
}
