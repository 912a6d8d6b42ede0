package io.keygroups.spark

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state.StateStoreId

/**
 * The provider of each store in the newest run of its query. One that a newer run replaces is closed at once, as Spark does
 * only at its second maintenance from then: until that it would hold memory and local disk that the newer one needs.
 */
private[spark] object CurrentProviders {
  private val JobGroup = "spark.jobGroup.id"
  private val current = new ConcurrentHashMap[StateStoreId, KeyGroupStateStoreProvider]()

  /** A task has made a provider. One that reads the state of a checkpoint, beside a query or not, replaces none. */
  def add(provider: KeyGroupStateStoreProvider, runId: String): Unit =
    if (isOfRun(runId)) Option(current.put(provider.stateStoreId, provider)).foreach(_.close())

  def remove(provider: KeyGroupStateStoreProvider): Unit = {
    current.remove(provider.stateStoreId, provider)
    ()
  }

  /** Spark names the jobs of a query by its run; a reader of state has a run id of its own. */
  private def isOfRun(runId: String): Boolean =
    Option(TaskContext.get()).exists(_.getLocalProperty(JobGroup) == runId)
}
