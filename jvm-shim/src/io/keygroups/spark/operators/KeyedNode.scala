package io.keygroups.spark.operators

import io.keygroups.spark.bridge.Json
import io.keygroups.spark.{Failures, KeyGroupStateStore}
import org.apache.hadoop.conf.Configuration
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, PythonUDF, SortOrder}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.{StatefulOperatorCustomMetric, StatefulOperatorCustomSumMetric}
import org.apache.spark.sql.execution.streaming.state.{StateSchemaValidationResult, StateStore, StateStoreColFamilySchema}
import org.apache.spark.sql.execution.streaming.state.keygroups.WorkerInternals

/**
 * A function of `keygroups.key_by`. One Python worker gets all rows of the partition in batches, reads the files of the
 * version itself, and leaves its writes in files, which become part of the next version.
 */
final class KeyedNode(node: TransformWithStateInPySparkExec, input: SparkPlan) extends OpenPythonNode(node, input) {
  private val function = node.functionExpr.asInstanceOf[PythonUDF]
  private val inputRows = new KeyedInput(function.children, node.groupingAttributes, input.output)
  private val evaluated = WorkerInternals.overBatches(function, inputRows.schema, output, conf, pythonMetrics)
  private val (mostRows, mostBytes) = (conf.arrowMaxRecordsPerBatch, conf.arrowMaxBytesPerBatch)
  private val earliestTimer = new EarliestTimer
  @transient private var recorded = RecordedStates.none
  // Lazy: a superclass asks for the metrics while it is made.
  lazy val declared: KeyedNode.Declared = KeyedNode.declared(node.functionExpr)

  override protected def again(node: TransformWithStateInPySparkExec): TransformWithStateInPySparkExec =
    new KeyedNode(node, node.child)

  /** The worker finds the rows of a key by itself. */
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(Nil, Nil)

  /** A row that comes out belongs to a row or a timer that the watermark before had not passed. */
  override def produceOutputWatermark(inputWatermarkMs: Long): Option[Long] = Some(inputWatermarkMs)

  /** A batch without input fires timers. */
  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    eventTimeWatermarkForEviction.exists(newInputWatermark > _) || earliestTimer.value <= System.currentTimeMillis()

  override def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    super.customStatefulOperatorMetrics ++ declared.metrics.map(name =>
      StatefulOperatorCustomSumMetric(declared.metric(name), s"$name of operator ${declared.uid}"))

  /** Spark's own broadcast of the recorded schemas is for values in Avro. Workers write rows of Spark and rewrite old ones. */
  override def supportsSchemaEvolution: Boolean = false

  override def validateAndMaybeEvolveStateSchema(hadoopConf: Configuration, batchId: Long,
      stateSchemaVersion: Int): List[StateSchemaValidationResult] = {
    recorded = RecordedStates.before(batchId, getStateInfo, operatorStateMetadataVersion, hadoopConf)
    super.validateAndMaybeEvolveStateSchema(hadoopConf, batchId, stateSchemaVersion)
  }

  /** What Spark is about to record. KeyGroupsException: a state cannot go on with what it has stored. */
  override def getColFamilySchemas(shouldBeNullable: Boolean): Map[String, StateStoreColFamilySchema] =
    super.getColFamilySchemas(false).map { case (name, declared) =>
      recorded.requireFollows(declared, evolves = shouldBeNullable)
      name -> Recordable.of(declared)
    }

  override protected def doExecute(): RDD[InternalRow] = {
    metrics // made on the driver
    sparkContext.register(earliestTimer)
    WorkerInternals.withStores(child.execute(), getStateInfo, session)(process)
  }

  private def process(store: StateStore, rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val ours = store.asInstanceOf[KeyGroupStateStore]
    val outputRows = longMetric("numOutputRows")
    val writes = new WorkerWrites(ours)
    val now = batchTimestampMs.getOrElse(System.currentTimeMillis())
    val watermark = eventTimeWatermarkForEviction.filter(_ > 0).getOrElse(Long.MinValue) // Spark's is 0 where there is none
    val input = inputRows.of(writes.view(watermark, now, getStateInfo.numPartitions), rows, ours.session.version.maxParallelism)
    val start = System.nanoTime
    val made = evaluated(new RowBatches(input, mostRows, mostBytes)).map { row =>
      outputRows += 1
      row
    }
    WorkerInternals.atEnd(made) {
      longMetric("allUpdatesTimeMs") += (System.nanoTime - start) / 1000000
      report(writes.take())
      longMetric("commitTimeMs") += timeTakenMs { ours.commit(); () }
      setStoreMetrics(ours)
      setOperatorMetrics()
    }
  }

  private def report(written: Written): Unit = {
    longMetric("numUpdatedStateRows") += written.families.filterNot(_.internal).flatMap(_.chunks).map(_.rows).sum
    written.nextTimer.foreach(earliestTimer.add)
    declared.metrics.foreach(name => longMetric(declared.metric(name)) += written.metrics(name))
  }
}

private[operators] object KeyedNode {
  /** What begins the name that Python gives to the function of such a node; a JSON text follows. */
  val Function = "keygroups.process "

  /**
   * What is known of a function before it runs.
   *
   * @param metrics names of its counters and gauges
   */
  final case class Declared(uid: String, metrics: Seq[String]) {
    /** Spark's name of a metric. */
    def metric(name: String): String = s"$uid.$name"
  }

  def isOurs(function: Expression): Boolean = function match {
    case function: PythonUDF => function.name.startsWith(Function)
    case _ => false
  }

  def declared(function: Expression): Declared =
    Json.read[Declared](function.asInstanceOf[PythonUDF].name.drop(Function.length))

  /** The name decides whose state an operator finds. */
  def requireOwnNames(plan: SparkPlan): SparkPlan = {
    val names = plan.collect { case node: KeyedNode => node.declared.uid }
    names.diff(names.distinct).headOption.foreach { name =>
      throw Failures.setting(s"two operators of the query have one uid (found '$name' twice): give each call of process, map " +
        "and so on a uid of its own")
    }
    plan
  }
}
