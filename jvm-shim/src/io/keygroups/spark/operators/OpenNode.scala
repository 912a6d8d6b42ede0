package io.keygroups.spark.operators

import io.keygroups.spark.KeyGroupStateStoreProvider
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.{TransformWithStateExec, TransformWithStateExecBase}

/**
 * A transformWithState node that also runs on our provider. Spark compares the name of the provider's class with the one
 * that it knows, in a method; such a node only overrides that method.
 */
private[operators] trait OpenNode extends TransformWithStateExecBase {
  override def validateStateStoreProvider(isStreaming: Boolean): Unit =
    if (!OpensTransformWithState.isOurs(conf.stateStoreProviderClass)) super.validateStateStoreProvider(isStreaming)

  // A plan keeps a node that equals the one which replaces it.
  override def equals(other: Any): Boolean = other.isInstanceOf[OpenNode] && super.equals(other)
  override def canEqual(other: Any): Boolean = other.isInstanceOf[OpenNode]
  override def hashCode: Int = super.hashCode
}

/** Replaces Spark's nodes with open ones, in streams whose provider is ours. */
private[spark] object OpensTransformWithState extends Rule[SparkPlan] {
  def isOurs(provider: String): Boolean = provider == classOf[KeyGroupStateStoreProvider].getName

  override def apply(plan: SparkPlan): SparkPlan =
    if (!isOurs(conf.stateStoreProviderClass)) plan
    else KeyedNode.requireOwnNames(plan.transformUp {
      case node: OpenNode => node
      case node: TransformWithStateExec if node.isStreaming => new OpenScalaNode(node)
      case node: TransformWithStateInPySparkExec if node.isStreaming => new OpenPythonNode(node, node.child)
    })
}
