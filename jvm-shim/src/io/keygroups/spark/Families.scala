package io.keygroups.spark

import java.util.concurrent.ConcurrentHashMap

import io.keygroups.spark.bridge.FamilyMessage
import io.keygroups.spark.keys.{KeyShape, PartitionColumns}
import io.keygroups.spark.session.{Family, LaterValues, PlainValues, ValueCodec}
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.streaming.state.keygroups.SparkInternals
import org.apache.spark.sql.types.StructType

/** A column family as the query declares it; its number depends on the version that is open. */
final case class DeclaredFamily(name: String, keySchema: StructType, valueSchema: StructType, encoder: KeyStateEncoderSpec,
    shape: KeyShape, values: ValueCodec, encoding: String, hasLists: Boolean, isInternal: Boolean) {

  private lazy val message =
    FamilyMessage(0, name, keySchema.json, valueSchema.json, encoder.json, encoding, hasLists, isInternal, keys = 0)

  def numbered(id: Int): Family =
    Family(id, name, shape, values, hasLists, isInternal, message.copy(id = id))
}

/**
 * The column families that were declared to a provider. They outlive its stores: readers declare in one, read in another.
 *
 * @param encoding of values: Spark's setting `encodingFormat`
 * @param schemas the schemas that families have had, of operators that may change them
 */
final class Families(storeId: StateStoreId, hadoopConf: Configuration, encoding: String,
    schemas: Option[StateSchemaProvider]) {
  private val declared = new ConcurrentHashMap[String, DeclaredFamily]()

  def get(name: String): Option[DeclaredFamily] = Option(declared.get(name))

  def forget(name: String): Unit = {
    declared.remove(name)
    ()
  }

  /** Operators declare their families again with each batch: an equal one stays. */
  def declare(name: String, valueSchema: StructType, encoder: KeyStateEncoderSpec, hasLists: Boolean,
      isInternal: Boolean): Unit = {
    val known = declared.get(name)
    val isKnown = known != null && known.encoder == encoder && known.valueSchema == valueSchema &&
      known.hasLists == hasLists && known.isInternal == isInternal
    if (!isKnown) declared.put(name, newFamily(name, valueSchema, encoder, hasLists, isInternal))
  }

  private def newFamily(name: String, valueSchema: StructType, encoder: KeyStateEncoderSpec, hasLists: Boolean,
      isInternal: Boolean): DeclaredFamily = {
    // The schema in the encoder is complete: in the other one Spark's joins omit the timestamp.
    val schema = Families.schemaOf(encoder)
    schemas.foreach(SparkInternals.tellTests(_, name, schema, valueSchema))
    val shape = PartitionColumns.shape(storeId, name, schema, encoder, hadoopConf)
    val (values, stored) =
      if (encoding != Families.Avro || schemas.isEmpty) (new PlainValues(valueSchema.length), Families.UnsafeRows)
      else (new LaterValues(SparkInternals.avroValues(schema, valueSchema, schemas, name)), Families.Avro)
    DeclaredFamily(name, schema, valueSchema, encoder, shape, values, stored, hasLists, isInternal)
  }
}

object Families {
  val Avro = "avro"
  val UnsafeRows: String = PlainValues.Encoding

  private def schemaOf(encoder: KeyStateEncoderSpec): StructType = encoder match {
    case NoPrefixKeyStateEncoderSpec(schema) => schema
    case PrefixKeyScanStateEncoderSpec(schema, _) => schema
    case RangeKeyScanStateEncoderSpec(schema, _) => schema
    case TimestampAsPrefixKeyStateEncoderSpec(schema) => schema
    case TimestampAsPostfixKeyStateEncoderSpec(schema) => schema
  }
}
