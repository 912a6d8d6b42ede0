"""The suites to run and those left out, as ``suites.json`` lists them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import click

from campaigns.conformance.places import HERE

OURS: Final = "execution.streaming.state.KeyGroupContractSuite"
"""Spark's abstract contract suite, made concrete here: the only suite that is not in Spark's jar."""


@dataclass(frozen=True)
class Suites:
    """What to do with each suite.

    Attributes:
        core: suites that fail first when a provider is wrong: each operator, each kind of state, and the state reader.
        run: suites to run, each with the tests that are excluded: reasons, each with its tests.
        no_store: suites to run that open no store of our provider, each with the reason.
        left_out: suites that are not run, each with the reason.
    """

    run: dict[str, dict[str, list[str]]]
    no_store: dict[str, str]
    left_out: dict[str, str]
    core: tuple[str, ...] = ()

    @classmethod
    def read(cls) -> Suites:
        """Read ``suites.json``."""
        read = json.loads((HERE / "suites.json").read_text())
        left_out = {suite: reason for reason, suites in read["left out"].items() for suite in suites}
        return cls(read["run"], read["no store"], left_out, tuple(read["core"]))

    def require_all(self, spark: set[str]) -> None:
        """Compare with the suites in Spark's jar.

        Raises:
            click.ClickException: a suite is in one of the two only, or is both run and left out.
        """
        known = {*self.run, *self.left_out}
        problems = [f"suites.json does not name {suite}" for suite in sorted(spark - known)]
        problems += [f"Spark has no suite {suite}" for suite in sorted(known - spark - {OURS})]
        problems += [f"{suite} is run and left out" for suite in sorted(set(self.run) & set(self.left_out))]
        problems += [f"{suite} is not run" for suite in sorted({*self.no_store, *self.core} - set(self.run))]
        if problems:
            raise click.ClickException("\n".join(problems))

    def reason(self, suite: str, test: str) -> str:
        """Say why a test is excluded; empty if it is not. An entry that ends in * covers all tests that begin so."""
        for reason, tests in self.run.get(suite, {}).items():
            if any(test == entry or (entry.endswith("*") and test.startswith(entry[:-1])) for entry in tests):
                return reason
        return ""
