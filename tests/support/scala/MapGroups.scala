package keygroups.tests

import java.sql.Timestamp

import org.apache.spark.sql.{DataFrame, Dataset}
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}

case class Event(id: Long, ts: Timestamp, v: Int, name: Option[String], ratio: Option[Double])
case class GroupKey(name: Option[String], ratio: Option[Double])
case class Running(count: Long, sum: Long, ids: Seq[Long])
case class Answer(name: Option[String], ratio: Option[Double], what: String, count: Long, sum: Long)

/** flatMapGroupsWithState and mapGroupsWithState over events, which PySpark has no call for. */
object MapGroups {

  /** Counts per key until the watermark passes the group's last event by 90 s; a multiple of 7 drops the group. */
  def expiring(events: DataFrame, mode: String): DataFrame = {
    import events.sparkSession.implicits._
    val outputMode = if (mode == "append") OutputMode.Append() else OutputMode.Update()
    grouped(events).flatMapGroupsWithState(outputMode, GroupStateTimeout.EventTimeTimeout())(expire).toDF()
  }

  /** Counts per key and never forgets one. */
  def running(events: DataFrame): DataFrame = {
    import events.sparkSession.implicits._
    grouped(events).mapGroupsWithState(GroupStateTimeout.NoTimeout()) {
      (key: GroupKey, rows: Iterator[Event], state: GroupState[Running]) =>
        state.update(rows.foldLeft(state.getOption.getOrElse(Running(0, 0, Nil)))(add))
        answer(key, "running", state.get)
    }.toDF()
  }

  private def grouped(events: DataFrame) = {
    import events.sparkSession.implicits._
    val typed: Dataset[Event] = events.select("id", "ts", "v", "name", "ratio").as[Event]
    typed.groupByKey(event => GroupKey(event.name, event.ratio))
  }

  private def expire(key: GroupKey, rows: Iterator[Event], state: GroupState[Running]): Iterator[Answer] = {
    val old = state.getOption.getOrElse(Running(0, 0, Nil))
    if (state.hasTimedOut) {
      state.remove()
      Iterator(answer(key, "expired", old))
    } else {
      val events = rows.toSeq
      update(state, events, events.foldLeft(old)(add))
      Iterator(answer(key, if (state.exists) "open" else "dropped", state.getOption.getOrElse(old)))
    }
  }

  private def update(state: GroupState[Running], events: Seq[Event], now: Running): Unit =
    if (events.exists(_.v % 7 == 0)) state.remove()
    else {
      state.update(now)
      val last = math.max(events.map(_.ts.getTime).max, state.getCurrentWatermarkMs())
      state.setTimeoutTimestamp(last + 90000)
    }

  private def add(state: Running, event: Event): Running =
    Running(state.count + 1, state.sum + event.v, (event.id +: state.ids).take(5))

  private def answer(key: GroupKey, what: String, state: Running): Answer =
    Answer(key.name, key.ratio, what, state.count, state.sum)
}
