"""Rows of a column family, as files of the checkpoint hold them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import xxhash

from campaigns.fuzz.samples import column, encoder, schema
from campaigns.fuzz.unsafe import packed
from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.names import FileName
from keygroups.segment.block import Block
from support.checkpoint_files import restore, write

FAMILY = Family(0, "f", schema("integer", "long"), schema("long"), encoder("PrefixKeyScan", numColsPrefixKey=1))


def test_a_key_with_other_bytes_than_its_columns_keeps_its_locator(tmp_path: Path) -> None:
    """The high half of an integer's word means nothing, and the locator is that of the prefix without it."""
    rows = []
    for number in range(20):
        rest = 7 << 32 if number == 10 else 0
        locator = xxhash.xxh64_intdigest(packed(number)) >> 16
        rows.append((locator, struct.pack("<QQQ", 0, number | rest, number)))
    locators, keys = zip(*sorted(rows), strict=True)
    assert keys[0][12:16] == keys[-1][12:16] == bytes(4)
    groups = np.zeros(len(rows), np.uint16)
    block = Block(np.array(locators, np.uint64), groups, column(keys), column([packed(1)] * len(rows)))
    path, ref = write(tmp_path, [block], Catalog((FAMILY,), 1), FileName("version", 1, f"{1:032x}"))
    (found,) = restore(tmp_path, path, ref).blocks
    assert found.batch().to_pylist() == block.batch().to_pylist()
