package io.keygroups.spark

import io.keygroups.spark.operators.{LooksAhead, MarksKeyedFunctions, OpensTransformWithState, PlansKeyedFunctions}
import org.apache.spark.sql.{SparkSessionExtensions, SparkSessionExtensionsProvider}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/**
 * What sessions need beside the provider: transformWithState, which Spark refuses for providers that it does not know, and reads
 * of state ahead of an aggregation's rows. Named by `spark.sql.extensions`; a jar that is on the class path when the session
 * starts is found through Java's ServiceLoader.
 */
class KeyGroupExtensions extends SparkSessionExtensionsProvider {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPreCBORule(_ => MarksKeyedFunctions)
    extensions.injectPlannerStrategy(_ => PlansKeyedFunctions)
    extensions.injectColumnar(_ => KeyGroupExtensions.Open)
  }
}

object KeyGroupExtensions {
  /** The last rule that sees the plan of a batch; Spark has no hook of its own for physical plans of streams. */
  private object Open extends ColumnarRule {
    override def postColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
      override def apply(plan: SparkPlan): SparkPlan = LooksAhead(OpensTransformWithState(plan))
    }
  }
}
