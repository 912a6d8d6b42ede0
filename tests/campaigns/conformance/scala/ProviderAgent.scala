package keygroups.conformance

import java.lang.instrument.{ClassFileTransformer, Instrumentation}
import java.security.ProtectionDomain

import org.apache.xbean.asm9.{ClassReader, ClassVisitor, ClassWriter, Handle, MethodVisitor, Opcodes, Type}
import org.apache.xbean.asm9.commons.{ClassRemapper, SimpleRemapper}

/**
 * Changes classes as the JVM loads them. Suites that name Spark's RocksDB provider get ours: whatever they construct, cast to
 * or call on that class is so of our provider. Hadoop's local file system gets [[LocalCommands]].
 */
object ProviderAgent {
  private val Theirs = "org/apache/spark/sql/execution/streaming/state/RocksDBStateStoreProvider"
  private val Ours = "io/keygroups/spark/KeyGroupStateStoreProvider"
  private val LocalFiles = Set("org/apache/hadoop/fs/FileUtil", "org/apache/hadoop/fs/RawLocalFileSystem")
  private val Shell = "org/apache/hadoop/util/Shell"
  private val Commands = "keygroups/conformance/LocalCommands"
  private val Bootstrap = new Handle(Opcodes.H_INVOKESTATIC, "keygroups/conformance/Missing", "bootstrap",
    "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;",
    false)
  private lazy val methods =
    Class.forName(Ours.replace('/', '.'), false, getClass.getClassLoader).getMethods
      .map(method => method.getName + Type.getMethodDescriptor(method)).toSet

  /** @param suites the folder with the classes of the suites, without symbolic links, as the JVM reports it */
  def premain(suites: String, instrumentation: Instrumentation): Unit =
    instrumentation.addTransformer(new ClassFileTransformer {
      override def transform(loader: ClassLoader, name: String, redefined: Class[_], domain: ProtectionDomain,
          bytes: Array[Byte]): Array[Byte] = {
        val source = Option(domain).flatMap(d => Option(d.getCodeSource)).map(_.getLocation.getPath).getOrElse("")
        if (LocalFiles(name)) changed(bytes, withoutProcesses)
        else if (source.startsWith(suites) && new String(bytes, "ISO-8859-1").contains(Theirs)) changed(bytes, withOurs)
        else null
      }
    })

  private def changed(bytes: Array[Byte], visitor: ClassWriter => ClassVisitor): Array[Byte] = {
    val writer = new ClassWriter(0)
    new ClassReader(bytes).accept(visitor(writer), 0)
    writer.toByteArray
  }

  /** A call of a method that our provider lacks throws when it is reached: a LinkageError would end the whole run. */
  private def withOurs(writer: ClassWriter): ClassVisitor =
    new ClassRemapper(calls(writer) { (method, opcode, owner, name, descriptor) =>
      val missing = owner == Ours && opcode == Opcodes.INVOKEVIRTUAL && !methods(name + descriptor)
      if (missing) method.visitInvokeDynamicInsn(name, descriptor.replaceFirst("\\(", s"(L$Ours;"), Bootstrap)
      missing
    }, new SimpleRemapper(Theirs, Ours))

  private def withoutProcesses(writer: ClassWriter): ClassVisitor =
    calls(writer) { (method, opcode, owner, name, descriptor) =>
      val command = owner == Shell && name == "execCommand" && descriptor == "([Ljava/lang/String;)Ljava/lang/String;"
      if (command) method.visitMethodInsn(opcode, Commands, name, descriptor, false)
      command
    }

  /** @param replaced writes another instruction in place of a call, and says whether it did */
  private def calls(writer: ClassWriter)(
      replaced: (MethodVisitor, Int, String, String, String) => Boolean): ClassVisitor =
    new ClassVisitor(Opcodes.ASM9, writer) {
      override def visitMethod(access: Int, name: String, descriptor: String, signature: String,
          exceptions: Array[String]): MethodVisitor =
        new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {
          override def visitMethodInsn(opcode: Int, owner: String, name: String, descriptor: String,
              isInterface: Boolean): Unit =
            if (!replaced(mv, opcode, owner, name, descriptor))
              super.visitMethodInsn(opcode, owner, name, descriptor, isInterface)
        }
    }
}
