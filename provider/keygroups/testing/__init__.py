"""Runs a keyed function without Spark, for tests of the function."""

from keygroups.testing.harness import KeyedHarness, Snapshot

__all__ = ["KeyedHarness", "Snapshot"]
