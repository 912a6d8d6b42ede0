package io.keygroups.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Properties

import scala.collection.immutable.ListMap
import scala.util.Using

import io.keygroups.spark.bridge.Json
import io.keygroups.spark.memory.MemoryBudget
import io.keygroups.spark.segment.MappedValues
import org.apache.spark.network.util.JavaUtils

/** One entry of settings.json, which Python reads as well. */
private case class Declared(name: String, `type`: String, default: Any)

/** The settings that a query gives, without their prefix, and the values that the JVM needs itself. */
final class Settings private (values: Map[String, String]) {
  /** As Python takes them; it checks every value. */
  def forPython: Map[String, String] = values

  val python: String = text("python")
  val localDir: String = text("localDir")
  /** Seconds; 0 for ever. */
  val ttl: Long = read("ttl", "a time such as 7d, 12h, 30m or 45s")(Settings.seconds)
  val ttlOperators: Set[String] = names("ttlOperators")
  val overlayBytes: Long = bytes("overlayBytes")
  val blockBytes: Long = bytes("blockBytes")
  val memoryBudget: MemoryBudget = MemoryBudget.of(bytes("memoryBudget"))
  val mappedValues: MappedValues =
    MappedValues.upTo(Some(bytes("mappedValueBytes")).filter(_ > 0).getOrElse(MemoryBudget.forValues()))
  val feedsWrites: Boolean = text("changeFeed") == "writes"
  val maxSegments: Int = int("maxSegments")
  val callTimeoutSeconds: Int = int("callTimeoutSeconds")
  val startTimeoutSeconds: Int = int("startTimeoutSeconds")
  val atomicFileSystems: Set[String] = names("atomicFileSystems")
  val fileAttempts: Int = int("fileAttempts")
  val fileTimeoutSeconds: Int = int("fileTimeoutSeconds")

  private def text(name: String): String =
    values.getOrElse(name, Settings.declared(name).default.toString).trim

  private def names(name: String): Set[String] = text(name).split(',').map(_.trim).filter(_.nonEmpty).toSet

  private def int(name: String): Int = read(name, "a whole number")(_.toInt)

  private def bytes(name: String): Long = read(name, "a size such as 64m")(JavaUtils.byteStringAsBytes)

  private def read[T](name: String, expected: String)(parse: String => T): T =
    try parse(text(name))
    catch {
      case _: NumberFormatException =>
        throw Failures.setting(s"${Settings.Prefix}$name is not valid (expected $expected, found '${text(name)}')")
    }
}

object Settings {
  private val Spark = "spark.sql.streaming.stateStore."
  private val Ours = "keyGroups"
  val Prefix: String = s"$Spark$Ours."

  private val declared: Map[String, Declared] =
    ListMap.from(Json.read[Seq[Declared]](Resources.text("settings.json")).map(d => d.name -> d))

  private val build: Properties = {
    val properties = new Properties()
    properties.load(new java.io.StringReader(Resources.text("keygroups.properties")))
    properties
  }

  /** Version of this jar, and the Spark minor that it was compiled for. */
  val version: String = build.getProperty("version")
  val sparkMinor: String = build.getProperty("spark")

  /**
   * The settings among all of a query's state store configuration.
   *
   * Throws KeyGroupsException: a name under our prefix is unknown, or a prefix is a misspelling of ours. Spark ignores
   * names that it does not know.
   */
  def parse(conf: Map[String, String]): Settings = {
    conf.keys.find(misspelt).foreach { key =>
      val meant = Prefix + nearest(key.drop(Spark.length).dropWhile(_ != '.').drop(1))
      throw Failures.setting(s"$key is not a setting of keygroups: did you mean $meant?")
    }
    val values = conf.collect { case (key, value) if key.startsWith(Prefix) => key.drop(Prefix.length) -> value }
    values.keys.find(!declared.contains(_)).foreach { name =>
      throw Failures.setting(s"$Prefix$name is not a setting of keygroups: did you mean $Prefix${nearest(name)}?")
    }
    new Settings(values)
  }

  /** keygroups, keyGroup or key-groups: at most two letters differ. No name of Spark's comes as near. */
  private def misspelt(key: String): Boolean =
    key.startsWith(Spark) && !key.startsWith(Prefix) && {
      val (first, rest) = key.drop(Spark.length).span(_ != '.')
      rest.nonEmpty && distance(first, Ours) <= 2
    }

  private def nearest(name: String): String = declared.keys.minBy(distance(name, _))

  private val Duration = "(\\d+)\\s*([smhdSMHD]?)".r
  private val UnitSeconds = Map("" -> 1L, "s" -> 1L, "m" -> 60L, "h" -> 3600L, "d" -> 86400L)

  private def seconds(text: String): Long = text match {
    case Duration(count, unit) => count.toLong * UnitSeconds(unit.toLowerCase)
    case _ => throw new NumberFormatException(text)
  }

  /** Levenshtein distance, upper and lower case being the same. */
  private def distance(a: String, b: String): Int = {
    val (left, right) = (a.toLowerCase, b.toLowerCase)
    val row = (0 to right.length).toArray
    for (i <- 1 to left.length) {
      var diagonal = row(0)
      row(0) = i
      for (j <- 1 to right.length) {
        val substituted = diagonal + (if (left(i - 1) == right(j - 1)) 0 else 1)
        diagonal = row(j)
        row(j) = math.min(substituted, math.min(row(j), row(j - 1)) + 1)
      }
    }
    row(right.length)
  }

}

/** What the jar has beside its classes. */
private[spark] object Resources {
  def text(name: String): String =
    Using.resource(getClass.getResourceAsStream(name))(in => new String(in.readAllBytes(), UTF_8))
}
