package io.keygroups.spark.operators

import org.apache.spark.util.AccumulatorV2

/** When the next processing timer of any partition is due, in milliseconds since 1970; the driver asks for it. */
private[operators] final class EarliestTimer extends AccumulatorV2[java.lang.Long, Long] {
  private var at = Long.MaxValue

  override def isZero: Boolean = at == Long.MaxValue

  override def copy(): EarliestTimer = {
    val other = new EarliestTimer
    other.at = at
    other
  }

  override def reset(): Unit = at = Long.MaxValue

  override def add(timer: java.lang.Long): Unit = at = math.min(at, timer)

  override def merge(other: AccumulatorV2[java.lang.Long, Long]): Unit = at = math.min(at, other.value)

  override def value: Long = at
}
