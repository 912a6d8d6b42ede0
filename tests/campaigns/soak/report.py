"""docs/soak.md: the figures wave by wave, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import NamedTuple

from campaigns.soak.job import BUDGET, HEAP, MAPPED, PACE
from campaigns.soak.query import DELAY, WINDOW, Wave
from campaigns.soak.sample import Figures
from campaigns.soak.verdict import PER_BATCHES, WARM_UP, Trend, trend


class Figure(NamedTuple):
    """How a figure is shown and judged.

    Attributes:
        title: what it is.
        limit: by how much it may grow in 1,000 batches, in its unit; None if it is not judged.
        unit: what it is divided by.
        peak_limit: the limit at peaks, if it is another.
    """

    title: str
    limit: float | None = None
    unit: float = 1.0
    peak_limit: float | None = None

    def limit_at(self, moment: str) -> float | None:
        """By how much it may grow in 1,000 batches at a moment, as it is sampled."""
        limit = self.peak_limit if moment == "peak" and self.peak_limit is not None else self.limit
        return None if limit is None else limit * self.unit


_MB = 1e6
# A limit is about twice the variation of a figure whose process keeps nothing; the comment says which. A smaller leak
# takes a longer run to show: at 10,000 rows a batch, 8 MB in 1,000 batches are less than a byte a row.
FIGURES: Mapping[str, Figure] = {
    "rows": Figure("rows in the state, thousands", 1, 1e3),  # follows from the input
    "seconds": Figure("a batch, s"),
    "state memory": Figure("memory for state (memoryUsedBytes), MB", 8, _MB),  # by when segments are merged
    "heap": Figure("JVM: heap in use after a collection, MB", 6, _MB),  # 85 +- 2: soft references come and go
    "classes": Figure("JVM: classes", 200),  # one a batch, until a collection: 1,000 if none of them went
    "code": Figure("JVM: classes and compiled code, MB", None, _MB),
    "jvm outside": Figure("JVM: other memory, MB", 8, _MB),  # 187 +- 4: what the compiler needs while it is at work
    "jvm files": Figure("JVM: open files", 4),  # 334 to 336, with requests under way
    "jvm other maps": Figure("JVM: mappings but those of state", 12),  # thread stacks, libraries
    # At a peak by when segments are merged: a block whose keys have no room in memory has one. 1,068 to 1,139 of all.
    "jvm state maps": Figure("JVM: mappings of state", 12, peak_limit=60),
    "jvm threads": Figure("JVM: threads", 4),  # 282 to 284: pools let threads end and start others
    "store own": Figure("store process: own memory, MB", 15, _MB),  # by what is merged: 92 +- 3, 82 +- 5
    "store resident": Figure("store process: with mapped files, MB", 15, _MB),  # the same, with pages that are shared
    "store files": Figure("store process: open files", 3),  # 14 to 17: a connection for each call under way
    "store other maps": Figure("store process: mappings but those of state", 12),  # thread stacks, libraries
    "store state maps": Figure("store process: mappings of state", 12),  # one for each segment
    "store threads": Figure("store process: threads", 3),  # 14 to 16: one for each connection
    "local bytes": Figure("local disk, MB", 15, _MB),  # by when segments are merged
    "local files": Figure("local disk: files", 2),  # 6 to 8: segments before and after a merge
    "state bytes": Figure("checkpoint's state, MB", 4, _MB),  # 25 +- 1: by when segments are merged and deleted
    "state files": Figure("checkpoint's state: files", 4),  # 36 to 38
    "checkpoint files": Figure("whole checkpoint: files", 4),  # 80 to 82
}
Trends = dict[str, dict[str, Trend]]
"""Of each moment and figure."""


def trends(samples: Sequence[Figures], wave: Wave) -> Trends:
    """The trends of all figures."""
    return {
        moment: {name: trend(samples, wave, moment, name, figure.limit_at(moment)) for name, figure in FIGURES.items()}
        for moment in ("peak", "trough")
    }


def rising(found: Trends) -> list[str]:
    """Names of the figures that are not flat."""
    return [f"{name} at the {moment}" for moment, all_ in found.items() for name, t in all_.items() if not t.is_flat]


def report(wave: Wave, samples: Sequence[Figures], found: Trends, *, right: bool, commit: str) -> str:
    """The document."""
    return "\n".join([*_head(wave, samples, commit), *_tables(found), *_verdict(found, right=right), ""])


def _head(wave: Wave, samples: Sequence[Figures], commit: str) -> Iterator[str]:
    most = max(taken["rows"] for taken in samples)
    yield "# Soak"
    yield ""
    yield _paragraph(f"""
        Written by `make soak ARGS=--full` on commit {commit}: one query, {wave.batches:,} batches of
        {wave.rows:,} rows, one every {PACE} s.
        It counts keys in windows that live for {DELAY} to {DELAY + WINDOW} batches, with strings in key and value.
        Their number and length rise and fall in waves of {wave.period} batches, up to {most:,.0f} rows in the state.
        The memory budget of {BUDGET} MB (keyGroups.memoryBudget) is more than the state takes in a trough and less than
        it takes at a peak, when values beyond {MAPPED} MB (keyGroups.mappedValueBytes) are only in local files.
        Blocks have 1 MB (keyGroups.blockBytes). Other settings are the defaults except for minBatchesToRetain (10),
        maintenanceInterval (1 s), Spark's histories for its UI (50 jobs), a heap of {HEAP:,} MB that is there from the
        start, and TrimNativeHeapInterval (2 s): memory that the JVM has freed goes back to the system. Without that the
        C library keeps what the compiler needs at times: other memory then rises by 12 MB in
        a step, and stays there. The JVM also has at most two of the C library's arenas (GLIBC_TUNABLES), of which each
        keeps fragments.""")
    yield ""
    yield _paragraph(f"""
        A sample is taken after each batch. What stands below is the median of a wave's peak or trough: the tenth of its
        batches about the most or the fewest rows in the state. The first {WARM_UP} waves warm up, while compiled code,
        thread pools and histories fill. From then on a figure may grow by its limit in {PER_BATCHES:,} batches (in a
        shorter run, by its limit in all), by the least-squares line through the waves, and by as much from the first
        half of the waves to the second (halves). Limits are fixed: noise does not raise them.""")
    yield ""
    yield _paragraph("""
        Not judged: a batch's time, since other processes share the machine; and classes with compiled code, which the
        JVM bounds (ReservedCodeCacheSize) and goes on to improve. Spark adds a class a batch: it compiles the watermark
        into a predicate. Collections of the heap unload them, one at each peak and trough.""")


def _paragraph(text: str) -> str:
    return fill(" ".join(text.split()), 132)


def _tables(found: Trends) -> Iterator[str]:
    for moment, all_ in found.items():
        waves = len(next(iter(all_.values())).waves)
        yield ""
        yield f"## {moment.capitalize()}s"
        yield ""
        yield f"| | {' | '.join(f'{n + 1}' for n in range(waves))} | in 1,000 batches | halves | limit | |"
        yield "| --- |" + " ---: |" * (waves + 3) + " --- |"
        yield from (_row(FIGURES[name], values) for name, values in all_.items())


def _row(figure: Figure, values: Trend) -> str:
    verdict = "" if values.limit is None else "flat" if values.is_flat else "**RISES**"
    limit = "" if values.limit is None else f"{values.limit / figure.unit:g}"
    parts = [_number(value / figure.unit) for value in [*values.waves, values.slope, values.growth]]
    return f"| {figure.title} | {' | '.join(parts)} | {limit} | {verdict} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.3g}"


def _verdict(found: Trends, *, right: bool) -> Iterator[str]:
    yield ""
    yield "## Verdict"
    yield ""
    up = rising(found)
    yield f"Not flat: {', '.join(up)}." if up else "All figures are flat."
    answers = "equal to" if right else "**NOT** those of"
    yield f"Rows, those of closed windows and those left in the state: {answers} a batch query over the same input."
