"""Names that the documentation uses exist: settings, flags, files, links and symbols."""

from __future__ import annotations

import re
import shlex
import subprocess
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from integration.cluster.standalone import SPARK_HOME
from integration.docs.blocks import ALL, Block, pages
from keygroups.configure import EXTENSIONS, EXTENSIONS_SETTING, PROVIDER, PROVIDER_CLASS, jars
from keygroups.settings import DECLARATIONS, PREFIX
from keygroups.tools.main import main
from servers.jars import jars as server_jars
from support.outside import environment
from support.spark import ROOT

NAME = re.compile(r"(?<![\w./])((?:spark|yarn)(?:\.[A-Za-z][\w-]*)+)")
SHORT = re.compile(r"\bkeyGroups\.(\w+)")
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")
COMMAND = re.compile(r"keygroups\"? (conf(?: [^)|\n]*)?)")
NOT_SETTINGS = re.compile(r"spark\.(conf|range|read|readStream|stop|streamingCheckpointManager|table)\b|yarn\.md")
"""Calls of the session, and a file."""
HADOOP = "spark.hadoop."
VOLUMES = "spark.kubernetes.executor.volumes."
"""The rest of such a name is the user's."""
PAGES = [*pages(), ROOT / "conf" / "spark-defaults.conf"]
UNTESTED = [block for block in ALL if block.page in ("conf/yarn.md", "conf/kubernetes.md") and block.language == "sh"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_our_settings(page: Path) -> None:
    assert set(SHORT.findall(page.read_text(encoding="utf-8"))) <= set(DECLARATIONS)


def test_settings_of_spark() -> None:
    """They are in the class files of Spark or of Hadoop's S3 client, or in Hadoop's defaults."""
    used = {name for page in PAGES for name in NAME.findall(page.read_text(encoding="utf-8"))}
    used = {name for name in used if not name.startswith(PREFIX[:-1]) and not NOT_SETTINGS.match(name)}
    assert used >= {"spark.executor.memoryOverhead", "spark.kubernetes.container.image"}
    assert not sorted(name for name in used if not _is_known(name))


def _is_known(name: str) -> bool:
    if name.startswith(HADOOP):
        return name.removeprefix(HADOOP).encode() in _constants_of_s3a()
    return (VOLUMES if name.startswith(VOLUMES) else name).encode() in _constants()


@cache
def _constants_of_s3a() -> bytes:
    (client,) = server_jars("s3a").glob("hadoop-aws-*.jar")
    with zipfile.ZipFile(client) as jar:
        return jar.read("org/apache/hadoop/fs/s3a/Constants.class")


@cache
def _constants() -> bytes:
    found = []
    for pattern in ("spark-*.jar", "hadoop-client-api*.jar"):
        for path in (SPARK_HOME / "jars").glob(pattern):
            with zipfile.ZipFile(path) as jar:
                names = [
                    n
                    for n in jar.namelist()
                    if re.search(r"^org.apache.spark.*([Cc]onfig|Conf|Provider|package|Launcher)|yarn-default", n)
                ]
                found += [jar.read(name) for name in names]
    return b"".join(found)


@pytest.mark.parametrize("block", UNTESTED, ids=str)
def test_recipes_that_are_not_run(block: Block) -> None:
    text = block.text.replace("\\\n", " ")
    flags = set(re.findall(r"(?<= )--[a-z-]+", " ".join(re.findall(r"spark-submit (.*)", text))))
    assert flags - {"--spark", "--python"} <= _flags_of_spark_submit()
    given = dict(re.findall(r"--conf (\S+?)=(\S+)", text))
    assert given.get(PROVIDER_CLASS, PROVIDER) == PROVIDER
    assert given.get(EXTENSIONS_SETTING, EXTENSIONS) == EXTENSIONS
    assert set(re.findall(r"keygroups-spark\S+?\.jar", text)) <= {path.name for path in jars().values()}


@cache
def _flags_of_spark_submit() -> frozenset[str]:
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--help"]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    return frozenset(re.findall(r"--[a-z-]+", done.stdout + done.stderr))


@pytest.mark.parametrize("arguments", sorted({c for b in ALL for c in COMMAND.findall(b.text.replace("\\\n", " "))}))
def test_commands_of_ours(arguments: str) -> None:
    result = CliRunner().invoke(main, shlex.split(arguments))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links(page: Path) -> None:
    assert not list(_dead_links(page))


def _dead_links(page: Path) -> Iterator[str]:
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor[1:] not in _anchors(target)):
            yield path + anchor


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_exist(page: Path) -> None:
    named = re.findall(r"`((?:provider|jvm-shim|tests|docs|conf)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    assert not [path for path in named if not (ROOT / path).exists()]


def test_symbols_of_the_table_of_changes() -> None:
    """A name that follows a file's in ARCHITECTURE.md is in that file."""
    text = (
        (ROOT / "ARCHITECTURE.md")
        .read_text(encoding="utf-8")
        .partition("## Where do I change")[2]
        .partition("\n## ")[0]
    )
    named = re.findall(r"`([\w./-]+\.(?:scala|py))`: `(\w+)`", text)
    named += [(path, name) for name, path in re.findall(r"`(\w+)` in `([\w./-]+\.(?:scala|py))`", text)]
    assert len(named) >= 3
    assert not [(path, name) for path, name in named if not re.search(rf"\b{name}\b", (ROOT / path).read_text())]


def test_metrics() -> None:
    table = section("docs/operations.md", "Metrics")
    listed = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    code = (ROOT / "jvm-shim/src/io/keygroups/spark/Metrics.scala").read_text(encoding="utf-8")
    declared = set(re.findall(r'"(\w*keyGroups\w+|forceSnapshotCount)"', code))
    assert listed == declared | {"numRowsTotal", "memoryUsedBytes"}


def section(page: str, head: str) -> str:
    """The text below a heading of the second level."""
    return (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {head}\n")[2].partition("\n## ")[0]
