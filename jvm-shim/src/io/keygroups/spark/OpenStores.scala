package io.keygroups.spark

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state.{ReadStateStore, StateStoreId}

/** The default stores that tasks have open: nodes of a plan that Spark gives no store find theirs here. */
private[spark] object OpenStores {
  /** Without the partition: behind a coalesce a task opens those of several, one after the other. */
  private case class Place(task: Long, operator: Long)
  private val opened = new ConcurrentHashMap[Place, Reads]()

  /** A task has opened a store. It is known until the task opens another of the operator, or ends. */
  def add(context: TaskContext, store: ReadStateStore with Reads): Unit =
    if (store.id.storeName == StateStoreId.DEFAULT_STORE_NAME) {
      val place = Place(context.taskAttemptId(), store.id.operatorId)
      if (opened.put(place, store) == null) context.addTaskCompletionListener[Unit](_ => opened.remove(place))
    }

  /** What the task has opened last for an operator. */
  def find(context: TaskContext, operator: Long): Option[Reads] =
    Option(opened.get(Place(context.taskAttemptId(), operator)))
}
