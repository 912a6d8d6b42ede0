"""docs/soak.md: the figures wave by wave, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import NamedTuple

from soak.job import HEAP, PACE
from soak.query import DELAY, WINDOW, Wave
from soak.sample import Figures
from soak.verdict import MARGIN, NOISES, WARM_UP, Trend, trend


class Figure(NamedTuple):
    """How a figure is shown and judged.

    Attributes:
        title: what it is.
        unit: what it is divided by.
        judged: whether it has to be flat.
    """

    title: str
    unit: float = 1.0
    judged: bool = True


_MB = 1e6
FIGURES: Mapping[str, Figure] = {
    "rows": Figure("rows in the state, thousands", 1e3),
    "seconds": Figure("a batch, s", judged=False),
    "heap": Figure("JVM: heap in use after a collection, MB", _MB),
    "classes": Figure("JVM: classes"),
    "code": Figure("JVM: classes and compiled code, MB", _MB, judged=False),
    "jvm outside": Figure("JVM: other memory, MB", _MB),
    "jvm files": Figure("JVM: open files"),
    "jvm maps": Figure("JVM: mappings"),
    "jvm threads": Figure("JVM: threads"),
    "store own": Figure("store process: own memory, MB", _MB),
    "store resident": Figure("store process: with mapped files, MB", _MB),
    "store files": Figure("store process: open files"),
    "store maps": Figure("store process: mappings"),
    "store threads": Figure("store process: threads"),
    "local bytes": Figure("local disk, MB", _MB),
    "local files": Figure("local disk: files"),
    "state bytes": Figure("checkpoint's state, MB", _MB),
    "state files": Figure("checkpoint's state: files"),
    "checkpoint files": Figure("whole checkpoint: files"),
}
Trends = dict[str, dict[str, Trend]]
"""Of each moment and figure."""


def trends(samples: Sequence[Figures], wave: Wave) -> Trends:
    """The trends of all figures."""
    return {
        moment: {name: trend(samples, wave, moment, name, judged=figure.judged) for name, figure in FIGURES.items()}
        for moment in ("peak", "trough")
    }


def rising(found: Trends) -> list[str]:
    """Names of the figures that are not flat."""
    return [f"{name} at the {moment}" for moment, all_ in found.items() for name, t in all_.items() if not t.is_flat]


def report(wave: Wave, samples: Sequence[Figures], found: Trends, *, right: bool) -> str:
    """The document."""
    return "\n".join([*_head(wave, samples), *_tables(found), *_verdict(found, right=right), ""])


def _head(wave: Wave, samples: Sequence[Figures]) -> Iterator[str]:
    most = max(taken["rows"] for taken in samples)
    yield "# Soak"
    yield ""
    yield _paragraph(f"""
        Written by `make soak`: one streaming query, {wave.batches:,} batches of {wave.rows:,} rows, one each {PACE} s.
        It counts keys in windows that live for {DELAY} to {DELAY + WINDOW} batches, with strings in key and value.
        Their number and length rise and fall in waves of {wave.period} batches, up to {most:,.0f} rows in the state.
        Settings are the defaults but for minBatchesToRetain (10), maintenanceInterval (1 s), Spark's histories for its
        UI (50 jobs), and a heap of {HEAP:,} MB that is there from the start.""")
    yield ""
    yield _paragraph(f"""
        A sample is taken after each batch. What stands below is the median of a wave's peak or trough: the tenth of its
        batches about the most or the fewest rows in the state. The first {WARM_UP} waves warm up, while compiled code,
        thread pools and histories fill. From then on a figure may grow by {MARGIN:.0%} of itself and {NOISES:.0f} times
        its noise in 1,000 batches, by the least-squares line through the waves, and by as much from the first half of
        the waves to the second (halves). Noise is how far the waves lie from the line (standard deviation).""")
    yield ""
    yield _paragraph("""
        Not judged: a batch's time, since other processes share the machine; and classes with compiled code, which the
        JVM bounds (ReservedCodeCacheSize) and goes on to improve. A class a batch is Spark's: it compiles the watermark
        into a predicate. Classes go with a collection of the heap, one at each peak and trough.""")


def _paragraph(text: str) -> str:
    return fill(" ".join(text.split()), 132)


def _tables(found: Trends) -> Iterator[str]:
    for moment, all_ in found.items():
        waves = len(next(iter(all_.values())).waves)
        yield ""
        yield f"## {moment.capitalize()}s"
        yield ""
        yield f"| | {' | '.join(f'{n + 1}' for n in range(waves))} | in 1,000 batches | halves | noise | |"
        yield "| --- |" + " ---: |" * (waves + 3) + " --- |"
        yield from (_row(FIGURES[name], values) for name, values in all_.items())


def _row(figure: Figure, values: Trend) -> str:
    verdict = "" if not figure.judged else "flat" if values.is_flat else "**RISES**"
    numbers = [_number(value / figure.unit) for value in values.waves]
    parts = [f"{values.slope:+.1%}", f"{values.growth:+.1%}", f"{values.noise:.1%}"]
    return f"| {figure.title} | {' | '.join(numbers + parts)} | {verdict} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:.3g}"


def _verdict(found: Trends, *, right: bool) -> Iterator[str]:
    yield ""
    yield "## Verdict"
    yield ""
    up = rising(found)
    yield f"Not flat: {', '.join(up)}." if up else "All figures are flat."
    answers = "equal to" if right else "**NOT** those of"
    yield f"Rows, those of closed windows and those left in the state: {answers} a batch query over the same input."
