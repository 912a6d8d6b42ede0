"""The file of a run: commit, machine, settings, and the figures of each job.

``records`` has a job each: its ``group`` (the part of the run), ``part`` (what the worker measured), sizes, and
``figures``. ``parts`` has the times of each part: parts may be measured one after the other, but of one commit, at one
size, on machines with as many cores and as much memory. Processor and kernel may be others in another part, and each
part names its own: figures are compared within a part.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click
import pyspark

from campaigns.bench.harness import java_command
from campaigns.bench.plan import HEAP, Sizes
from campaigns.bench.providers import PROVIDERS, REPOSITORY
from support.engine_files import ENGINE

_SHOWN: Final = ("results", "results.py", "tables", "lines.py", "report.py", "pages.py", "publish.py", "test_*.py")
_MEASURED: Final = (
    *ENGINE,
    "tests/campaigns/bench",
    "tests/servers",
    "tests/support/limits.py",
    *(f":(exclude)tests/campaigns/bench/{name}" for name in _SHOWN),
)
"""What a figure depends on. Parts that are measured on several days may have commits of anything else between them, and
of the files that only show figures."""
_ONE_RUN: Final = ("commit", "baseline", "machine", "sizes", "heap", "full")
_OF_A_PART: Final = ("kernel", "processor")


def new_run(sizes: Sizes, baseline: Path | None, *, full: bool) -> dict[str, Any]:
    """Describe a run in which nothing has been measured yet."""
    return {
        "commit": commit_of(REPOSITORY),
        "baseline": commit_of(baseline) if baseline else "",
        "machine": _machine(),
        "sizes": json.loads(json.dumps(asdict(sizes))),  # as a file has them: a tuple is a list there
        "full": full,
        "heap": HEAP,
        "providers": {p.name: {"title": p.title, "conf": p.conf} for p in PROVIDERS.values()},
        "parts": {},
        "failed": [],
        "records": [],
    }


def continued(run: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """Give the earlier run, to be added to.

    Raises:
        ClickException: The two are not of one commit, size of machine and size of inputs.
    """
    for name in _ONE_RUN:
        if name == "baseline" and "" in (run[name], earlier[name]):
            continue
        if _alike(run[name]) != _alike(earlier[name]):
            found = f"the file has {earlier[name]}, this run has {run[name]}"
            raise click.ClickException(f"--add: {name} differs: {found}. Measure all parts anew, without --add.")
    return {**earlier, "baseline": run["baseline"] or earlier["baseline"]}


def _alike(value: object) -> object:
    """Leave out what may differ between the parts of a run; of memory, less than a GiB."""
    if not isinstance(value, dict):
        return value
    return {key: of >> 30 if key == "memory_bytes" else of for key, of in value.items() if key not in _OF_A_PART}


def commit_of(checkout: Path) -> str:
    """Name the newest commit of what is measured; ``-changed`` follows where the checkout differs from it."""
    commit = _git(checkout, "log", "-1", "--format=%h", "--abbrev=10", "--", *_MEASURED)
    return commit + ("-changed" if _git(checkout, "status", "--porcelain", "--", *_MEASURED) else "")


def load(path: Path) -> dict[str, Any]:
    """Read the file of a run."""
    run: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return run


def compact(run: dict[str, Any]) -> str:
    """Write a run as JSON with a line for each job."""
    head = {name: value for name, value in run.items() if name != "records"}
    records = ",\n".join(json.dumps(record, separators=(",", ":")) for record in run["records"])
    return json.dumps(head, indent=1)[:-2] + f',\n "records": [\n{records}\n]}}\n'


def kernel() -> str:
    """Name the kernel that runs, and the processor."""
    return f"{_kernel()} on {_processor()}"


def ended(run: dict[str, Any]) -> str:
    """Give the time at which the last part ended."""
    ended: list[str] = [part["ended"] for part in run["parts"].values()]
    return max(ended)


def _git(checkout: Path, *words: str) -> str:
    return subprocess.check_output(["git", "-C", str(checkout), *words], text=True).strip()


def _machine() -> dict[str, Any]:
    java = subprocess.run([java_command(), "-version"], capture_output=True, text=True, check=True).stderr
    version = re.search(r'version "(.*?)"', java)
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": _kernel(),
        "java": version[1] if version else java.strip(),
        "spark": pyspark.__version__,
        "python": platform.python_version(),
    }


def _kernel() -> str:
    return f"{platform.system()} {platform.release()}"


def _processor() -> str:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return model[1] if model else platform.machine()
