package io.keygroups.spark.segment

import java.util.concurrent.atomic.AtomicLong

/** Decides whether a segment's values are mapped, or stay in its file. */
trait MappedValues {
  /** Count the values of a segment that has so many bytes in all; whether they are mapped. */
  def add(valueBytes: Long, bytes: Long): Boolean

  /** The segment is gone. */
  def remove(valueBytes: Long): Unit
}

object MappedValues {
  /** Of values in a segment, above which it pays to have the rest in memory without them. */
  private val MostlyValues = 0.75
  private val total = new AtomicLong()

  /**
   * As long as all segments of this JVM have no more bytes of values, mapped or not; and those whose values are a small part.
   * If some were mapped beside a state that memory can't hold, the page cache would lose them again and again, and each page
   * fault reads the disk's read-ahead, up to 8 MB.
   */
  def upTo(limit: Long): MappedValues = new MappedValues {
    override def add(valueBytes: Long, bytes: Long): Boolean =
      total.addAndGet(valueBytes) <= limit || valueBytes < MostlyValues * bytes

    override def remove(valueBytes: Long): Unit = {
      total.addAndGet(-valueBytes)
      ()
    }
  }

  val None: MappedValues = new MappedValues {
    override def add(valueBytes: Long, bytes: Long): Boolean = false
    override def remove(valueBytes: Long): Unit = ()
  }
}
