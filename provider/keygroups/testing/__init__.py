"""Runs a keyed function without Spark, for tests of the function."""

from keygroups.testing.harness import KeyedHarness
from keygroups.testing.snapshots import Snapshot

__all__ = ["KeyedHarness", "Snapshot"]
