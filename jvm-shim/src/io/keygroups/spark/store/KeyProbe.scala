package io.keygroups.spark.store

import io.keygroups.spark.memory.Bytes
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.types.StructType

/**
 * What of a key says where its row lies.
 *
 * @param schema of the key
 * @param prefixColumns leading columns that a prefix scan gives; 0 if the family is not scanned by prefix
 * @param partitionColumns ordinals of the columns by which Spark partitions the operator's rows
 */
case class KeyShape(schema: StructType, prefixColumns: Int, partitionColumns: Seq[Int]) {

  /** Spark's own hash of the partitioning columns; None where all rows lie in partition 0. */
  def hash: Option[UnsafeProjection] =
    if (partitionColumns.isEmpty) None
    else {
      // Pmod(hash, partitions): the partition id without its modulus.
      val hash = HashPartitioning(partitionColumns.map(reference), 1).partitionIdExpression.children.head
      Some(UnsafeProjection.create(Seq(hash)))
    }

  def prefix: Option[UnsafeProjection] =
    if (prefixColumns == 0) None else Some(UnsafeProjection.create((0 until prefixColumns).map(reference)))

  private def reference(ordinal: Int): Expression =
    BoundReference(ordinal, schema(ordinal).dataType, schema(ordinal).nullable)
}

/** A key as the lookup sees it. One object a session, set anew for each row; not for several threads at once. */
final class KeyProbe(shape: KeyShape, maxParallelism: Int) {
  private val hashProjection = shape.hash.orNull
  private val prefixProjection = shape.prefix.orNull

  var base: AnyRef = _
  var offset: Long = 0
  var length: Int = 0
  /** 48 bits of the hash of the whole key. */
  var keyHash: Long = 0
  /** Spark's hash of the partitioning columns, 0 if there are none. */
  var h: Int = 0
  /** Key group << 48 | 48 bits of the hash of the prefix, or of the whole key. */
  var locator: Long = 0

  def set(key: UnsafeRow): Unit = {
    base = key.getBaseObject
    offset = key.getBaseOffset
    length = key.getSizeInBytes
    keyHash = KeyProbe.hash(base, offset, length)
    h = if (hashProjection == null) 0 else hashProjection(key).getInt(0)
    val located =
      if (prefixProjection == null) keyHash
      else {
        val prefix = prefixProjection(key)
        KeyProbe.hash(prefix.getBaseObject, prefix.getBaseOffset, prefix.getSizeInBytes)
      }
    locator = (keyGroup << 48) | located
  }

  /** Locate the rows of a scan prefix; the result is the prefix as `hasPrefix` compares it. */
  def setPrefix(prefix: UnsafeRow): UnsafeRow = {
    val own = prefixProjection(prefix).copy()
    h = if (hashProjection == null) 0 else hashProjection(prefix).getInt(0)
    locator = (keyGroup << 48) | KeyProbe.hash(own.getBaseObject, own.getBaseOffset, own.getSizeInBytes)
    own
  }

  /** Whether a key begins with this prefix. */
  def hasPrefix(key: UnsafeRow, prefix: UnsafeRow): Boolean = prefixProjection(key) == prefix

  private def keyGroup: Long = Math.floorMod(h, maxParallelism).toLong
}

object KeyProbe {
  def hash(base: AnyRef, offset: Long, length: Int): Long = Bytes.hash(base, offset, length) >>> 16
}

/** A value to be written, or a tombstone. */
final class ValueBytes {
  var base: AnyRef = _
  var offset: Long = 0
  var length: Int = 0
  var isTombstone: Boolean = false

  def set(value: UnsafeRow): ValueBytes = {
    base = value.getBaseObject
    offset = value.getBaseOffset
    length = value.getSizeInBytes
    isTombstone = false
    this
  }

  def tombstone(): ValueBytes = {
    base = null
    length = 0
    isTombstone = true
    this
  }
}
