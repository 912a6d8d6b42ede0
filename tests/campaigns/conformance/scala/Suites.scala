package keygroups.conformance

import java.lang.reflect.Modifier
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamTest
import org.scalatest.Suite

/** Prints the suites of streaming: concrete, and in a package of streaming or of the state reader, or made with StreamTest. */
object Suites {
  private val Spark = "org.apache.spark.sql."

  def main(arguments: Array[String]): Unit = {
    val folder = Path.of(arguments.head)
    val files = Files.walk(folder).iterator.asScala.map(folder.relativize(_).toString)
    val names = files.filter(file => file.endsWith(".class") && !file.contains("$")).map(_.stripSuffix(".class").replace('/', '.'))
    names.filter(name => name.startsWith(Spark) && streaming(name)).toSeq.sorted.foreach(n => println(n.stripPrefix(Spark)))
  }

  /** A suite that cannot be loaded, for want of a library, counts by its name. */
  private def streaming(name: String): Boolean = {
    val place = name.substring(0, name.lastIndexOf('.') + 1)
    val ofStreaming = place.contains(".streaming.") || place.contains(".v2.state.")
    try {
      val found = Class.forName(name, false, getClass.getClassLoader)
      classOf[Suite].isAssignableFrom(found) && !Modifier.isAbstract(found.getModifiers) &&
        (ofStreaming || classOf[StreamTest].isAssignableFrom(found))
    } catch { case _: LinkageError => ofStreaming && name.endsWith("Suite") }
  }
}
