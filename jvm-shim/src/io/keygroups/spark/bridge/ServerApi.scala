package io.keygroups.spark.bridge

/** The Python side's one method; see `keygroups.bridge.server`. */
trait ServerApi {
  def call(method: String, payload: String): String
}
