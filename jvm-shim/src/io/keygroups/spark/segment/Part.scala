package io.keygroups.spark.segment

/** The blocks of one family in a segment, in ascending order of (locator, key). Rows of one locator may lie in several. */
final class Part(val blocks: Array[Block]) {
  private val lastLocators = blocks.map(_.lastLocator)

  /** Whether each block lies behind the one before. */
  def isInOrder: Boolean = (1 until blocks.length).forall { i =>
    val next = blocks(i)
    lastLocators(i - 1) < next.firstLocator || lastLocators(i - 1) == next.firstLocator &&
      blocks(i - 1).compareLastKey(null, next.keyAddress(0), next.keyLength(0)) < 0
  }

  /** The first block that has the locator if any has; `blocks.length` if all lie below it. */
  def blockOf(locator: Long): Int = {
    var low = 0
    var high = lastLocators.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (lastLocators(middle) < locator) low = middle + 1 else high = middle
    }
    low
  }

  /** The block that has the key if any has; `blocks.length` if all lie below it. */
  def blockOf(locator: Long, base: AnyRef, offset: Long, length: Int): Int = {
    val first = blockOf(locator)
    if (first < blocks.length && endsBelow(first, locator, base, offset, length)) {
      search(first + 1, locator, base, offset, length)
    } else first
  }

  private def search(from: Int, locator: Long, base: AnyRef, offset: Long, length: Int): Int = {
    var low = from
    var high = blocks.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (endsBelow(middle, locator, base, offset, length)) low = middle + 1 else high = middle
    }
    low
  }

  /** Whether a block, whose last locator is not below this one, ends before the key. */
  private def endsBelow(block: Int, locator: Long, base: AnyRef, offset: Long, length: Int): Boolean =
    lastLocators(block) == locator && blocks(block).compareLastKey(base, offset, length) < 0
}
