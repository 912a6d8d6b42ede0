"""Stores that share files: two stores become four or three by manifests alone, go on, merge and clean up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from keygroups.checkpoint.loans import Loan, loan_file, read_loan
from keygroups.errors import CheckpointError
from keygroups.runs.run import pieces_of
from support.everyday import seldom
from support.local_store import catalog, rows_of
from support.shared import filtered, lend, listed, put_version, ranges_of, shares
from support.shared_operator import G, Operator, group_of, latest, opened, upload_merges

FIRST = 8
"""The version that the new stores begin with."""
NEW_STORES: dict[str, Callable[[int], str]] = {
    "4": lambda group: str(group % 4),
    "3": lambda group: str(group * 3 // G),
    "5 at random": lambda group: str(group * 7919 % 31 % 5),
    "1": lambda _: "0",
}
EVERYDAY = ("3", "5 at random")


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    """Two stores with rows in runs, and one merge that is half done."""
    operator = Operator(tmp_path)
    for version in range(1, FIRST):
        rows: dict[int, int | None] = dict.fromkeys(range(version * 20, version * 20 + 40), version)
        operator.write(rows | {key: None for key in (version * 20 - 5, version * 20 - 6) if key in operator.model})
        for store in operator.stores.values():
            store.merge_few_rows()
            upload_merges(store, version % 3)
    return operator


@pytest.mark.parametrize("stores", [name if name in EVERYDAY else seldom(name) for name in NEW_STORES])
def test_stores_are_re_expressed_by_manifests(operator: Operator, stores: str) -> None:
    """No row is written anew until they merge; then each has files of its own, and the shared ones go."""
    operator.check()
    refs = {ref.path for local in operator.stores.values() for ref in listed(local, latest(local))}
    before = {operator.folder / "checkpoint" / path for path in refs}
    operator.rescale(NEW_STORES[stores])
    operator.check()
    for batch in range(4):
        operator.write(dict.fromkeys(range(batch, 300, 11), 100 + batch) | {30 + batch: None})
        operator.clean_up(retain=1)
        for local in operator.stores.values():
            upload_merges(local, 2 * batch)
        operator.clean_up(retain=1)
        operator.check()
    if len(operator.stores) > 1:
        assert before & operator.files()
        for local in operator.stores.values():
            upload_merges(local)
        for _ in range(3):
            operator.write(dict.fromkeys(range(10), 7))
            operator.clean_up(retain=1)
        assert not before & operator.files()
        assert not list((operator.folder / "checkpoint").glob("*/l*"))
    operator.check()


def test_stores_are_re_expressed_again_before_they_merge(operator: Operator) -> None:
    """Filters of filters, and of parts of files; the same file twice in one version."""
    operator.rescale(NEW_STORES["5 at random"])
    operator.rescale(NEW_STORES["3"])
    operator.check()
    paths = [[ref.path for ref in listed(local, latest(local))] for local in operator.stores.values()]
    assert any(len(found) > len(set(found)) for found in paths)
    for _ in range(4):
        operator.write(dict.fromkeys(range(0, 200, 3), 9))
        for local in operator.stores.values():
            upload_merges(local)
        operator.clean_up(retain=1)
        operator.check()


def test_a_store_lists_a_shared_file_until_its_own_is_uploaded(operator: Operator) -> None:
    """The same reference again: filter, span and run."""
    operator.rescale(NEW_STORES["4"])
    local = operator.stores["3"]
    before = local.manifest(latest(local)).segments
    assert all(ref.key_groups == ranges_of(range(3, G, 4)) for ref in before)
    operator.write({3: 1})
    again = local.manifest(latest(local)).segments
    assert [ref for ref in before if ref in again or ref.following(follows=False) in again] == list(again)
    upload_merges(local)
    operator.write({3: 2})
    assert all(ref.store == "3" and ref.key_groups is None for ref in local.manifest(latest(local)).segments)


def test_nothing_else_is_listed_where_nothing_is_lent(operator: Operator) -> None:
    """A cleanup costs what it did."""
    for _ in range(3):
        operator.write({1: 1, 2: 2})
        operator.clean_up(retain=1)
    assert all(set(local.listed) == {name} for name, local in operator.stores.items())


def test_what_is_lent_to_a_store_that_never_begins_is_kept_for_a_while(operator: Operator) -> None:
    """A rescale that ended between its loans and its manifests: until nobody could begin any more."""
    lender = operator.stores["0"]
    refs = listed(lender, latest(lender))
    lend(lender.operator, "2", refs, FIRST)
    lent = {lender.operator / ref.path for ref in refs}
    for version in range(FIRST, FIRST + 5):
        operator.write(dict.fromkeys(operator.model, version))
        upload_merges(lender)
        operator.clean_up(retain=1)
        assert (lent <= operator.files()) == (version <= FIRST + 1)
    assert not lent & operator.files()
    assert not list(lender.checkpoint.glob("l*"))


def test_a_borrower_that_is_gone_needs_nothing(operator: Operator) -> None:
    """Its folder stays as it was, and the others go on."""
    lender = operator.stores["0"]
    refs = listed(lender, latest(lender))
    lend(lender.operator, "2", refs, FIRST)
    put_version(lender.operator, "2", 2, [ref for ref in refs if ref.rows], catalog(1), FIRST, G)
    for _ in range(5):
        operator.write(dict.fromkeys(operator.model, 5))
        upload_merges(lender)
        operator.clean_up(retain=1)
    assert not {lender.operator / ref.path for ref in refs} & operator.files()
    assert list((lender.operator / "2").iterdir())


def test_a_damaged_loan_deletes_nothing(operator: Operator) -> None:
    lender = operator.stores["0"]
    name, content = loan_file(Loan(frozenset({"v" + "1" * 20 + "_" + "a" * 32 + ".arrows"}), frozenset({"1"})), FIRST)
    for at in range(len(content)):
        (lender.checkpoint / name).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(CheckpointError, match=f"damaged.*0/{name}"):
            read_loan(lender.checkpoint / name, f"0/{name}")
    operator.write(dict.fromkeys(operator.model, 5))
    upload_merges(lender)
    operator.write({1: 1, 2: 2})
    with pytest.raises(CheckpointError, match="damaged"):
        lender.clean_up(0)


@pytest.mark.parametrize("loan", [Loan(frozenset({"x"}), frozenset({"1"})), Loan(frozenset(), frozenset({"../1"}))])
def test_a_forged_loan_is_refused(tmp_path: Path, loan: Loan) -> None:
    """No folder outside of the operator's is listed."""
    name, content = loan_file(loan, FIRST)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=f"can't be read.*0/{name}"):
        read_loan(tmp_path / name, f"0/{name}")


def test_loads_of_a_shared_file_are_not_taken_for_each_other(operator: Operator) -> None:
    """Both ways to list a file, in one process: all of it in one version, some of it in the next."""
    lender = operator.stores["0"]
    refs = [ref for ref in listed(lender, latest(lender)) if ref.rows]
    half = shares({"0": refs}, {"0": frozenset(range(0, G, 2))}, lambda g: str(g % 4), G)["2"]
    key = put_version(lender.operator, "0", 2, half, catalog(1), FIRST, G)
    some = operator.load(lender, key)
    wanted = {k: v for k, v in operator.rows("0").items() if group_of(k) % 4 == 2}
    assert rows_of(some) == wanted
    assert {piece.segment.id for piece in pieces_of(operator.load(lender, key).plan)} == {
        piece.segment.id for piece in pieces_of(some.plan)
    }
    all_key = put_version(lender.operator, "0", 2, refs, catalog(1), FIRST + 1, G)
    assert rows_of(operator.load(lender, all_key)) == operator.rows("0")


def test_a_shared_file_has_the_families_of_the_version_that_lists_it(tmp_path: Path) -> None:
    """What was restored of it for another version, which had one family more, is not taken over."""
    lender = opened(tmp_path, "0", 2)
    first = lender.first()
    lender.spill(first, {1000 + number: number for number in range(20)}, save=False, family=1)
    version = lender.write(first, {number: number for number in range(40)}, 40, 2)
    own = frozenset(range(0, G, 2))
    refs = [ref for ref in (filtered(ref, own, range(G)) for ref in listed(lender, version)) if ref is not None]
    lend(lender.operator, "1", refs, FIRST)
    keys = sum(group_of(number) % 2 == 0 for number in range(40))
    key = put_version(lender.operator, "1", 2, refs, catalog(keys, 2), FIRST, G)
    elsewhere, here = opened(tmp_path, "1", 2), opened(tmp_path, "1", 2)
    elsewhere.call(lambda downloads: elsewhere.store.load(key, downloads))
    here.call(lambda downloads: here.store.load(key, downloads))
    dropped = elsewhere.write(elsewhere.store.known(key), {2000: 1}, keys + 1, 1)
    assert len(rows_of(here.load(dropped))) == keys + 1
    merged = here.merge_piece()
    assert merged is not None
    assert merged[1] is not None
