"""Files of the checkpoint made local segments again, after everything in them was checked.

A checkpoint is not trusted: its checksums have no key, so who can write a file can also make them fit. What this lets
through, the JVM reads in place.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from keygroups.errors import CheckpointError
from keygroups.segment.arrays import mask
from keygroups.segment.block import Block, block_schema
from keygroups.segment.file import Segment, write_segment
from keygroups.segment.messages import read_batches, read_schema
from keygroups.segment.rows import update

REQUIRED = ("locator", "h", "key", "value")
OPTIONAL = ("family", "appended", "written")
MAX_LOCATOR = 2**63 - 1

BlockCheck = Callable[[Block], None]
"""Raises ValueError if rows can't be those of their column family."""


def restore_segment(
    folder: Path, source: Path, name: str, expected: str, *, rows: int | None = None, check: BlockCheck | None = None
) -> Segment:
    """Turn a file of the checkpoint into a local segment, if it is whole.

    Args:
        folder: where the local form goes.
        source: the downloaded checkpoint form.
        name: how errors call the file.
        expected: its checksum (see ``SortedRows.checksum``).
        rows: how many it has, None if that is not known.
        check: what else has to hold of each block.

    Raises:
        CheckpointError: the file can't be read, or its rows are not those that were written.
        CapacityError: the local disk is full.
    """
    digest = xxhash.xxh3_128()
    with reading(name):
        file = pa.OSFile(str(source))
    with file:
        with reading(name):
            schema = read_schema(file).remove_metadata()
            check_schema(schema)
        with closing(_read_ahead(read_batches(file, schema), name)) as batches:
            segment = write_segment(folder, schema, _checked(batches, digest, name, check))
    found = digest.hexdigest()
    if (expected, segment.rows if rows is None else rows) != (found, segment.rows):
        raise CheckpointError(
            "a file of the checkpoint is damaged",
            path=name,
            expected=f"{expected} of {'any' if rows is None else rows} rows",
            found=f"{found} of {segment.rows} rows",
            fix="restore the file, or restart from a savepoint",
        )
    return segment


def check_schema(schema: pa.Schema) -> None:
    """Raise ValueError unless the columns are those of a segment, in their order and of their types."""
    names = schema.names
    optional = [name for name in OPTIONAL if name in names]
    if names != [*REQUIRED, *optional]:
        raise ValueError(f"columns {', '.join(names[:16])}")
    types = [schema.field(i).type for i in (2, 3)]
    wanted = block_schema(*types, **{_FLAGS[name]: True for name in optional})
    if not all(map(_is_bytes, types)) or not schema.equals(wanted):
        raise ValueError(f"columns of other types: {schema.to_string(show_schema_metadata=False)[:500]}")


_FLAGS = {"family": "families", "appended": "appended", "written": "written"}


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or (pa.types.is_fixed_size_binary(kind) and kind.byte_width > 0))


def _checked(
    batches: Iterator[pa.RecordBatch], digest: xxhash.xxh3_128, name: str, check: BlockCheck | None
) -> Iterator[Block]:
    """The batches as blocks, of which each has passed all checks; they go into ``digest``."""
    before: Block | None = None
    for batch in batches:
        with reading(name):
            if batch.num_rows == 0:
                continue
            block = _block(batch)
            if before is not None and _edge(before, -1) >= _edge(block, 0):
                raise ValueError("record batches are not in order")
            if check is not None:
                check(block)
        before = block
        update(digest, block)
        yield block


def _block(batch: pa.RecordBatch) -> Block:
    for column, field in zip(batch.columns, batch.schema, strict=True):
        if column.null_count and not field.nullable:
            raise ValueError(f"column {field.name} has {column.null_count} nulls")
    block = Block.of(batch)
    if int(block.locator[-1]) > MAX_LOCATOR or not _ascends(block):
        raise ValueError("rows are not in order")
    return block


def _ascends(block: Block) -> bool:
    low, high = block.locator[:-1], block.locator[1:]
    if bool((low < high).all()):
        return True
    keys = pc.less(block.key.slice(0, len(low)), block.key.slice(1))
    return bool(((low < high) | ((low == high) & mask(keys))).all())


def _edge(block: Block, row: int) -> tuple[int, int]:
    return block.family, int(block.locator[row])


def _read_ahead(batches: Iterator[pa.RecordBatch], name: str) -> Generator[pa.RecordBatch, None, None]:
    """The same batches, each decompressed by another thread while the one before is used."""
    with ThreadPoolExecutor(1) as thread:
        coming: Future[pa.RecordBatch | None] = thread.submit(next, batches, None)
        while True:
            with reading(name):
                batch = coming.result()
            if batch is None:
                return
            coming = thread.submit(next, batches, None)
            yield batch


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Arrow's errors about a file, in our words."""
    try:
        yield
    except (pa.ArrowException, KeyError, EOFError, OSError, ValueError) as error:
        raise CheckpointError(
            "a file of the checkpoint can't be read",
            path=name,
            found=str(error)[:500],
            fix="restore the file, or restart from a savepoint",
        ) from error
