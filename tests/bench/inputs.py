"""The input files of the streaming queries, written once for each size."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import dedupe
import e2e
import larger
import operators
from plan import Job
from providers import BUILD

_AGGREGATIONS: Final = ("query", "stores", "floor", "s3", "leave", "restart")
_MOST_RESTARTS: Final = 20


def written(job: Job) -> Path:
    """Give the folder with the input of a job; empty for a job that has none."""
    folder = BUILD / f"input-{job.keys}-{job.rows}-{job.rounds}"
    if job.part in _AGGREGATIONS:
        more = _MOST_RESTARTS if job.part in ("leave", "restart") else 0
        e2e.write_input(folder, job.keys, job.rows, job.rounds + more)
        return folder
    if job.part == "dedupe":
        folder = BUILD / f"dedupe-{job.rows}-{job.rounds}"
        dedupe.write_input(folder, job.rows, job.rounds)
        return folder
    if job.part == "larger":
        folder = BUILD / f"larger-{job.keys}-{job.gets}-{job.rows}-{job.rounds}"
        larger.write_input(folder, job)
        return folder
    if job.part in operators.QUERIES:
        folder = BUILD / f"operators-{job.keys}-{job.rounds}"
        operators.write_input(folder, job.keys, job.rounds)
        return folder
    return Path()
