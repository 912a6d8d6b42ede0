"""The picture is what its script draws."""

from __future__ import annotations

import runpy
from xml.etree import ElementTree as ET

from support.spark import ROOT

PICTURES = ROOT / "docs" / "pictures"


def test_picture_is_what_the_script_draws() -> None:
    drawn = runpy.run_path(str(PICTURES / "draw.py"))["picture"]()
    assert drawn == (PICTURES / "overview.svg").read_text(encoding="utf-8"), "run `make docs`"


def test_picture_has_both_themes() -> None:
    tree = ET.parse(PICTURES / "overview.svg")
    style = tree.find("{http://www.w3.org/2000/svg}style")
    assert style is not None
    assert "prefers-color-scheme: dark" in str(style.text)
