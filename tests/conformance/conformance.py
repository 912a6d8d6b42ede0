"""Run Spark 4.2.0's own test suites on our provider: ``make conformance``.

The suites come from Maven Central, Spark's classes from the pyspark package; nothing of either is kept here.
``suites.json`` lists the suites, and the tests that can pass on Spark's own providers only, each with the reason.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import click

HERE: Final = Path(__file__).resolve().parent
REPOSITORY: Final = HERE.parents[1]
BUILD: Final = REPOSITORY / "build" / "conformance"
SPARK: Final = "4.2.0"
PYSPARK: Final = REPOSITORY / "build" / f"pyspark-{SPARK}" / "pyspark"
JARS: Final = BUILD / "test-jars"
SUITES: Final = BUILD / "suites"
SHIM: Final = REPOSITORY / "provider" / "keygroups" / "jars" / "keygroups-spark4.2_2.13.jar"
TABLE: Final = REPOSITORY / "docs" / "conformance.md"
SECONDS: Final = 1800
OPENED: Final = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
    "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action",
    "sun.util.calendar",
)  # fmt: skip
PROVIDER: Final = "io.keygroups.spark.KeyGroupStateStoreProvider"
AGENT: Final = BUILD / "agent.jar"
OUTCOMES: Final = BUILD / "outcomes"
STATE_READER: Final = ".datasources.v2.state."
"""In the names of the suites that read state, and compare the change feed with that of Spark's providers."""
NO_STORE: Final = "no store"
"""In the list of a suite's exclusions: why it opens none."""
SLICE: Final = (
    "KeyGroupContractSuite",
    "StateStoreRDDSuite",
    "ValueStateSuite",
    "TimerSuite",
    "TransformWithListStateSuite",
)
"""Suites for a few minutes: the provider's contract, and transformWithState."""


@dataclass(frozen=True)
class Outcome:
    """What became of a suite.

    Attributes:
        suite: its class, without the package.
        succeeded: how many tests passed.
        failed: tests that failed.
        excluded: failed tests that can pass on Spark's own providers only, each with the reason.
        finished: whether it ran to its end.
        stores: how many stores our provider opened: a suite that passes without it has shown nothing.
        why_no_store: why it needs none.
    """

    suite: str
    succeeded: int
    failed: list[str]
    excluded: dict[str, str]
    finished: bool
    stores: int
    why_no_store: str


def prepare() -> None:
    """Bring the suites, once, and compile those of our own. The shim and its Spark are there: see the Makefile."""
    if not SUITES.exists():
        _run(["mvn", "-q", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={JARS}"])
        packed = JARS / f"spark-sql_2.13-{SPARK}-tests.jar"
        with zipfile.ZipFile(packed) as jar:
            jar.extractall(SUITES)  # suites that restore recorded checkpoints want files
        packed.unlink()
    classes = BUILD / "classes"
    classes.mkdir(parents=True, exist_ok=True)
    sources = sorted(map(str, (HERE / "scala").glob("*.scala")))
    compiler = ["scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", str(classes)]
    _run(["java", "-Xss8m", "-cp", _class_path(), *compiler, *sources])
    with zipfile.ZipFile(AGENT, "w") as jar:
        jar.writestr(
            "META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: keygroups.conformance.ProviderAgent\n"
        )


def run_suite(suite: str, excluded: dict[str, str]) -> Outcome:
    """Run one suite in a JVM of its own; its log goes to ``build/conformance/logs``."""
    home, logs = BUILD / "home", BUILD / "logs"
    home.mkdir(exist_ok=True)
    logs.mkdir(exist_ok=True)
    ours = any(suite.endswith(source.stem) for source in (HERE / "scala").glob("*.scala"))
    where = BUILD / "classes" if ours else SUITES
    flags = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    conf = {
        "testing": "1",
        "test.home": home,
        "ui.enabled": "false",
        "sql.streaming.stateStore.providerClass": PROVIDER,
        "sql.extensions": "io.keygroups.spark.KeyGroupExtensions",
        "executor.extraClassPath": _class_path(),  # executors of a local cluster never start without it
    }
    if STATE_READER in suite:
        conf |= {"sql.streaming.stateStore.keyGroups.changeFeed": "writes"}
    flags += [f"-Dspark.{name}={value}" for name, value in conf.items()]
    flags += [f"-javaagent:{AGENT}={SUITES.resolve()}", f"-Djava.io.tmpdir={home}", "-ea", "-Xss4m", "-Xmx4g"]
    command = ["java", *flags, "-cp", _class_path(), "org.scalatest.tools.Runner", "-R", str(where), "-s", suite, "-oW"]
    own = {
        "SPARK_TESTING": "1",
        "SPARK_SCALA_VERSION": "2.13",  # else its launcher looks for a build of Spark
        "SPARK_HOME": str(PYSPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(REPOSITORY / "provider"),
    }
    log = logs / f"{suite.rpartition('.')[2]}.log"
    with log.open("w") as out:
        try:
            environment = {**os.environ, **own}
            subprocess.run(command, cwd=home, env=environment, stdout=out, stderr=out, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            out.write("\nstopped for time\n")
    return _outcome(suite, log.read_text(errors="replace"), excluded)


def _outcome(suite: str, log: str, excluded: dict[str, str]) -> Outcome:
    found = re.search(r"^Tests: succeeded (\d+), failed (\d+)", log, re.MULTILINE)
    failed = sorted(set(re.findall(r"^- (.*) \*\*\* FAILED \*\*\*", log, re.MULTILINE)))
    return Outcome(
        suite=suite.rpartition(".")[2],
        succeeded=int(found[1]) if found else len(re.findall(r"^- (?!.*\*\*\*)", log, re.MULTILINE)),
        failed=[test for test in failed if test not in excluded],
        excluded={test: excluded[test] for test in failed if test in excluded},
        finished=found is not None,
        stores=len(re.findall(rf"INFO {PROVIDER.rpartition('.')[2]}: opens ", log)),
        why_no_store=excluded.get(NO_STORE, ""),
    )


def table(outcomes: list[Outcome], missing: list[str]) -> str:
    """The outcomes as a page of Markdown, and the suites that have not been run."""
    lines = [
        "# Spark's own tests on this provider",
        "",
        f"Written by `make conformance`: the suites of Spark {SPARK}, one JVM each. Excluded are tests that assert the",
        "names, files or metrics of one of Spark's own providers. The suites of the state reader, whose names have",
        "DataSource in them, run with `changeFeed` = `writes`, all others with no setting of ours.",
        "",
        "| suite | passed | failed | excluded | stores that our provider opened |",
        "| --- | --- | --- | --- | --- |",
    ]
    for o in outcomes:
        failed = str(len(o.failed)) if o.finished else f"{len(o.failed)}, and it did not end"
        lines.append(f"| {o.suite} | {o.succeeded} | {failed} | {len(o.excluded)} | {o.stores} |")
    tests = [sum(o.succeeded for o in outcomes), sum(len(o.failed) for o in outcomes)]
    tests += [sum(len(o.excluded) for o in outcomes), sum(o.stores for o in outcomes)]
    lines.append("| **all** | " + " | ".join(f"**{number}**" for number in tests) + " |")
    lines += ["", *(f"- Not run: {suite}" for suite in missing)]
    lines += [*(f"- Failed in {o.suite}: {test}" for o in outcomes for test in o.failed)]
    lines += [f"- No store of ours in {o.suite}: {o.why_no_store}" for o in outcomes if o.why_no_store]
    lines += [f"- Excluded in {o.suite}: {test}: {why}" for o in outcomes for test, why in o.excluded.items()]
    return "\n".join(lines) + "\n"


def _known(suites: dict[str, dict[str, str]]) -> tuple[list[Outcome], list[str]]:
    """The last outcome of each suite, with the exclusions of today, and the suites that have none."""
    outcomes, missing = [], []
    for suite, reasons in suites.items():
        path = OUTCOMES / f"{suite}.json"
        if not path.exists():
            missing.append(suite.rpartition(".")[2])
            continue
        last = Outcome(**json.loads(path.read_text()))
        failed = [*last.failed, *last.excluded]
        outcomes.append(
            replace(
                last,
                failed=[test for test in failed if test not in reasons],
                excluded={test: reasons[test] for test in failed if test in reasons},
                why_no_store=reasons.get(NO_STORE, ""),
            )
        )
    return outcomes, missing


def _class_path() -> str:
    return os.pathsep.join([str(BUILD / "classes"), str(SHIM), str(SUITES), f"{JARS}/*", f"{PYSPARK / 'jars'}/*"])


def _run(command: list[str]) -> None:
    if subprocess.run(command, check=False).returncode:
        raise click.ClickException(f"{command[0]} failed")


@click.command()
@click.option("--only", multiple=True, help="Run suites whose name contains this, and write no table. Repeatable.")
@click.option("--slice", "sliced", is_flag=True, help="Run the suites of a quick check, and write no table.")
@click.option("--table", "tabled", is_flag=True, help="Run nothing; write the table of the last outcome of each suite.")
def main(only: tuple[str, ...], sliced: bool, tabled: bool) -> None:
    """Run Spark's own test suites on our provider."""
    if tabled:
        TABLE.write_text(table(*_known(json.loads((HERE / "suites.json").read_text()))))
        return
    prepare()
    suites = json.loads((HERE / "suites.json").read_text())
    only += SLICE if sliced else ()
    chosen = {name: why for name, why in suites.items() if not only or any(part in name for part in only)}
    OUTCOMES.mkdir(exist_ok=True)
    outcomes = []
    for suite, excluded in chosen.items():
        outcomes.append(outcome := run_suite(suite, excluded))
        (OUTCOMES / f"{suite}.json").write_text(json.dumps(asdict(outcome)))
        counts = f"{outcome.succeeded} passed, {len(outcome.failed)} failed, {len(outcome.excluded)} excluded"
        counts += f", {outcome.stores} stores of ours" + ("" if outcome.finished else ", and it did not end")
        click.echo(f"{outcome.suite}: {counts}")
        for test in outcome.failed:
            click.echo(f"  failed: {test}")
    if not only:
        TABLE.write_text(table(*_known(suites)))
    sys.exit(any(o.failed or not o.finished or not (o.stores or o.why_no_store) for o in outcomes))


if __name__ == "__main__":
    main()
