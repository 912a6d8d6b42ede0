package io.keygroups.spark

import org.apache.spark.SPARK_VERSION

/**
 * Says so when a jar meets another Spark than its own. A class, since its constructor runs before those of Spark's traits,
 * which fail with a missing method then.
 */
abstract class BuiltForOneSpark {
  private val running = SPARK_VERSION.split('.').take(2).mkString(".")
  if (running != Settings.sparkMinor) {
    throw Failures.version(s"this jar of keygroups ${Settings.version} is built for Spark ${Settings.sparkMinor} and " +
      s"this is Spark $SPARK_VERSION: use the jar that 'keygroups conf' names for it")
  }
}
