package io.keygroups.spark.session

import io.keygroups.spark.keys.{KeyOrder, KeyProbe}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The scans of a family in one session: of all rows, by prefix, by range. */
private[session] trait FamilyScans { this: FamilySession =>

  /**
   * All rows as of now; rows written during the scan may be returned or not.
   *
   * @param allValues one pair for each value of a key
   */
  def scan(allValues: Boolean): Scan = {
    session.requireOpen()
    family.shape.order match {
      case KeyOrder.Ordered(_) => newScan(ordered(KeyRange()), _ => true, allValues)
      case _ =>
        if (!session.readOnly && sealedRows.parts.nonEmpty) overlays.writable() // the scan has to see rows written during it
        val scan = newScan(new UnorderedRows(overlays.unsorted, sealedRows.parts, horizon, session.requireOpen _), _ => true, allValues)
        overlays.beginScan(scan)
        scan
    }
  }

  /** The rows whose keys begin with `prefix`, in the order of their keys' bytes, as in Spark's RocksDB provider. */
  def scanPrefix(prefix: UnsafeRow, allValues: Boolean): Scan = {
    session.requireOpen()
    probe.setPrefix(prefix)
    val test = probe.prefixTest
    val range = family.shape.order match {
      case KeyOrder.Ordered(_) => KeyRange(from = Some(KeyBound.of(probe)), until = KeyBound.after(probe))
      case _ => KeyRange(locator = Some(probe.locator))
    }
    newScan(ordered(range), at => test(at.keyAddress, at.keyLength), allValues)
  }

  /**
   * The rows from one key (inclusive) to another (exclusive). Where only rows of one prefix are in order, both keys have
   * to begin with the same columns, or none may be given.
   */
  def scanRange(from: Option[UnsafeRow], until: Option[UnsafeRow], allValues: Boolean): Scan = {
    session.requireOpen()
    val start = from.map(bound)
    val end = until.map(bound)
    if (family.shape.order != KeyOrder.Timed || (start.isEmpty && end.isEmpty)) {
      newScan(ordered(KeyRange(from = start, until = end)), _ => true, allValues)
    } else {
      require(start.exists(a => end.exists(a.isOfSameKey)), s"a range scan of the column family '${family.name}', whose " +
        "keys end with a timestamp, is for one key: expected two bounds that differ in the timestamp only")
      val range = KeyRange(start.map(_.locator), start, end)
      newScan(ordered(range), at => start.get.isOfSameKey(at.keyAddress, at.keyLength), allValues)
    }
  }

  /** The source of a scan's remaining rows, after an overlay was spilled. */
  private[session] def moved(rows: RowSource, last: Option[KeyBound]): RowSource =
    rows.moved(overlays.unsorted, sealedRows.parts, last)

  private[session] def spills: Int = overlays.spills

  private[session] def endScan(scan: Scan): Unit = overlays.endScan(scan)

  /** The values of the row at which a source stands. */
  private[session] def listAt(rows: RowSource): ValueList = {
    val hash = KeyProbe.hash(null, rows.keyAddress, rows.keyLength)
    new ValueList(family.values, gather(hash, rows.locator, null, rows.keyAddress, rows.keyLength))
  }

  private def ordered(range: KeyRange): RowSource =
    new OrderedRows(overlays.unsorted, sealedRows.parts, range, horizon, session.requireOpen _)

  private def bound(key: UnsafeRow): KeyBound = {
    probe.set(key)
    KeyBound.of(probe)
  }

  private def newScan(rows: RowSource, accept: RowSource => Boolean, allValues: Boolean): Scan =
    new Scan(session, this, rows, accept, allValues)
}
