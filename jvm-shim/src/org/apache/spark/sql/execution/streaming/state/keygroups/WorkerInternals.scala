package org.apache.spark.sql.execution.streaming.state.keygroups

import org.apache.spark.{JobArtifactSet, PartitionEvaluatorFactory}
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, PythonUDF}
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.{ArrowPythonRunner, MapInBatchEvaluatorFactory}
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.util.CompletionIterator

/** What we use of Spark for Python workers of our own nodes, and that is visible inside its own packages only. */
object WorkerInternals {
  private val NoRows = new StructType().add("none", BinaryType)

  /** Evaluates a function of Arrow batches, as mapInArrow does. */
  def overBatches(function: PythonUDF, input: StructType, output: Seq[Attribute], conf: SQLConf,
      metrics: Map[String, SQLMetric]): PartitionEvaluatorFactory[InternalRow, InternalRow] =
    new MapInBatchEvaluatorFactory(
      output,
      Seq((ChainedPythonFunctions(Seq(function.func)), function.resultId.id)),
      input,
      function.dataType,
      conf.arrowMaxRecordsPerBatch,
      PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
      conf.sessionLocalTimeZone,
      conf.arrowUseLargeVarTypes,
      ArrowPythonRunner.getPythonRunnerConfMap(conf),
      metrics,
      JobArtifactSet.getCurrentJobArtifactState.map(_.uuid),
      None)

  /** A column of a key in which both zeros are one, and all NaNs, as in Spark's own grouping. */
  def normalized(key: Expression): Expression = NormalizeFloatingNumbers.normalize(key)

  /** Run each partition with the store of it, which has families only. */
  def withStores(rows: RDD[InternalRow], info: StatefulOperatorStateInfo, session: SparkSession)(
      body: (StateStore, Iterator[InternalRow]) => Iterator[InternalRow]): RDD[InternalRow] =
    rows.mapPartitionsWithStateStore[InternalRow](info, NoRows, NoRows, NoPrefixKeyStateEncoderSpec(NoRows),
      session.sessionState, Some(session.streams.stateStoreCoordinator), useColumnFamilies = true,
      useMultipleValuesPerKey = true)(body)

  /** The same rows; `completed` is called once, after the last. */
  def atEnd(rows: Iterator[InternalRow])(completed: => Unit): Iterator[InternalRow] =
    CompletionIterator[InternalRow, Iterator[InternalRow]](rows, completed)
}
