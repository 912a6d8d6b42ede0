package keygroups.tests

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.classic.{Dataset => ClassicDataset}

/** Rows as Spark stores them. */
object UnsafeRows {
  /** The bytes of each row of a small DataFrame. */
  def of(rows: DataFrame): Array[Array[Byte]] = {
    val schema = rows.schema
    rows.asInstanceOf[ClassicDataset[_]].queryExecution.toRdd.mapPartitions { part =>
      val project = UnsafeProjection.create(schema)
      part.map(project(_).copy().getBytes)
    }.collect()
  }
}
