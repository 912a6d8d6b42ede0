package io.keygroups.spark.operators

import scala.util.control.NonFatal

import io.keygroups.spark.Failures
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * What the columns of a state's values say of it: `keygroups.partition.forms`.
 *
 * @param kind such as `reducing`; None in checkpoints that are older than that it is recorded
 * @param values type of the values
 */
private[operators] final case class StateValues(kind: Option[String], values: DataType, isPickled: Boolean, isTimed: Boolean) {
  private def shown: String = if (isPickled) "pickled objects" else values.simpleString

  /** KeyGroupsException unless a state that is declared like this can go on with what was stored for another declaration. */
  def requireFollows(old: StateValues, state: String, evolves: Boolean): Unit = {
    if (old.kind.zip(kind).exists { case (one, other) => one != other }) {
      throw Failures.setting(s"state '$state' was stored with another kind (expected a ${old.kind.get} state, found a " +
        s"${kind.get} state): give the new state another name, or keep the kind")
    }
    val isSame = isPickled == old.isPickled && Conversions.isSame(old.values, values)
    val isPossible = isSame || (isPickled == old.isPickled && Conversions.isPossible(old.values, values))
    if (!isPossible) {
      throw Failures.setting(s"the values of state '$state' cannot become another type (expected ${old.shown}, found $shown): " +
        "keep the type, or give the state another name")
    }
    if (!evolves && !(isSame && isTimed == old.isTimed)) {
      throw Failures.setting(s"state '$state' changes only with another encoding of state (expected ${old.shown}" +
        s"${old.lives}, found $shown$lives): keep it, give the new state another name, or begin with a new checkpoint and " +
        "spark.sql.streaming.stateStore.encodingFormat=avro")
    }
  }

  private def lives: String = if (isTimed) " with a time to live" else ""
}

private[operators] object StateValues {
  def of(recorded: StructType): StateValues = {
    val schema = Recordable.declared(recorded)
    val isWrapped = schema.exists(_.metadata.contains("keygroups.wrapped"))
    val kind = schema.headOption.map(_.metadata).filter(_.contains("keygroups.kind")).map(_.getString("keygroups.kind"))
    StateValues(
      kind,
      if (isWrapped) schema.head.dataType else schema,
      schema.exists(_.metadata.contains("keygroups.pickled")),
      isWrapped && schema.length > 1)
  }
}

/** The schemas that Spark has recorded of an operator's states, by their names, oldest first. */
private[operators] final class RecordedStates(schemas: Map[String, Seq[StateStoreColFamilySchema]]) {

  /** KeyGroupsException unless a state may be declared like this, after all that were declared under its name before. */
  def requireFollows(now: StateStoreColFamilySchema, evolves: Boolean): Unit =
    for (old <- schemas.getOrElse(now.colFamilyName, Nil)) {
      StateValues.of(now.valueSchema).requireFollows(StateValues.of(old.valueSchema), now.colFamilyName, evolves)
    }
}

private[operators] object RecordedStates {
  val none = new RecordedStates(Map.empty)

  /** Those before a batch. What cannot be read is none: Spark reads it too, right after, and fails with the cause. */
  def before(batch: Long, operator: StatefulOperatorStateInfo, metadataVersion: Int, conf: Configuration): RecordedStates =
    try {
      val folder = new Path(operator.checkpointLocation, operator.operatorId.toString)
      val files = OperatorStateMetadataReader.createReader(folder, conf, metadataVersion, batch).read().toSeq.flatMap {
        case metadata: OperatorStateMetadataV2 => metadata.stateStoreInfo.head.stateSchemaFilePaths
        case _ => Nil
      }
      val manager = CheckpointFileManager.create(folder, conf)
      val found = files.flatMap(file => StateSchemaCompatibilityChecker.readSchemaFile(manager.open(new Path(file))))
      new RecordedStates(found.groupBy(_.colFamilyName))
    } catch { case NonFatal(_) => none }
}
