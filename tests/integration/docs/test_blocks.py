"""Commands and snippets of the documentation run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.docs.blocks import ALL, Block, pages
from integration.docs.checkout import checkout
from support.outside import environment
from support.spark import ROOT

CHECKOUT_PAGES = ("README.md", "CONTRIBUTING.md")
"""Their shell blocks run in a checkout, with an empty environment of the user's own. They build and take minutes."""
CLUSTER_PAGE = "conf/standalone.md"
"""``tests/integration/cluster/test_recipes.py`` runs it."""
SNIPPET = "README.md"
"""Its query leaves the checkpoint that docs/reading-state.md reads."""
COUNTED = "|  to|    2|"
"""A row that it shows."""
NOT_RUN = {
    "CONTRIBUTING.md": 1,
    "README.md": 1,
    "conf/kubernetes.md": 3,
    "conf/yarn.md": 2,
    "docs/benchmarks-keyed.md": 1,
    "docs/benchmarks.md": 1,
    "docs/closed.md": 1,
}
"""How many blocks of a page are not run, or not all of their lines. The Markdown has the reason above each."""

SHELL = [block for block in ALL if block.is_run and block.language == "sh"]
QUICK = [block for block in SHELL if block.page not in (*CHECKOUT_PAGES, CLUSTER_PAGE)]
PYTHON = [block for block in ALL if block.is_run and block.language == "python" and block.page != SNIPPET]
WITH_SPARK = "SparkSession"
"""Blocks that begin a session take 20 to 30 s each. Every day only those of README and of reading its state run."""
EVERYDAY = ("docs/reading-state.md",)


def test_each_block_is_run_or_says_why_not() -> None:
    silent = [str(block) for block in ALL if not block.is_run and block.language != "text" and not block.reason]
    assert not silent
    counts = dict.fromkeys(NOT_RUN, 0)
    for block in (block for block in ALL if block.reason):
        counts[block.page] = counts.get(block.page, 0) + 1
    assert counts == NOT_RUN


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_code_is_fenced(page: Path) -> None:
    """Else no test would find it."""
    lines = page.read_text(encoding="utf-8").splitlines()
    fenced = {number for b in ALL if page == ROOT / b.page for number in range(b.line, b.line + b.text.count("\n") + 1)}
    assert not [line for number, line in enumerate(lines) if line.startswith("    ") and number not in fenced]


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the README's query has run."""
    folder = tmp_path_factory.mktemp("snippets")
    (block,) = (block for block in ALL if block.page == SNIPPET and block.language == "python")
    assert COUNTED in run_python(block, folder)
    return folder


def _with_mark(block: Block) -> object:
    is_slow = WITH_SPARK in block.script and block.page not in EVERYDAY
    return pytest.param(block, id=str(block), marks=[pytest.mark.slow] * is_slow)


@pytest.mark.parametrize("block", [_with_mark(block) for block in PYTHON])
def test_python(block: Block, counted: Path) -> None:
    assert run_python(block, counted)


@pytest.mark.parametrize("block", QUICK, ids=str)
def test_shell(block: Block, tmp_path: Path) -> None:
    assert run_shell(block, tmp_path, Path(sys.executable).parent)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("page", CHECKOUT_PAGES)
def test_shell_in_a_checkout(page: str, tmp_path: Path) -> None:
    folder, binaries = checkout(tmp_path)
    for block in (block for block in SHELL if block.page == page):
        run_shell(block, folder, binaries)
    if page == SNIPPET:
        (snippet,) = (block for block in ALL if block.page == SNIPPET and block.language == "python")
        assert COUNTED in run_python(snippet, tmp_path, binaries / "python")


def run_python(block: Block, folder: Path, python: Path = Path(sys.executable)) -> str:
    """Run a block as a program."""
    path = folder / "snippet.py"
    path.write_text(block.script, encoding="utf-8")
    return _run(block, [str(python), str(path)], folder, environment())


def run_shell(block: Block, folder: Path, binaries: Path) -> str:
    """Run a block in a shell that stops at the first error."""
    env = environment() | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    env.pop("MAKEFLAGS", None)
    return _run(block, ["bash", "-euo", "pipefail", "-c", block.script], folder, env)


def _run(block: Block, command: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block}\n{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout
