"""``keygroups settings``: print the reference of the settings."""

from __future__ import annotations

import click

from keygroups.settings import DECLARATIONS, PREFIX, Declaration

_PAGE = """\
# Settings

Every setting begins with `{prefix}`, for example:

```text
--conf {prefix}overlayBytes=128m
```

`keygroups.configure` and `keygroups conf --set` take the names without this prefix. An unknown name is an error.
Sizes are in bytes and may end in `k`, `m` or `g` (1 `k` is 1024).

| Setting | Default | Allowed | What it does |
| --- | --- | --- | --- |
{rows}

<!-- Written by `make docs` from provider/keygroups/settings.json. -->"""

_UNITS = ((30, "g"), (20, "m"), (10, "k"), (0, ""))


@click.command()
def settings() -> None:
    """Print the reference of the settings, in Markdown."""
    click.echo(_PAGE.format(prefix=PREFIX, rows="\n".join(map(_row, DECLARATIONS.values()))))


def _row(declared: Declaration) -> str:
    default = f"`{_shown(declared, declared.default)}`" if declared.default != "" else "empty"
    return f"| `{declared.name}` | {default} | {_allowed(declared)} | {declared.doc} |"


def _allowed(declared: Declaration) -> str:
    if declared.choices:
        return ", ".join(f"`{choice}`" for choice in declared.choices)
    if isinstance(declared.default, str):
        return "text"
    return f"{_shown(declared, declared.min)} to {_shown(declared, declared.max)}"


def _shown(declared: Declaration, value: int | str | None) -> str:
    if declared.type == "duration" and isinstance(value, int) and value:
        return f"{value // 86400}d"
    if declared.type != "bytes" or not value or not isinstance(value, int):
        return "any" if value is None else str(value)
    power, unit = next((power, unit) for power, unit in _UNITS if value % (1 << power) == 0)
    return f"{value >> power}{unit}"
