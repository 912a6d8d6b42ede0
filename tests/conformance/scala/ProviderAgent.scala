package keygroups.conformance

import java.lang.instrument.{ClassFileTransformer, Instrumentation}
import java.security.ProtectionDomain

import org.apache.xbean.asm9.{ClassReader, ClassWriter}
import org.apache.xbean.asm9.commons.{ClassRemapper, SimpleRemapper}

/**
 * Suites that name Spark's RocksDB provider mean ours: in classes of the suites, whatever is made of, cast to or called on
 * that class is so of our provider.
 */
object ProviderAgent {
  private val Theirs = "org/apache/spark/sql/execution/streaming/state/RocksDBStateStoreProvider"
  private val Ours = "io/keygroups/spark/KeyGroupStateStoreProvider"

  /** @param suites the folder with the classes of the suites, without symbolic links: so the JVM sees it */
  def premain(suites: String, instrumentation: Instrumentation): Unit =
    instrumentation.addTransformer(new ClassFileTransformer {
      override def transform(loader: ClassLoader, name: String, redefined: Class[_], domain: ProtectionDomain,
          bytes: Array[Byte]): Array[Byte] = {
        val source = Option(domain).flatMap(d => Option(d.getCodeSource)).map(_.getLocation.getPath).getOrElse("")
        if (source.startsWith(suites) && new String(bytes, "ISO-8859-1").contains(Theirs)) renamed(bytes) else null
      }
    })

  private def renamed(bytes: Array[Byte]): Array[Byte] = {
    val writer = new ClassWriter(0)
    new ClassReader(bytes).accept(new ClassRemapper(writer, new SimpleRemapper(Theirs, Ours)), 0)
    writer.toByteArray
  }
}
