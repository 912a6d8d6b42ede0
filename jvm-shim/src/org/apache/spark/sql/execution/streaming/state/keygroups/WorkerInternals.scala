package org.apache.spark.sql.execution.streaming.state.keygroups

import org.apache.spark.{JobArtifactSet, TaskContext}
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, PythonUDF, UnsafeProjection}
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.ArrowPythonRunner
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}
import org.apache.spark.util.CompletionIterator

import scala.jdk.CollectionConverters._

/** What we use of Spark for Python workers of our own nodes, and that is visible inside its own packages only. */
object WorkerInternals {
  private val NoRows = new StructType().add("none", BinaryType)

  /** Gives what makes rows of batches of rows in a Python worker, as mapInArrow does. */
  def overBatches(function: PythonUDF, input: StructType, output: Seq[Attribute], conf: SQLConf,
      metrics: Map[String, SQLMetric]): Iterator[Iterator[InternalRow]] => Iterator[InternalRow] = {
    val functions = Seq((ChainedPythonFunctions(Seq(function.func)), function.resultId.id))
    val (timeZone, largeTypes) = (conf.sessionLocalTimeZone, conf.arrowUseLargeVarTypes)
    val runnerConf = ArrowPythonRunner.getPythonRunnerConfMap(conf)
    val artifacts = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)
    batches => {
      val task = TaskContext.get()
      // mapInArrow adds up the size of a batch after each row, which took more than half of the JVM's time here.
      val runner = new ArrowPythonRunner(functions, PythonEvalType.SQL_MAP_ARROW_ITER_UDF, Array(Array(0)),
        new StructType().add("struct", input), timeZone, largeTypes, runnerConf, metrics, artifacts, None)
      val made = runner.compute(batches.map(_.map(InternalRow(_))), task.partitionId(), task)
      made.flatMap(rowsOf(_, output)).map(UnsafeProjection.create(output, output))
    }
  }

  /** The rows of a batch whose columns are those of its one struct. */
  private def rowsOf(batch: ColumnarBatch, output: Seq[Attribute]): Iterator[InternalRow] = {
    val struct = batch.column(0).asInstanceOf[ArrowColumnVector]
    val columns = new ColumnarBatch(output.indices.map(struct.getChild).toArray[ColumnVector])
    columns.setNumRows(batch.numRows())
    columns.rowIterator.asScala
  }

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
