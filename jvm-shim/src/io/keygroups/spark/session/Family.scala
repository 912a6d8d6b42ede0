package io.keygroups.spark.session

import io.keygroups.spark.bridge.FamilyMessage
import io.keygroups.spark.keys.KeyShape

/**
 * A column family: rows of one schema, with a key space of their own.
 *
 * @param id its number in segments
 * @param values how values are stored
 * @param hasLists a key has any number of values
 * @param isInternal Spark's own bookkeeping, whose keys are not counted as the user's
 */
final case class Family(id: Int, name: String, shape: KeyShape, values: ValueCodec, hasLists: Boolean, isInternal: Boolean,
    message: FamilyMessage)
