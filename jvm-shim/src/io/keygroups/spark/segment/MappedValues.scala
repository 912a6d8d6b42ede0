package io.keygroups.spark.segment

import java.util.concurrent.atomic.AtomicLong

/** Decides whether a segment's values are mapped, or stay in its file. */
trait MappedValues {
  /** Take room for the values of a segment that has so many bytes in all; false if they stay in the file. */
  def take(valueBytes: Long, bytes: Long): Boolean

  /** Give the room back. */
  def give(valueBytes: Long): Unit
}

object MappedValues {
  /** Of values in a segment, above which it pays to have the rest in memory without them. */
  private val MostlyValues = 0.75
  private val mapped = new AtomicLong()

  /** As long as all segments of this JVM have no more bytes of values mapped; and those whose values are a small part. */
  def upTo(limit: Long): MappedValues = new MappedValues {
    override def take(valueBytes: Long, bytes: Long): Boolean = {
      val fits = mapped.addAndGet(valueBytes) <= limit || valueBytes < MostlyValues * bytes
      if (!fits) give(valueBytes)
      fits
    }

    override def give(valueBytes: Long): Unit = {
      mapped.addAndGet(-valueBytes)
      ()
    }
  }

  val None: MappedValues = new MappedValues {
    override def take(valueBytes: Long, bytes: Long): Boolean = false
    override def give(valueBytes: Long): Unit = ()
  }
}
