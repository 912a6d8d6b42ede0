package io.keygroups.spark.store

/**
 * When rows of a state expire, as one batch sees it. Times are seconds since 1970.
 *
 * @param now time of the batch, which its rows are stamped with; 0 for a state whose rows live for ever
 * @param horizon rows written until then are gone
 */
final case class Expiry(now: Long, horizon: Long)

object Expiry {
  val Never: Expiry = Expiry(0, 0)

  /** Rows live at least that long: both times are rounded in their favour. */
  def at(millis: Long, seconds: Long): Expiry = Expiry((millis + 999) / 1000, (millis - seconds * 1000) / 1000)
}
