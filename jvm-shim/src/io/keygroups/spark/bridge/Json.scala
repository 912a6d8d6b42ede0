package io.keygroups.spark.bridge

import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode}
import com.fasterxml.jackson.module.scala.{ClassTagExtensions, DefaultScalaModule, JavaTypeable}

/** JSON of the messages that cross the bridge. */
object Json {
  private val mapper = JsonMapper
    .builder()
    .addModule(DefaultScalaModule)
    .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
    .build() :: ClassTagExtensions

  def write(value: AnyRef): String = mapper.writeValueAsString(value)
  def read[T: JavaTypeable](text: String): T = mapper.readValue[T](text)
  def tree(text: String): JsonNode = mapper.readTree(text)
  def convert[T: JavaTypeable](node: JsonNode): T = mapper.readValue[T](mapper.treeAsTokens(node))
}
