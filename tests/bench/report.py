"""The tables as text: in columns for a terminal, or in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from lines import Line, Table
from providers import OURS

_QUIET: Final = 0.2  # cores; the kernel and a login session take less


def render(tables: Sequence[Table], providers: Sequence[str], *, judge: bool, markdown: bool) -> str:
    """Write the tables with the ratios of ours to each peer.

    Args:
        tables: What to write.
        providers: Columns, in order.
        judge: Whether to say if targets were met; they hold for full sizes only.
        markdown: Markdown instead of aligned columns.
    """
    return "\n".join(line for table in tables for line in _table(table, providers, judge, markdown))


def summary(tables: Sequence[Table]) -> str:
    """Count the targets that were met and name those that were missed."""
    judged = [(t.title, line, line.target.verdict(line.values)) for t in tables for line in t.lines if line.target]
    missed = [f"  missed: {title}: {line.label}" for title, line, verdict in judged if verdict == "missed"]
    met = sum(verdict == "met" for _, _, verdict in judged)
    return "\n".join([f"Targets: {met} met, {len(missed)} missed.", *missed])


def disturbance(records: Sequence[dict[str, Any]], cores: int) -> str:
    """Say how busy other processes kept the machine during the jobs, in cores."""
    seconds = sum(record["seconds"] for record in records) or 1.0
    others = sum(record["other_seconds"] for record in records) / seconds
    advice = ": too much for these figures to count, run it again on an idle machine" if others > _QUIET else ""
    return f"Other processes kept {others:.2f} of {cores} cores busy meanwhile{advice}."


def _table(table: Table, providers: Sequence[str], judge: bool, markdown: bool) -> Iterator[str]:
    peers = [name for name in providers if name != OURS] if OURS in providers else []
    head = ["", *providers, *(f"{OURS}/{peer}" for peer in peers), "target", ""]
    cells = [head, *(_cells(line, providers, peers, judge) for line in table.lines)]
    yield f"### {table.title}\n" if markdown else f"\n{table.title}"
    yield from _markdown(cells) if markdown else _columns(cells)
    if table.note:
        yield f"\n{table.note}\n" if markdown else f"  ({table.note})"


def _cells(line: Line, providers: Sequence[str], peers: Sequence[str], judge: bool) -> list[str]:
    ours = line.values.get(OURS)
    values = [_number(line.values.get(name)) for name in providers]
    ratios = [_ratio(ours, line.values.get(peer)) for peer in peers]
    target = [str(line.target), line.target.verdict(line.values) if judge else ""] if line.target else ["", ""]
    return [line.label, *values, *ratios, *target]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _ratio(ours: float | None, peer: float | None) -> str:
    return f"{ours / peer:.2f}x" if ours is not None and peer else "-"


def _markdown(cells: list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(cells[0]) + " |"
    yield "| --- |" + " ---: |" * (len(cells[0]) - 3) + " --- | --- |"
    for row in cells[1:]:
        yield "| " + " | ".join(row) + " |"


def _columns(cells: list[list[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    for row in cells:
        numbers = [cell.rjust(width) for cell, width in zip(row[1:-2], widths[1:-2], strict=True)]
        words = [cell.ljust(width) for cell, width in zip(row[-2:], widths[-2:], strict=True)]
        yield ("  " + "  ".join([row[0].ljust(widths[0]), *numbers, *words])).rstrip()
