"""Settings: what `settings.json` declares, what the text of a value may be, and what a wrong one gets."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from keygroups.errors import SettingError
from keygroups.settings import DECLARATIONS, PREFIX, Settings, declaration
from keygroups.tools.main import main

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"


def test_attributes_are_the_declared_settings() -> None:
    types = get_type_hints(Settings)
    names = zip(Settings.__struct_encode_fields__, Settings.__struct_fields__, strict=True)
    attributes = {name: types[attribute] for name, attribute in names}
    assert attributes == {name: type(declared.default) for name, declared in DECLARATIONS.items()}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_declaration_is_consistent(name: str) -> None:
    declared = DECLARATIONS[name]
    assert declared.parse(str(declared.default)) == declared.default
    assert (declared.type in {"choice", "operators"}) == bool(declared.choices)
    assert (declared.type in {"int", "bytes", "duration"}) == (declared.min is not None and declared.max is not None)
    assert declared.doc.endswith(".")


def test_absent_settings_get_their_default() -> None:
    parsed = Settings.parse({"maxSegments": "32"})
    assert parsed.max_segments == 32
    assert parsed.overlay_bytes == DECLARATIONS["overlayBytes"].default
    assert parsed.backend == "hashmap"


@pytest.mark.parametrize("text", ["64m", "64M", "64MB", "64 mb", " 65536k ", "67108864", "67108864b"])
def test_sizes_have_units(text: str) -> None:
    assert Settings.parse({"overlayBytes": text}).overlay_bytes == 64 << 20


@pytest.mark.parametrize("text", ["2h", "120m", "7200s", "7200", " 2 H "])
def test_durations_have_units(text: str) -> None:
    assert Settings.parse({"ttl": text}).ttl == 7200


@pytest.mark.parametrize("text", ["", "dedupe", "stateStoreSave, 7", " symmetricHashJoin ,,0"])
def test_operators_have_names_and_numbers(text: str) -> None:
    assert Settings.parse({"ttlOperators": text}).ttl_operators == text.strip()


@pytest.mark.parametrize("name", ["memoryBudget", "diskBudget"])
def test_a_budget_holds_a_few_blocks(name: str) -> None:
    for enough in ({name: "0"}, {name: "64m"}, {name: "1m", "blockBytes": "128k"}):
        Settings.parse(enough)
    message = rf"{name} is too small for blocks of 8388608 bytes \(expected 67108864 bytes or more, found 67107840\)"
    with pytest.raises(SettingError, match=message):
        Settings.parse({name: "65535k"})


@settings(deadline=None)
@given(st.integers(DECLARATIONS["maxParallelism"].min, DECLARATIONS["maxParallelism"].max))
def test_whole_numbers_within_limits(number: int) -> None:
    assert Settings.parse({"maxParallelism": str(number)}).max_parallelism == number


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("overlayBytes", "64 megabytes"),
        ("overlayBytes", "1.5m"),
        ("overlayBytes", "65535"),
        ("overlayBytes", "2g"),
        ("overlayBytes", "-64m"),
        ("overlayBytes", ""),
        ("maxParallelism", "32769"),
        ("maxParallelism", "-1"),
        ("maxParallelism", "4e3"),
        ("maxParallelism", "٣"),
        ("ttlOperators", "dedupe, statestoresave"),
        ("ttlOperators", "globalLimit"),
        ("ttlOperators", "-1"),
        ("ttl", "1w"),
        ("ttl", "-1s"),
        ("ttl", "36501d"),
        ("compression", "gzip"),
        ("backend", "HashMap"),
    ],
)
def test_wrong_values_are_named(name: str, text: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.parse({name: text})
    for part in (PREFIX + name, repr(text), declaration(name).expected, repr(declaration(name).default)):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("overlaybytes", "overlayBytes"),
        ("max_segments", "maxSegments"),
        ("compresion", "compression"),
        ("pyhton", "python"),
    ],
)
def test_unknown_names_get_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(SettingError, match=rf"\b{name} is not a setting: did you mean \S+\.{nearest}\?"):
        Settings.parse({name: "1"})


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_unknown_name_is_a_setting_error(name: str) -> None:
    if name not in DECLARATIONS:
        with pytest.raises(SettingError):
            declaration(name)


def test_reference_is_current() -> None:
    assert CliRunner().invoke(main, ["settings"]).output == DOCS.read_text(encoding="utf-8"), "run `make docs`"
