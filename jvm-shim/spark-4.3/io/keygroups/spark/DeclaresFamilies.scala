package io.keygroups.spark

import org.apache.spark.sql.execution.streaming.state.{KeyStateEncoderSpec, ReadStateStore}
import org.apache.spark.sql.types.StructType

/** Spark 4.3 declares families to the stores of readers too. */
trait DeclaresFamilies { this: ReadStateStore =>
  def provider: KeyGroupStateStoreProvider

  override def registerColFamily(colFamilyName: String, keySchema: StructType, valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec, useMultipleValuesPerKey: Boolean, isInternal: Boolean): Unit =
    provider.declare(colFamilyName, valueSchema, keyStateEncoderSpec, useMultipleValuesPerKey, isInternal)
}
