"""Loans: files of a store that versions of other stores of the operator list.

A file is deleted by the cleanup of the store in whose folder it lies, and by no other. That one looks into other
stores' folders only if its own has a loan: a file ``l<version, 20 digits>_<xxh3-128 of its bytes>.json``. Whoever
writes manifests that list another store's files writes the loan first. ``<version>`` is the version that the borrowers
begin with.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import xxhash

from keygroups import decoding
from keygroups.checkpoint.names import is_store, parse_name
from keygroups.errors import CheckpointError
from keygroups.segment.restore import FIX, reading

_NAME = re.compile(r"l([0-9]{20})_([0-9a-f]{32})\.json")


class Loan(msgspec.Struct, frozen=True):
    """What a store has lent.

    Attributes:
        files: names in its folder.
        stores: the borrowers, ``<partition>[/<store>]``.
    """

    files: frozenset[str]
    stores: frozenset[str]


def loan_file(loan: Loan, version: int) -> tuple[str, bytes]:
    """Name and content of the file to put into the lender's folder.

    Args:
        loan: what is lent.
        version: the first of the borrowers' that lists it.
    """
    content = msgspec.json.encode({"files": sorted(loan.files), "stores": sorted(loan.stores)})
    return f"l{version:020d}_{xxhash.xxh3_128_hexdigest(content)}.json", content


def loan_version(name: str) -> int | None:
    """The version that the borrowers of a loan begin with, or None if this is no name of a loan."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def read_loan(path: Path, name: str) -> Loan:
    """Read a downloaded loan.

    Args:
        path: the local copy.
        name: in the checkpoint, with its folders.

    Raises:
        CheckpointError: it is damaged, or names what is no file or no store.
    """
    with reading(name):
        content = path.read_bytes()
        expected, found = name[-37:-5], xxhash.xxh3_128_hexdigest(content)
        if expected != found:
            raise CheckpointError(
                "a file of the checkpoint is damaged", path=name, expected=expected, found=found, fix=FIX
            )
        try:
            loan = decoding.decode(content, Loan)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(f"not a loan: {error}") from error
        if not all(map(parse_name, loan.files)) or not all(map(is_store, loan.stores)):
            raise ValueError("a loan of what is no file, or to what is no store")
    return loan
