package io.keygroups.spark.operators

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, TransformWithStateInPySpark, UnaryNode}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{PlanLater, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec

/**
 * Stands above a function of `keygroups.key_by` in the optimized plan of a batch, so that our node is planned and not Spark's:
 * it has to be there when Spark records the schemas of states, before the first batch of a query.
 */
final case class KeyedFunction(child: LogicalPlan) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  /** No column of the function's goes. */
  override lazy val references: AttributeSet = child.outputSet
  override protected def withNewChildInternal(newChild: LogicalPlan): KeyedFunction = copy(child = newChild)
}

/** Marks our functions, in streams whose provider is ours. Runs again where a session has the extension twice. */
private[spark] object MarksKeyedFunctions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!OpensTransformWithState.isOurs(conf.stateStoreProviderClass)) plan
    else plan.transformUp {
      case node: TransformWithStateInPySpark if node.isStreaming && KeyedNode.isOurs(node.functionExpr) => KeyedFunction(node)
      case KeyedFunction(marked: KeyedFunction) => marked
    }
}

/** Plans our functions. The arguments are those with which Spark plans its own node: `TransformWithStateInPySparkStrategy`. */
private[spark] object PlansKeyedFunctions extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case KeyedFunction(node: TransformWithStateInPySpark) =>
      val planned = new TransformWithStateInPySparkExec(node.functionExpr, node.leftAttributes, node.outputAttrs,
        node.outputMode, node.timeMode, None, None, None, None, None, node.userFacingDataType, PlanLater(node.child), true,
        node.hasInitialState, PlanLater(node.initialState), node.rightAttributes, node.initialStateSchema)
      Seq(new KeyedNode(planned, planned.child))
    case _ => Nil
  }
}
