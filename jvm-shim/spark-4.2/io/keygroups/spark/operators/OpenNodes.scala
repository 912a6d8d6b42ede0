package io.keygroups.spark.operators

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec

/** transformWithState in Scala and Java. */
final class OpenScalaNode(node: TransformWithStateExec) extends TransformWithStateExec(node.keyDeserializer,
    node.valueDeserializer, node.groupingAttributes, node.dataAttributes, node.statefulProcessor, node.timeMode,
    node.outputMode, node.keyEncoder, node.outputObjAttr, node.stateInfo, node.batchTimestampMs, node.prevBatchTimestampMs,
    node.eventTimeWatermarkForLateEvents, node.eventTimeWatermarkForEviction, node.child, node.isStreaming,
    node.hasInitialState, node.initialStateGroupingAttrs, node.initialStateDataAttrs,
    node.initialStateDeserializer, node.initialState) with OpenNode {

  override protected def withNewChildrenInternal(left: SparkPlan, right: SparkPlan): TransformWithStateExec =
    new OpenScalaNode(super.withNewChildrenInternal(left, right))

  override def makeCopy(newArgs: Array[AnyRef]): SparkPlan =
    new OpenScalaNode(copy().makeCopy(newArgs).asInstanceOf[TransformWithStateExec])
}

/** The columns that a node of PySpark was made with. */
private[operators] object PythonColumns {
  def of(node: TransformWithStateInPySparkExec): Seq[Attribute] = node.output
}
