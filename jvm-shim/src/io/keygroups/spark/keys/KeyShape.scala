package io.keygroups.spark.keys

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, UnsafeProjection}
import org.apache.spark.sql.types.StructType

/** How the rows of a family are sorted, and so which scans it has. */
sealed trait KeyOrder

object KeyOrder {
  /** By a hash of the key. */
  case object Hashed extends KeyOrder

  /** By a hash of the leading columns, which a prefix scan gives; rows of one prefix by the bytes of their keys. */
  final case class Prefixed(columns: Int) extends KeyOrder

  /** By a hash of all columns but the last, which a prefix scan gives; rows of one prefix by the last, a timestamp. */
  case object Timed extends KeyOrder

  /** By these columns, over all key groups: range scans. */
  final case class Ordered(ordinals: Seq[Int]) extends KeyOrder
}

/**
 * The parts of a key that decide where its row lies.
 *
 * @param schema of the key
 * @param partitionColumns the columns by which Spark partitions the operator's rows, each as the way to it: the ordinal in
 *                         the key, then ordinals in structs
 */
final case class KeyShape(schema: StructType, order: KeyOrder, partitionColumns: Seq[Seq[Int]]) {

  /** Leading columns that a prefix scan gives; 0 where there are no prefix scans by hash. */
  val prefixColumns: Int = order match {
    case KeyOrder.Prefixed(columns) => columns
    case KeyOrder.Timed => schema.length - 1
    case _ => 0
  }

  private val sharedHash = KeyHash.shared(schema, partitionColumns)

  /** Spark's hash of the partitioning columns, for one thread; None where all rows lie in partition 0. */
  def hash: Option[KeyHash] =
    if (partitionColumns.isEmpty) None else sharedHash.orElse(Some(KeyHash.projected(schema, partitionColumns)))

  def prefix: UnsafeProjection = UnsafeProjection.create((0 until prefixColumns).map(reference))

  private def reference(ordinal: Int): Expression =
    BoundReference(ordinal, schema(ordinal).dataType, schema(ordinal).nullable)
}
