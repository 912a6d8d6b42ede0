"""Keep the figures of a run, and write the tables of README and docs from them (``make bench-table``).

``publish.py FILE`` keeps a full run as ``results/<date>-<commit>.json`` first, in the place of the one that is there:
figures are those of the newest release.
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
    """Read the results that are kept."""
    paths = [*folder.glob("*.json")]
    if len(paths) != 1:
        raise click.ClickException(f"{folder} has {len(paths)} results, expected those of the newest release alone")
    return load(paths[0])


def faults(run: dict[str, Any]) -> list[str]:
    """Say why a run can't be published; nothing if it can."""
    if not run["full"]:
        return ["it is a short run: figures are published of `make bench ARGS=--full` only"]
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


def keep(source: Path, folder: Path) -> Path:
    """Copy a run that may be published into the folder of results, and delete the one before.

    Raises:
        ClickException: It may not.
    """
    run = load(source)
    if found := faults(run):
        raise click.ClickException(f"{source} can't be published:\n" + "\n".join(f"- {fault}" for fault in found))
    path = folder / f"{ended(run)[:10]}-{run['commit']}.json"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    path.write_text(compact(run), encoding="utf-8")
    return path


def with_table(text: str, table: str) -> str:
    """Put a table between the marks of a page."""
    begin, end = (text.index(mark) for mark in _MARKS)
    return f"{text[: begin + len(_MARKS[0])]}\n{table.strip()}\n{text[end:]}"


@click.command()
@click.argument("source", type=click.Path(exists=True, path_type=Path), required=False)
def main(source: Path | None) -> None:
    """Keep the figures of a full run, and write the tables of README and docs from them."""
    if source:
        click.echo(f"Kept as {keep(source, RESULTS)}")
    run = newest()
    for name, render in _PAGES.items():
        path = REPOSITORY / name
        path.write_text(with_table(path.read_text(encoding="utf-8"), render(run)), encoding="utf-8")


if __name__ == "__main__":
    main()
