"""The suites whose code works by address, as C2 compiles it: all other tests run with C1 alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.spark import ROOT

SUITES = (
    "tests/integration/store/test_families.py",
    "tests/integration/store/test_model.py",
    "tests/integration/store/test_ttl.py",
    "tests/integration/differential",
)
CHOSEN = "not at_length and not key_groups"
"""Not the differential suite's checks of files: they run no other code of the provider."""
MINUTES = 10
PATHS = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "provider")])
_METHOD = re.compile(r"^\s*\d+ +4 +\d+ +io\.keygroups\.spark\.([\w.$]+\.[\w$]+)\(", re.MULTILINE)
"""A line of jcmd's Compiler.codelist: number, level, state, method."""
WANTED = {
    "segment.RadixIndex",
    "segment.Block.lowerBound",
    "segment.IndexBuilder.fill",
    "session.Overlay.find",
    "session.SealedRows",
    "session.SegmentMerge",
    "session.Scan",
    "session.OrderedRows",
    "session.UnorderedRows",
    "session.FamilySession",
}
"""Methods, or classes of which any method will do, that C2 has compiled by the end: so these were tested. What it
inlines is not in the list by itself."""


@pytest.mark.slow
@pytest.mark.timeout(MINUTES * 60 + 60)
def test_the_suites_hold_as_c2_compiles_the_provider(tmp_path: Path) -> None:
    report = tmp_path / "compiled"
    env = os.environ | {"KEYGROUPS_COMPILER": "c2", "KEYGROUPS_COMPILED": str(report), "PYTHONPATH": PATHS}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not slow",
        "-k",
        CHOSEN,
        "-p",
        "integration.compiled.code_list",
    ]
    done = subprocess.run(
        [*command, *SUITES], cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=MINUTES * 60
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    compiled = set(_METHOD.findall(report.read_text()))
    missing = {want for want in WANTED if not any(name == want or name.startswith(f"{want}.") for name in compiled)}
    assert not missing, f"not compiled by C2: {missing}; compiled: {sorted(compiled)}"
