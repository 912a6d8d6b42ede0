"""Which files decide how state is kept, and how fast: results name the newest commit of these."""

from __future__ import annotations

from typing import Final

_PACKAGES: Final = ("bridge", "store", "runs", "checkpoint", "segment")
_MODULES: Final = ("settings.json", "settings.py", "configure.py", "errors.py")

ENGINE: Final = ("jvm-shim", *(f"provider/keygroups/{name}" for name in (*_PACKAGES, *_MODULES)))
"""Git pathspecs: the shim, and what the store process imports."""
