"""What README and docs say of a run."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any, Final

from campaigns.bench.lines import Line, Spread, best
from campaigns.bench.operators import TITLES
from campaigns.bench.parts import PARTS, kind
from campaigns.bench.plan import Sizes
from campaigns.bench.providers import BASELINE, OURS
from campaigns.bench.report import disturbance, missed, number, ratio, render, summary
from campaigns.bench.tables import build

_PAGE: Final = "docs/benchmarks.md"
_WHERE: Final = "Where the time of transformWithState is spent"
_PREFIX: Final = "spark.sql.streaming."


def readme(run: dict[str, Any]) -> str:
    """The table of the figures that matter most, and the targets that were missed."""
    found = build(run["records"], Sizes(**run["sizes"]))
    lines = [line for table in found for line in table.lines if line.headline]
    rows = [_row(line) for line in lines if OURS in line.values]
    head = [
        "| | RocksDB | in memory (HDFS-backed) | Keygroups | to RocksDB | to in memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    return "\n".join([_origin(run), "", *head, *rows, "", _targets(run)])


def benchmarks(run: dict[str, Any]) -> str:
    """All figures, with the settings, the profile, and how long the parts took."""
    found = build(run["records"], Sizes(**run["sizes"]))
    tables = render(found, markdown=True)
    targets = f"\n## Targets\n\n{summary(found)}\n"
    return "\n".join(["## Figures\n", *_machine(run), tables, targets, *_profile(run), *_times(run)])


def _origin(run: dict[str, Any]) -> str:
    machine, runs = run["machine"], run["sizes"]["repetitions"]
    return (
        f"Medians of {runs} runs of `make bench ARGS=--full` at commit {run['commit']} ({_days(run)}): "
        f"{_hardware(run)}, Spark {machine['spark']}, Java {machine['java']}. RocksDB is, in each row, the better of "
        "two settings: with and without the count of keys. A ratio is Keygroups to the other provider, in parentheses "
        "its range over all pairs of runs; it is bold where the whole range lies on one side of 1. "
        f"[All figures]({_PAGE}), with settings and a profile.{_missing(run)}"
    )


def _missing(run: dict[str, Any]) -> str:
    missing = [part for part in PARTS if part not in run["parts"]]
    return f" **Not measured at this commit:** {', '.join(missing)}." if missing else ""


def _hardware(run: dict[str, Any]) -> str:
    machine = run["machine"]
    systems = sorted({_system(run, part) for part in run["parts"].values()})
    memory = machine["memory_bytes"] / 2**30
    return f"{machine['cores']} cores, {memory:.0f} GB, {', '.join(systems)}"


def _system(run: dict[str, Any], part: dict[str, Any]) -> str:
    """Kernel and processor of a part; its entry may name the kernel alone, and then it ran on the run's processor."""
    machine = run["machine"]
    named: str = part.get("kernel", machine["kernel"])
    return named if " on " in named else f"{named} on {machine['processor']}"


def _days(run: dict[str, Any]) -> str:
    return " to ".join(sorted({part[end][:10] for part in run["parts"].values() for end in ("started", "ended")}))


def _row(line: Line) -> str:
    values = [best(line.values, name) for name in ("rocksdb", "hdfs", OURS)]
    ratios = [ratio(line, family, bold=True) for family in ("rocksdb", "hdfs")]
    return f"| {' | '.join([line.headline, *(_value(spread, line.unit) for spread in values), *ratios])} |"


def _value(spread: Spread | None, unit: str) -> str:
    """A median with a unit that stands alone: ``us/row`` is us, for the row's name says of what."""
    short = "" if unit in ("count", "bytes") else unit.split("/", maxsplit=1)[0]
    return f"{number(spread.median)} {short}".strip() if spread else ""


def _targets(run: dict[str, Any]) -> str:
    tables = build(run["records"], Sizes(**run["sizes"]))
    found = missed(tables)
    if not found:
        return "All targets are met."
    names: dict[str, list[str]] = {}
    for table, line in found:
        names.setdefault(table.title, []).append(f"{line.label} ({line.target})")
    judged = sum(line.target is not None for table in tables for line in table.lines)
    head = f"{len(found)} of {judged} targets are missed ([why]({_PAGE}#why-targets-are-missed)):"
    return "\n".join([head, "", *(f"- {title}: {', '.join(labels)}" for title, labels in names.items())])


def _machine(run: dict[str, Any]) -> Iterator[str]:
    machine, seconds = run["machine"], sum(part["seconds"] for part in run["parts"].values())
    yield f"- commit {run['commit']}" + (f"; {BASELINE} is commit {run['baseline']}" if run["baseline"] else "")
    yield f"- {_days(run)}, {seconds / 60:.0f} minutes. {disturbance(run['records'], machine['cores'])}"
    yield f"- {_hardware(run)}"
    yield f"- Spark {machine['spark']}, Java {machine['java']} (heap {run['heap']}), Python {machine['python']}"
    measured = {record["provider"] for record in run["records"]}
    for name, provider in run["providers"].items():
        if name in measured:
            pairs = [f"`{key.removeprefix(_PREFIX)}={value}`" for key, value in provider["conf"].items()]
            yield f"- {name}: {provider['title']}" + (f", with {', '.join(pairs)}" if pairs else "")
    yield ""


def _profile(run: dict[str, Any]) -> Iterator[str]:
    found = [record for record in run["records"] if record["group"] == "profile"]
    if not found:
        return
    yield f"\n## {_WHERE}\n"
    yield "Samples of the JVM's threads that serve state to Python, 100 a second (part `profile`).\n"
    yield "| | samples | in Keygroups | waiting for Python | in Spark's server |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for part, title in TITLES.items():
        if samples := [record["figures"]["samples"] for record in found if record["part"] == part]:
            total = sum(sum(sample.values()) for sample in samples)
            shares = [
                Spread.of(100 * sample.get(place, 0) / max(1, sum(sample.values())) for sample in samples)
                for place in ("store", "python", "spark")
            ]
            yield f"| {title} | {total:,} | {' | '.join(f'{number(share.median)}%' for share in shares)} |"


def _times(run: dict[str, Any]) -> Iterator[str]:
    """How long each part took, and where: what the next run will take."""
    yield "\n## Duration\n"
    yield "| part | jobs | minutes | seconds a job, median | machine |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for part, times in run["parts"].items():
        jobs = [record for record in run["records"] if record["group"] == part]
        each = median(record["seconds"] for record in jobs)
        different = len({kind(record) for record in jobs})
        counted = f"{len(jobs)} ({different} different) | {times['seconds'] / 60:.0f} | {each:.0f}"
        yield f"| {part} | {counted} | {_system(run, times)} |"
