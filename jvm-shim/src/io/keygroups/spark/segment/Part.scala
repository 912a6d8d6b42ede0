package io.keygroups.spark.segment

/**
 * Rows of one family in ascending order of (locator, key), in blocks. Rows of one locator may lie in several.
 *
 * @param starts of each block the first row that counts
 * @param ends of each block the end of these, exclusive
 */
final class Part(val blocks: Array[Block], starts: Array[Int], ends: Array[Int]) {
  /** Of a whole block without a look at its file: a commit makes parts of all blocks of a version. */
  private val lastLocators = Array.tabulate(blocks.length) { i =>
    if (ends(i) == blocks(i).rows) blocks(i).lastLocator else blocks(i).locator(ends(i) - 1)
  }

  private def firstLocator(i: Int): Long =
    if (starts(i) == 0) blocks(i).firstLocator else blocks(i).locator(starts(i))

  def start(block: Int): Int = starts(block)
  def end(block: Int): Int = ends(block)

  /** Whether each block lies behind the one before. */
  def isInOrder: Boolean = (1 until blocks.length).forall { i =>
    val locator = firstLocator(i)
    lastLocators(i - 1) < locator || lastLocators(i - 1) == locator && {
      val next = blocks(i)
      compareLastKey(i - 1, null, next.keyAddress(starts(i)), next.keyLength(starts(i))) < 0
    }
  }

  /** The row of a key in a block, -1 if it has none. */
  def find(block: Int, locator: Long, base: AnyRef, offset: Long, length: Int): Int = {
    val row = blocks(block).find(locator, base, offset, length)
    if (row >= starts(block) && row < ends(block)) row else -1
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
    lastLocators(block) == locator && compareLastKey(block, base, offset, length) < 0

  private def compareLastKey(block: Int, base: AnyRef, offset: Long, length: Int): Int =
    blocks(block).compareKey(ends(block) - 1, base, offset, length)
}

object Part {
  /** All rows of blocks. */
  def of(blocks: Array[Block]): Part = new Part(blocks, Array.fill(blocks.length)(0), blocks.map(_.rows))
}
