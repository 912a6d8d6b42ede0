package io.keygroups.spark.operators

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec

/**
 * transformWithState and transformWithStateInPandas of PySpark.
 *
 * @param node as Spark planned it
 * @param input where its rows come from
 */
class OpenPythonNode(node: TransformWithStateInPySparkExec, input: SparkPlan) extends TransformWithStateInPySparkExec(
    node.functionExpr, node.groupingAttributes, PythonColumns.of(node), node.outputMode, node.timeMode, node.stateInfo,
    node.batchTimestampMs, node.prevBatchTimestampMs, node.eventTimeWatermarkForLateEvents,
    node.eventTimeWatermarkForEviction, node.userFacingDataType, input, node.isStreaming, node.hasInitialState,
    node.initialState, node.initialStateGroupingAttrs, node.initialStateSchema) with OpenNode {

  override protected def withNewChildrenInternal(left: SparkPlan, right: SparkPlan): TransformWithStateInPySparkExec =
    again(super.withNewChildrenInternal(left, right))

  override def makeCopy(newArgs: Array[AnyRef]): SparkPlan =
    again(copy().makeCopy(newArgs).asInstanceOf[TransformWithStateInPySparkExec])

  /** A node of this kind. */
  protected def again(node: TransformWithStateInPySparkExec): TransformWithStateInPySparkExec =
    new OpenPythonNode(node, node.child)
}
