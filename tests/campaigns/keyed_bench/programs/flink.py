"""A count per key in PyFlink, in thread or process mode: ``python flink.py JOB RESULT``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Row, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import Sink
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment


class Count(KeyedProcessFunction):
    """A count a key, in value state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        del ctx
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(value[0], count)


def environment(mode: str, parallelism: int) -> StreamExecutionEnvironment:
    """Flink in this process, with two slots and state on the heap, which is its fastest."""
    conf = Configuration()
    conf.set_string("python.execution-mode", mode)
    conf.set_string("python.executable", sys.executable)
    conf.set_string("python.client.executable", sys.executable)
    conf.set_string("taskmanager.memory.managed.size", "256m")
    conf.set_string("state.backend.type", "hashmap")
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    return env.set_parallelism(parallelism)


def counts(env: StreamExecutionEnvironment, rows: int, keys: int) -> Any:
    """The counts of so many rows, whose keys are made in the JVM."""
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(
        f"CREATE TEMPORARY TABLE numbers{rows} (id BIGINT) WITH ('connector' = 'datagen', "
        f"'rows-per-second' = '1000000000', "
        f"'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{rows - 1}')"
    )
    table = tables.sql_query(f"SELECT (id * 7919) % {keys} AS k FROM numbers{rows}")
    kind = Types.ROW([Types.LONG(), Types.LONG()])
    return tables.to_data_stream(table).key_by(lambda row: row[0], key_type=Types.LONG()).process(Count(), kind)


def seconds(job: dict[str, Any], rows: int) -> float:
    """How long a job takes from its submission to its end."""
    env = environment(job["mode"], job["parallelism"])
    sink = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    counts(env, rows, job["keys"]).sink_to(Sink(sink))
    start = time.perf_counter()
    env.execute("counts")
    return time.perf_counter() - start


def main() -> None:
    """Check a small job, warm up, and take the difference of a job and one of three times the rows."""
    job = json.loads(sys.argv[1])
    latest: dict[int, int] = {}
    for row in counts(environment(job["mode"], job["parallelism"]), 5000, 50).execute_and_collect():
        latest[row[0]] = max(latest.get(row[0], 0), row[1])
    if sum(latest.values()) != 5000:
        raise RuntimeError(f"expected 5000 rows, found {sum(latest.values())}")
    seconds(job, job["rows"] // 5)
    short, long = (seconds(job, times * job["rows"]) for times in (1, 3))
    result = {"rates": [2 * job["rows"] / (long - short)], "seconds": [short, long]}
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
