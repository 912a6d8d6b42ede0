package io.keygroups.spark.operators

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec

/** transformWithState and transformWithStateInPandas of PySpark. */
final class OpenPythonNode(node: TransformWithStateInPySparkExec) extends TransformWithStateInPySparkExec(
    node.functionExpr, node.groupingAttributes, PythonColumns.of(node), node.outputMode, node.timeMode, node.stateInfo,
    node.batchTimestampMs, node.prevBatchTimestampMs, node.eventTimeWatermarkForLateEvents,
    node.eventTimeWatermarkForEviction, node.userFacingDataType, node.child, node.isStreaming, node.hasInitialState,
    node.initialState, node.initialStateGroupingAttrs, node.initialStateSchema) with OpenNode {

  override protected def withNewChildrenInternal(left: SparkPlan, right: SparkPlan): TransformWithStateInPySparkExec =
    new OpenPythonNode(super.withNewChildrenInternal(left, right))

  override def makeCopy(newArgs: Array[AnyRef]): SparkPlan =
    new OpenPythonNode(copy().makeCopy(newArgs).asInstanceOf[TransformWithStateInPySparkExec])
}
