package io.keygroups.spark.operators

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

/** transformWithState and transformWithStateInPandas of PySpark. */
final class OpenPythonNode(node: TransformWithStateInPySparkExec) extends TransformWithStateInPySparkExec(
    node.functionExpr, node.groupingAttributes, node.output, node.outputMode, node.timeMode, node.stateInfo,
    node.batchTimestampMs, node.prevBatchTimestampMs, node.eventTimeWatermarkForLateEvents,
    node.eventTimeWatermarkForEviction, node.userFacingDataType, node.child, node.isStreaming, node.hasInitialState,
    node.initialState, node.initialStateGroupingAttrs, node.initialStateSchema) with OpenNode {

  override protected def withNewChildrenInternal(left: SparkPlan, right: SparkPlan): TransformWithStateInPySparkExec =
    new OpenPythonNode(super.withNewChildrenInternal(left, right))

  override def makeCopy(newArgs: Array[AnyRef]): SparkPlan =
    new OpenPythonNode(copy().makeCopy(newArgs).asInstanceOf[TransformWithStateInPySparkExec])
}
