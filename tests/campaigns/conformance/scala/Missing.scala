package keygroups.conformance

import java.lang.invoke.{CallSite, ConstantCallSite, MethodHandles, MethodType}

/** What stands for a method that Spark's RocksDB provider has and ours lacks. */
object Missing {
  def bootstrap(lookup: MethodHandles.Lookup, name: String, call: MethodType): CallSite = {
    val error = new UnsupportedOperationException(s"only Spark's RocksDB provider has the method $name$call")
    val thrower = MethodHandles.throwException(call.returnType, classOf[UnsupportedOperationException]).bindTo(error)
    new ConstantCallSite(MethodHandles.dropArguments(thrower, 0, call.parameterList))
  }
}
