"""docs/troubleshooting.md has an entry for each error message of the sources, and for no other."""

from __future__ import annotations

import re

from integration.docs.messages import raised
from support.spark import ROOT

ENTRY = re.compile(r"^### `(.*)`$", re.MULTILINE)


def test_an_entry_for_each_message() -> None:
    entries = ENTRY.findall((ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"))
    assert len(entries) == len(set(entries))
    assert set(entries) == raised()
