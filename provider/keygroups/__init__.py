"""Keygroups: Flink's state, on Spark Structured Streaming.

``configure(SparkSession.builder)`` switches the provider on; on a cluster, ``keygroups conf`` prints what does.
``key_by`` gives a DataFrame's rows to functions with keyed state.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from keygroups._version import __version__
from keygroups.configure import configure, jar_path

if TYPE_CHECKING:
    from keygroups.streams import key_by, main_output, side_output

__all__ = ["__version__", "configure", "jar_path", "key_by", "main_output", "side_output"]


def __getattr__(name: str) -> Any:
    """Import what needs Spark when it is asked for: the store process has none."""
    if name in ("key_by", "main_output", "side_output"):
        return getattr(import_module("keygroups.streams"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
