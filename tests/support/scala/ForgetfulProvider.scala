package org.apache.spark.sql.execution.streaming.state

import java.lang.reflect.{InvocationTargetException, Method, Proxy}

/** A wrong provider: Spark's in-memory one, whose stores ignore every remove. The differential suite must notice. */
class ForgetfulProvider extends HDFSBackedStateStoreProvider {

  override def getStore(version: Long, id: Option[String], snapshot: Boolean, empty: Boolean): StateStore =
    forgetful(super.getStore(version, id, snapshot, empty))

  override def upgradeReadStoreToWriteStore(
      store: ReadStateStore, version: Long, id: Option[String], snapshot: Boolean): StateStore =
    getStore(version, id, snapshot, false)

  private def forgetful(store: StateStore): StateStore = {
    val call = (_: AnyRef, method: Method, arguments: Array[AnyRef]) =>
      if (method.getName == "remove") null
      else
        try method.invoke(store, arguments: _*)
        catch { case error: InvocationTargetException => throw error.getCause }
    Proxy.newProxyInstance(getClass.getClassLoader, Array(classOf[StateStore]), call(_, _, _)).asInstanceOf[StateStore]
  }
}
