package io.keygroups.spark.keys

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.{NullType, StructType}

/** How keys are laid out, and which of their columns are those by which Spark partitions the operator's rows. */
object PartitionColumns {
  /** Stores of a stream-stream join whose key ends with a running number. */
  private val Indexed = Set("left-keyWithIndexToValue", "right-keyWithIndexToValue")

  /** Families in which transformWithState keeps the time before the key: TTL and timers. */
  private val TtlFamily = "$ttl_"
  private val TimesFirst = Set("$eventTimers_timestampToKey", "$procTimers_timestampToKey")

  /** Prefix families of transformWithState: map state, and the timers of a key. */
  private def isCompositeKey(schema: StructType): Boolean =
    schema.length == 2 && schema.head.name == "key" && schema.head.dataType.isInstanceOf[StructType]

  def shape(id: StateStoreId, family: String, schema: StructType, encoder: KeyStateEncoderSpec,
      hadoopConf: Configuration): KeyShape = encoder match {
    case PrefixKeyScanStateEncoderSpec(_, columns) =>
      if (columns <= 0 || columns >= schema.length) {
        throw StateStoreErrors.incorrectNumOrderingColsForPrefixScan(columns.toString)
      }
      KeyShape(schema, KeyOrder.Prefixed(columns), (0 until columns).map(Seq(_)))
    case RangeKeyScanStateEncoderSpec(_, ordinals) =>
      if (ordinals.isEmpty || ordinals.length > schema.length) {
        throw StateStoreErrors.incorrectNumOrderingColsForRangeScan(ordinals.length.toString)
      }
      KeyShape(schema, KeyOrder.Ordered(ordinals), ordered(family, schema))
    case TimestampAsPrefixKeyStateEncoderSpec(_) =>
      KeyShape(schema, KeyOrder.Ordered(Seq(schema.length - 1)), (0 until schema.length - 1).map(Seq(_)))
    case TimestampAsPostfixKeyStateEncoderSpec(_) =>
      KeyShape(schema, KeyOrder.Timed, (0 until schema.length - 1).map(Seq(_)))
    case _ if Indexed.contains(id.storeName) || Indexed.contains(family) =>
      KeyShape(schema, KeyOrder.Hashed, (0 until schema.length - 1).map(Seq(_)))
    case _ if isGlobalLimit(id, schema, hadoopConf) => KeyShape(schema, KeyOrder.Hashed, Seq.empty)
    case _ => KeyShape(schema, KeyOrder.Hashed, schema.indices.map(Seq(_)))
  }

  private def ordered(family: String, schema: StructType): Seq[Seq[Int]] =
    if (TimesFirst.contains(family)) Seq(Seq(1))
    else if (family.startsWith(TtlFamily)) schema(1).dataType match {
      case element: StructType if isCompositeKey(element) => Seq(Seq(1, 0))
      case _ => Seq(Seq(1))
    }
    else schema.indices.map(Seq(_))

  /**
   * A global limit keeps its one row under a null key, and all its rows go to partition 0; a key of null columns may be
   * anything else too, so the operator's name decides.
   */
  private def isGlobalLimit(id: StateStoreId, schema: StructType, hadoopConf: Configuration): Boolean =
    schema.length == 1 && schema.head.dataType == NullType && OperatorMetadata.name(id, hadoopConf).contains("globalLimit")
}
