package io.keygroups.spark.segment

/** The blocks of one family in a segment, in ascending order. */
final class Part(val blocks: Array[Block]) {
  private val lastLocators = blocks.map(_.lastLocator)

  /** Whether each block lies behind the one before. */
  def isInOrder: Boolean = (1 until blocks.length).forall(i => lastLocators(i - 1) < blocks(i).firstLocator)

  /** The block that has the locator if any has; `blocks.length` if all lie below it. */
  def blockOf(locator: Long): Int = {
    var low = 0
    var high = lastLocators.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (lastLocators(middle) < locator) low = middle + 1 else high = middle
    }
    low
  }
}
