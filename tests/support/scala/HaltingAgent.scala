package keygroups.tests

import java.lang.instrument.{ClassFileTransformer, Instrumentation}
import java.security.ProtectionDomain
import java.util.concurrent.atomic.AtomicInteger

import org.apache.xbean.asm9.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes}

/**
 * A Java agent for a JVM that does not live long. The steps before and after each file operation in the provider's classes
 * are counted, on local disks and through Spark's file manager; at the n-th the JVM halts. n is the system property
 * `keygroups.tests.halt`; 0 never halts.
 */
object HaltingAgent {
  private val Ours = "io/keygroups/spark/"
  private val Streaming = "org/apache/spark/sql/execution/streaming/checkpointing/CheckpointFileManager"
  private val Operations = Set("java/nio/file/Files", "java/nio/channels/FileChannel", "java/io/FileOutputStream",
    Streaming, Streaming + "$CancellableFSDataOutputStream")
  /** Asking for attributes or values changes nothing, and would be 4 of 5 steps or more. */
  private val Questions = Set("exists", "getClass", "getLastModifiedTime", "isDirectory", "isRegularFile", "read", "size")
  private val left = new AtomicInteger(Integer.getInteger("keygroups.tests.halt", 0))

  def premain(arguments: String, instrumentation: Instrumentation): Unit = instrumentation.addTransformer(Cut)

  /** One step less to live. */
  def step(where: String): Unit = if (left.decrementAndGet() == 0) {
    System.err.println(s"halted at a file operation: $where")
    Runtime.getRuntime.halt(137)
  }

  private object Cut extends ClassFileTransformer {
    override def transform(
        loader: ClassLoader, name: String, of: Class[_], domain: ProtectionDomain, bytes: Array[Byte]): Array[Byte] =
      if (name == null || !name.startsWith(Ours)) null // unchanged
      else {
        val writer = new ClassWriter(ClassWriter.COMPUTE_MAXS)
        new ClassReader(bytes).accept(new CutClass(name.drop(Ours.length), writer), 0)
        writer.toByteArray
      }
  }

  private final class CutClass(name: String, next: ClassVisitor) extends ClassVisitor(Opcodes.ASM9, next) {
    override def visitMethod(
        access: Int, method: String, descriptor: String, signature: String, throws: Array[String]): MethodVisitor =
      new CutMethod(name, super.visitMethod(access, method, descriptor, signature, throws))
  }

  private final class CutMethod(name: String, next: MethodVisitor) extends MethodVisitor(Opcodes.ASM9, next) {
    override def visitMethodInsn(code: Int, owner: String, method: String, descriptor: String, isInterface: Boolean): Unit = {
      def call(): Unit = super.visitMethodInsn(code, owner, method, descriptor, isInterface)
      if (!Operations.contains(owner) || Questions.contains(method)) call()
      else {
        stepAt("before", method)
        call()
        stepAt("after", method)
      }
    }

    private def stepAt(when: String, method: String): Unit = {
      super.visitLdcInsn(s"$when $method in $name")
      super.visitMethodInsn(Opcodes.INVOKESTATIC, "keygroups/tests/HaltingAgent", "step", "(Ljava/lang/String;)V", false)
    }
  }
}
