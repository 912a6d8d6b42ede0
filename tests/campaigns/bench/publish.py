"""Keep the figures of a run, and write the tables of README and docs from the newest ones (``make bench-table``).

``publish.py FILE`` keeps a run as ``results/<date>-<commit>.json`` first. ``--check`` writes nothing and fails unless
the tables are those of the newest results.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

from campaigns.bench import pages
from campaigns.bench.lines import LEAST_RUNS
from campaigns.bench.parts import COMPARED, kind
from campaigns.bench.providers import BASELINE, REPOSITORY
from campaigns.bench.results import compact, ended, load

RESULTS: Final = Path(__file__).resolve().parent / "results"
_ONE_RUN: Final = ("prepare", "leave", "leave_store")
"""Jobs that leave a checkpoint for others."""
_MARKS: Final = ("<!-- bench:begin -->", "<!-- bench:end -->")
_PAGES: Final = {"README.md": pages.readme, "docs/benchmarks.md": pages.benchmarks}


def newest(folder: Path = RESULTS) -> dict[str, Any]:
    """Read the results of the run that ended last."""
    runs = [load(path) for path in folder.glob("*.json")]
    if not runs:
        raise click.ClickException(f"there are no results in {folder}: run `make bench`, then publish.py FILE")
    return max(runs, key=ended)


def faults(run: dict[str, Any]) -> list[str]:
    """Say why a run can't be published; nothing if it can."""
    found = []
    if run["commit"].endswith("-changed"):
        found.append(f"it was measured on {run['commit']}: commit first")
    if run["failed"]:
        found.append(f"{len(run['failed'])} jobs failed")
    runs = Counter(kind(record) for record in run["records"] if record["part"] not in _ONE_RUN)
    if few := [" ".join(map(str, name)) for name, count in runs.items() if count < LEAST_RUNS]:
        found.append(f"fewer than {LEAST_RUNS} runs of: {'; '.join(few)}")
    if unknown := {r["group"] for r in run["records"] if r["provider"] == BASELINE} - set(COMPARED):
        found.append(f"the baseline does not belong into {', '.join(unknown)}")
    return found


def keep(source: Path, folder: Path, *, quick: bool) -> Path:
    """Copy a run that may be published into the folder of results.

    Raises:
        ClickException: It may not.
    """
    run = load(source)
    found = [*faults(run), *(["it was measured with small sizes"] if run["quick"] else [])]
    if found and not quick:
        raise click.ClickException(f"{source} can't be published:\n" + "\n".join(f"- {fault}" for fault in found))
    path = folder / f"{ended(run)[:10]}-{run['commit']}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(compact(run), encoding="utf-8")
    return path


def with_table(text: str, table: str) -> str:
    """Put a table between the marks of a page."""
    begin, end = (text.index(mark) for mark in _MARKS)
    return f"{text[: begin + len(_MARKS[0])]}\n{table.strip()}\n{text[end:]}"


@click.command()
@click.argument("source", type=click.Path(exists=True, path_type=Path), required=False)
@click.option("--quick", is_flag=True, help="Accept a run that shows only that everything runs.")
@click.option("--check", is_flag=True, help="Fail unless the tables are those of the newest results.")
def main(source: Path | None, quick: bool, check: bool) -> None:
    """Keep the figures of a run, and write the tables of README and docs from the newest ones."""
    if source:
        click.echo(f"Kept as {keep(source, RESULTS, quick=quick)}")
    run = newest()
    for name, render in _PAGES.items():
        path = REPOSITORY / name
        before = path.read_text(encoding="utf-8")
        after = with_table(before, render(run))
        if check and after != before:
            raise click.ClickException(
                f"{name} differs from the newest results ({run['commit']}): run make bench-table"
            )
        path.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
