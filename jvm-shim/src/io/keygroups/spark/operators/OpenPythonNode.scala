package io.keygroups.spark.operators

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.TransformWithStateInPySpark
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.types.StructType

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

  /** Spark's changes of a node go through here, or through the next two. */
  override def copy(functionExpr: Expression, groupingAttributes: Seq[Attribute], columns: Seq[Attribute],
      outputMode: OutputMode, timeMode: TimeMode, stateInfo: Option[StatefulOperatorStateInfo], batchTimestampMs: Option[Long],
      prevBatchTimestampMs: Option[Long], eventTimeWatermarkForLateEvents: Option[Long],
      eventTimeWatermarkForEviction: Option[Long], userFacingDataType: TransformWithStateInPySpark.UserFacingDataType.Value,
      child: SparkPlan, isStreaming: Boolean, hasInitialState: Boolean, initialState: SparkPlan,
      initialStateGroupingAttrs: Seq[Attribute], initialStateSchema: StructType): TransformWithStateInPySparkExec =
    again(super.copy(functionExpr, groupingAttributes, columns, outputMode, timeMode, stateInfo, batchTimestampMs,
      prevBatchTimestampMs, eventTimeWatermarkForLateEvents, eventTimeWatermarkForEviction, userFacingDataType, child,
      isStreaming, hasInitialState, initialState, initialStateGroupingAttrs, initialStateSchema))

  override def makeCopy(newArgs: Array[AnyRef]): SparkPlan =
    again(super.copy().makeCopy(newArgs).asInstanceOf[TransformWithStateInPySparkExec])

  override def clone(): SparkPlan = again(super.copy().clone().asInstanceOf[TransformWithStateInPySparkExec])

  /** A node of this kind. */
  protected def again(node: TransformWithStateInPySparkExec): TransformWithStateInPySparkExec =
    new OpenPythonNode(node, node.child)
}
