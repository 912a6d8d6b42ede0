"""What a commit leaves behind when its files can't be written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from keygroups.checkpoint.catalog import Catalog, Family
from keygroups.checkpoint.names import new_name
from keygroups.runs.local import LocalRuns
from keygroups.segment.chunk import HEADER, Chunk
from keygroups.store.checkpoint_writer import CheckpointWriter
from keygroups.store.commit_files import CommitWriter
from keygroups.store.spec import StoreSpec
from keygroups.store.version import Version, VersionKey
from keygroups.store.writes import Writes

NO_COLUMNS = '{"fields": []}'
CATALOG = Catalog((Family(id=0, name="default", key_schema=NO_COLUMNS, value_schema=NO_COLUMNS, encoder="{}"),), 1)


def chunk(path: Path) -> Chunk:
    """A chunk of one row of 8 bytes key and value."""
    header = np.zeros(1, HEADER)
    header["key_bytes"] = header["value_bytes"] = 8
    path.write_bytes(header.tobytes() + bytes(16))
    return Chunk(family=0, path=str(path), rows=1, key_bytes=8, value_bytes=8)


@pytest.mark.parametrize("logs", [True, False])
def test_a_failed_commit_leaves_no_chunk(tmp_path: Path, *, logs: bool) -> None:
    """Neither those of the rows nor those of the changelog, whichever file it is that can't be written."""
    (local := tmp_path / "local").mkdir()
    checkpoint = CheckpointWriter(StoreSpec("state/0", "0", 1), "none", tmp_path / "nowhere")
    writer = CommitWriter(LocalRuns(local, 2**23), checkpoint, 2**25)
    changelog = [chunk(tmp_path / "changelog.chunk")] if logs else []
    writes = Writes((), [chunk(tmp_path / "rows.chunk")], 0, changelog)
    with pytest.raises(FileNotFoundError):
        writer.write(new_name("version", 1), writes, CATALOG, Version(VersionKey(0), None, Catalog(), 128, ()))
    assert not list(tmp_path.glob("*.chunk"))
    assert not list(local.iterdir())
