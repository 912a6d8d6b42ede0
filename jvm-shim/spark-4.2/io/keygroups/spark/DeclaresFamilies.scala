package io.keygroups.spark

import org.apache.spark.sql.execution.streaming.state.ReadStateStore

/** In Spark 4.2 readers see the families that a store was initialised with, and those it has. */
trait DeclaresFamilies { this: ReadStateStore =>
  def provider: KeyGroupStateStoreProvider
}
