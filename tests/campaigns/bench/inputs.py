"""The input files of the streaming queries, written once for each size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from campaigns.bench import dedupe, e2e, larger, operators
from campaigns.bench.plan import Job
from campaigns.bench.providers import BUILD

_AGGREGATIONS: Final = ("query", "stores", "query_empty", "s3", "leave", "restart")
_MOST_RESTARTS: Final = 20


def written(job: Job) -> Path:
    """Give the folder with the input of a job; empty for a job that has none."""
    if job.part in _AGGREGATIONS:
        batches = job.rounds + (_MOST_RESTARTS if job.part in ("leave", "restart") else 0)
        name = f"input-{job.keys}-{job.rows}-{job.rounds}"
        return _once(name, lambda folder: e2e.write_input(folder, job.keys, job.rows, batches))
    if job.part == "dedupe":
        return _once(f"dedupe-{job.rows}-{job.rounds}", lambda folder: dedupe.write_input(folder, job.rows, job.rounds))
    if job.part in ("larger", "larger_empty", "budget"):
        name = f"larger-{job.keys}-{job.gets}-{job.rows}-{job.rounds}"
        return _once(name, lambda folder: larger.write_input(folder, job))
    if job.part in operators.QUERIES:
        name = f"operators-{job.keys}-{job.rounds}"
        return _once(name, lambda folder: operators.write_input(folder, job.keys, job.rounds))
    return Path()


def _once(name: str, write: Callable[[Path], None]) -> Path:
    """Give the folder of that name, written unless a complete one is there."""
    folder = BUILD / name
    if not (folder / "_complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write(folder)
        (folder / "_complete").touch()
    return folder
