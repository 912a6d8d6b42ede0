package io.keygroups.spark.operators

import io.keygroups.spark.Resources
import io.keygroups.spark.bridge.Json
import org.apache.spark.sql.types._

/**
 * Which types the values of a state can become. A worker converts them by the same table, `conversions.json`:
 * `keygroups.partition.conversions`.
 */
private[spark] object Conversions {
  private val pairs = Json.read[Map[String, Seq[String]]](Resources.text("conversions.json"))

  /** Whether values of one type can become values of another: alone, in fields, in elements and in entries. */
  def isPossible(old: DataType, now: DataType): Boolean = (old, now) match {
    case (old: StructType, now: StructType) => now.forall { field =>
      old.find(_.name == field.name).fold(field.nullable)(known => isPossible(known.dataType, field.dataType))
    }
    case (old: ArrayType, now: ArrayType) => isPossible(old.elementType, now.elementType)
    case (old: MapType, now: MapType) => isPossible(old.keyType, now.keyType) && isPossible(old.valueType, now.valueType)
    case _ => name(old) == name(now) || pairs.getOrElse(name(old), Nil).contains(name(now))
  }

  /** Whether values of both types have the same bytes and the same names. */
  def isSame(old: DataType, now: DataType): Boolean = (old, now) match {
    case (old: StructType, now: StructType) => old.length == now.length && old.zip(now).forall { case (one, other) =>
      one.name == other.name && isSame(one.dataType, other.dataType)
    }
    case (old: ArrayType, now: ArrayType) => isSame(old.elementType, now.elementType)
    case (old: MapType, now: MapType) => isSame(old.keyType, now.keyType) && isSame(old.valueType, now.valueType)
    case _ => name(old) == name(now)
  }

  /** The type as DDL has it. Texts of any collation have the same bytes, and so have intervals of any units. */
  private def name(kind: DataType): String = kind match {
    case _: StringType => "string"
    case _: DayTimeIntervalType => "interval"
    case _ => kind.simpleString
  }
}
