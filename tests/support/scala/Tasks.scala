package keygroups.tests

import org.apache.spark.sql.execution.streaming.state.StateStore

/** What the end of a task does. */
object Tasks {
  /** Our store keeps the segments that it has committed mapped until then; a listener of the task aborts it. */
  def end(store: StateStore): Unit =
    if (store != null && store.hasCommitted && store.getClass.getName.startsWith("io.keygroups.")) store.abort()
}
