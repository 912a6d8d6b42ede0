package io.keygroups.spark.session

/**
 * Which rows of a state have expired for one batch. Times are seconds since 1970.
 *
 * @param now time of the batch, which is stored with its rows; 0 for a state whose rows do not expire
 * @param horizon rows that were written until then have expired
 */
final case class Expiry(now: Long, horizon: Long)

object Expiry {
  val Never: Expiry = Expiry(0, 0)

  /** Rows live for that many seconds at least: both times are rounded in their favour. */
  def at(millis: Long, seconds: Long): Expiry = Expiry((millis + 999) / 1000, (millis - seconds * 1000) / 1000)
}
