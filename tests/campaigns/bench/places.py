"""Where checkpoints of a part lie: on the local disk, or on a server that runs as long as the part."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from campaigns.bench.plan import Job
from servers.hdfs import hdfs
from servers.jars import jars
from servers.s3 import s3

LATENCY: Final = 0.02
"""Seconds that a request to S3 takes at least: within its region it answers small ones in 10 to 40 ms."""

_STREAM: Final = {"spark.hadoop.fs.s3a.input.stream.type": "classic"}
"""For every provider, as docs/checkpoints.md advises."""


@dataclass(frozen=True)
class _Place:
    url: str
    conf: dict[str, str]
    jars: list[str]


class Places:
    """Starts each server at its first use.

    Args:
        folder: For the files of the servers and the local checkpoints.
        servers: Stops them.
    """

    def __init__(self, folder: Path, servers: ExitStack) -> None:
        self._folder, self._servers = folder, servers
        self._running: dict[str, _Place] = {}

    def placed(self, job: Job) -> Job:
        """Give the job with the folder, the settings and the class path of its place."""
        if job.part not in ("leave", "restart", "leave_store", "first_batch"):
            return job
        if job.place not in self._running:
            self._running[job.place] = self._start(job.place)
        place = self._running[job.place]
        url = f"{place.url}/{job.provider}"
        return replace(job, url=url, conf={**job.conf, **place.conf}, jars=[*job.jars, *place.jars])

    def _start(self, name: str) -> _Place:
        folder = self._folder / f"server-{name or 'local'}"
        folder.mkdir(parents=True)
        if name == "hdfs":
            return _Place(self._servers.enter_context(hdfs(folder)).url, {}, [])
        if name == "s3":
            server = self._servers.enter_context(s3(folder))
            server.gateway.latency = LATENCY
            return _Place(server.url, {**server.conf, **_STREAM}, [server.class_path, str(jars("cloud") / "*")])
        return _Place(folder.as_uri(), {}, [])
