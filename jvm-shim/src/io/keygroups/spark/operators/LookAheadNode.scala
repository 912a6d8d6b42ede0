package io.keygroups.spark.operators

import io.keygroups.spark.OpenStores
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreRestoreExec

/**
 * Passes the rows of a stateful operator on, and has the state of their keys read ahead.
 *
 * @param keys the columns of a row that are its key
 * @param operator number of the operator
 */
final case class LookAheadNode(keys: Seq[Attribute], operator: Long, child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override protected def doExecute(): RDD[InternalRow] = {
    val (columns, input, number) = (keys, child.output, operator)
    child.execute().mapPartitions { rows =>
      val context = TaskContext.get()
      new LookAhead(rows, UnsafeProjection.create(columns, input), () => OpenStores.find(context, number).map(_.defaultFamily))
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): LookAheadNode = copy(child = newChild)
}

/** Looks ahead in streaming aggregations, which ask for the value of each row's key, where the provider is ours. */
private[spark] object LooksAhead extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan =
    if (!OpensTransformWithState.isOurs(conf.stateStoreProviderClass)) plan
    else plan.transformUp {
      case node: StateStoreRestoreExec if node.keyExpressions.nonEmpty && !node.child.isInstanceOf[LookAheadNode] =>
        node.copy(child = LookAheadNode(node.keyExpressions, node.getStateInfo.operatorId, node.child))
    }
}
