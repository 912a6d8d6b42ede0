package io.keygroups.spark

import io.keygroups.spark.session.Session
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state._

/** Reads of one version of a store. It releases the version at the end of the task at the latest. */
class KeyGroupReadStateStore(override val id: StateStoreId, val session: Session,
    val provider: KeyGroupStateStoreProvider) extends ReadStateStore with Reads with DeclaresFamilies {
  override val version: Long = session.version.key.version

  Option(TaskContext.get()).foreach { context =>
    context.addTaskCompletionListener[Unit](_ => release())
    OpenStores.add(context, this)
  }

  /** Spark's state reader asks for timers by key. */
  override def iterator(colFamilyName: String): StateStoreIterator[UnsafeRowPair] =
    TimersByKey.stored(colFamilyName, session.catalog.families).fold(super.iterator(colFamilyName)) { timers =>
      provider.declare(timers.name, timers.valueSchema, timers.encoder, hasLists = false, isInternal = true)
      val rows = super.iterator(timers.name)
      new StateStoreIterator(timers.byKey(rows), rows.close _)
    }

  override def abort(): Unit = release()
  override def release(): Unit = session.close()
  override def toString: String = s"KeyGroupReadStateStore[$id, version $version]"
}
