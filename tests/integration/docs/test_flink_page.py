"""docs/coming-from-flink.md names tests that there are."""

from __future__ import annotations

import re

from support.spark import ROOT

PAGE = ROOT / "docs" / "coming-from-flink.md"


def test_each_test_of_the_page_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    sources = [*(ROOT / "tests" / "state").glob("*.py"), *(ROOT / "tests" / "integration" / "streams").glob("*.py")]
    sources.append(ROOT / "tests" / "unit" / "test_key_groups.py")
    there = {name for path in sources for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)}
    assert named
    assert named <= there, sorted(named - there)
