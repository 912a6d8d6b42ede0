package keygroups.conformance

import java.lang.instrument.{ClassFileTransformer, Instrumentation}
import java.security.ProtectionDomain

import org.apache.xbean.asm9.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes, Type}

/**
 * Suites that name Spark's RocksDB provider mean ours: the constant `classOf[RocksDBStateStoreProvider]` in classes of the
 * suites, wherever it is loaded, becomes the class of our provider.
 */
object ProviderAgent {
  private val Theirs = "org/apache/spark/sql/execution/streaming/state/RocksDBStateStoreProvider"
  private val Ours = "io/keygroups/spark/KeyGroupStateStoreProvider"

  /** @param suites the folder with the classes of the suites */
  def premain(suites: String, instrumentation: Instrumentation): Unit =
    instrumentation.addTransformer(new ClassFileTransformer {
      override def transform(loader: ClassLoader, name: String, redefined: Class[_], domain: ProtectionDomain,
          bytes: Array[Byte]): Array[Byte] = {
        val source = Option(domain).flatMap(d => Option(d.getCodeSource)).map(_.getLocation.getPath).getOrElse("")
        if (source.startsWith(suites) && new String(bytes, "ISO-8859-1").contains(Theirs)) renamed(bytes) else null
      }
    })

  private def renamed(bytes: Array[Byte]): Array[Byte] = {
    val reader = new ClassReader(bytes)
    val writer = new ClassWriter(reader, 0)
    reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
      override def visitMethod(access: Int, name: String, descriptor: String, signature: String,
          exceptions: Array[String]): MethodVisitor =
        new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {
          override def visitLdcInsn(value: Any): Unit = value match {
            case kind: Type if kind.getSort == Type.OBJECT && kind.getInternalName == Theirs =>
              super.visitLdcInsn(Type.getObjectType(Ours))
            case other => super.visitLdcInsn(other)
          }
        }
    }, 0)
    writer.toByteArray
  }
}
