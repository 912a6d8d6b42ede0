"""The tables as text: in columns for a terminal, or in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from campaigns.bench.lines import Line, Spread, Table, best
from campaigns.bench.providers import OURS, PROVIDERS

_QUIET: Final = 0.2  # cores; the kernel and a login session take less


def render(tables: Sequence[Table], *, markdown: bool) -> str:
    """Write the tables with the ratios of ours to the best of each family of peers.

    Args:
        tables: What to write.
        markdown: Markdown instead of aligned columns.
    """
    return "\n".join(line for table in tables for line in _table(table, markdown))


def ratios(tables: Sequence[Table]) -> str:
    """Return a line for each headline: the best of each family and ours, and the ratios of ours to the others."""
    lines = [_ratios(line) for table in tables for line in table.lines if line.headline and OURS in line.values]
    return render([Table("Keygroups beside the best of each other provider", lines, "")], markdown=False)


def missed(tables: Sequence[Table]) -> list[tuple[Table, Line]]:
    """List the targets that were missed."""
    targets = [(table, line) for table in tables for line in table.lines if line.target]
    return [(table, line) for table, line in targets if line.target and line.target.verdict(line.values) == "missed"]


def summary(tables: Sequence[Table]) -> str:
    """Count the targets that were met and name those that were missed."""
    verdicts = [line.target.verdict(line.values) for table in tables for line in table.lines if line.target]
    names = [f"- missed: {table.title}: {line.label}" for table, line in missed(tables)]
    return "\n".join([f"Targets: {verdicts.count('met')} met, {len(names)} missed.", *names])


def disturbance(records: Sequence[dict[str, Any]], cores: int) -> str:
    """Say how busy other processes kept the machine during the jobs, in cores."""
    seconds = sum(record["seconds"] for record in records) or 1.0
    others = sum(record["other_seconds"] for record in records) / seconds
    advice = ": too much for these figures to count, run it again on an idle machine" if others > _QUIET else ""
    return f"Other processes kept {others:.2f} of {cores} cores busy meanwhile{advice}."


def number(value: float) -> str:
    """Write a figure with three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(line: Line, family: str, *, bold: bool) -> str:
    """Write ours through the best of a family with its interval, in bold where all of it is on one side of 1."""
    ours, peer = line.values.get(OURS), best(line.values, family)
    quotient = ours.over(peer) if ours and peer else None
    if not quotient:
        return ""
    middle = f"{quotient.median:.2f}x"
    middle = f"**{middle}**" if bold and quotient.differs else middle
    return middle if quotient.low == quotient.high else f"{middle} ({quotient.low:.2f} to {quotient.high:.2f})"


def _ratios(line: Line) -> Line:
    families = {PROVIDERS[name].family for name in line.values}
    values = {family: spread for family in families if (spread := best(line.values, family))}
    return Line(line.headline, line.unit, values)


def _table(table: Table, markdown: bool) -> Iterator[str]:
    measured = {name for line in table.lines for name in line.values}
    providers = [name for name in PROVIDERS if name in measured]
    families = list(dict.fromkeys(PROVIDERS[name].family for name in providers if name != OURS))
    families = families if OURS in providers else []
    target = "target" if any(line.target for line in table.lines) else ""
    head = ["", *providers, *(f"{OURS}/{family}" for family in families), target, ""]
    cells = [head, *(_cells(line, providers, families, markdown) for line in table.lines)]
    yield f"### {table.title}\n" if markdown else f"\n{table.title}"
    yield from _markdown(cells) if markdown else _columns(cells)
    if table.note:
        yield f"\n{table.note}\n" if markdown else f"  ({table.note})"


def _cells(line: Line, providers: Sequence[str], families: Sequence[str], bold: bool) -> list[str]:
    values = [_spread(line.values.get(name)) for name in providers]
    ratios = [ratio(line, family, bold=bold) for family in families]
    target = [str(line.target), line.target.verdict(line.values)] if line.target else ["", ""]
    return [f"{line.label}, {line.unit}", *values, *ratios, *target]


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return ""
    if spread.low == spread.high:
        return number(spread.median)
    return f"{number(spread.median)} ({number(spread.low)} to {number(spread.high)})"


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
