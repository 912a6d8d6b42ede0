"""Stores that share files, merge, clean up, restart and become other stores, in any order, against a dict."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from support.everyday import examples
from support.local_store import rows_of
from support.shared_operator import Operator, latest, upload_merges

ROWS = st.dictionaries(st.integers(0, 60), st.none() | st.integers(0, 100), min_size=1, max_size=15)


class Sharing(RuleBasedStateMachine):
    """An operator under every order of batches, merges and rescales."""

    @initialize()
    def open(self) -> None:
        """Begin with two stores, and a batch: a rescale needs one."""
        self.folder = Path(mkdtemp())
        self.operator = Operator(self.folder)
        self.operator.write({1: 1, 2: 2})

    def teardown(self) -> None:
        """Delete all files."""
        shutil.rmtree(self.folder)

    @rule(rows=ROWS)
    def commit(self, rows: dict[int, int | None]) -> None:
        """Write keys, and remove those that exist."""
        self.operator.write({k: v for k, v in rows.items() if v is not None or k in self.operator.model})

    @rule(stores=st.integers(1, 5), strange=st.booleans())
    def rescale(self, stores: int, strange: bool) -> None:
        """Other stores go on, by Spark's rule where it is one of key groups, or with any key groups."""
        self.operator.rescale(lambda group: str((group * 7919 % 31 if strange else group) % stores))

    @rule(pieces=st.integers(1, 4))
    def merge(self, pieces: int) -> None:
        """Do some pieces of what is due, and upload them."""
        for local in self.operator.stores.values():
            local.merge_few_rows()
            upload_merges(local, pieces)

    @rule()
    def restart(self) -> None:
        """Load the versions from the checkpoint."""
        self.operator.restart()

    @rule(retain=st.integers(1, 2))
    def clean_up(self, retain: int) -> None:
        """Delete what retention allows: nothing that any store needs."""
        self.operator.clean_up(retain)

    @rule()
    def read(self) -> None:
        """Others read the same, a stranger's reader too."""
        self.operator.check()

    @invariant()
    def rows_are_those_of_the_model(self) -> None:
        """Each store has its rows, and no others."""
        if not hasattr(self, "operator"):
            return
        for name, local in self.operator.stores.items():
            assert rows_of(local.store.known(latest(local).key)) == self.operator.rows(name)


TestSharing = Sharing.TestCase
TestSharing.settings = settings(deadline=None, stateful_step_count=25, max_examples=examples(5, 30))
