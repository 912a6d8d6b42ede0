package io.keygroups.spark

import java.util.concurrent.locks.ReentrantReadWriteLock

/**
 * Spark 4.2 has one call for both parts of maintenance.
 *
 * The members are those that the constructor of 4.3's StateStoreProvider needs: with them this jar can report that it runs on
 * the wrong Spark.
 */
trait SplitMaintenance extends Maintenance {
  def unloaded: Boolean = false
  def unloaded_=(value: Boolean): Unit = ()
  def maintenanceLock: ReentrantReadWriteLock = null
  def org$apache$spark$sql$execution$streaming$state$StateStoreProvider$_setter_$maintenanceLock_$eq(
      lock: ReentrantReadWriteLock): Unit = ()
}
