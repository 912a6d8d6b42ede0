"""Forged files of format 2 under checksums that fit: each is refused by name, and before it costs memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct

import msgspec
import pyarrow as pa
import pytest

from campaigns.fuzz.samples import encoder
from keygroups.checkpoint.manifest import BlockRef, FileRef, Part, read_manifest
from keygroups.columns.kinds import Field, fields_of
from keygroups.columns.rows import columns_type, to_rows
from keygroups.columns.stored_keys import KeyForm
from keygroups.errors import CheckpointError
from keygroups.runs.run import Plan, durable_files
from keygroups.segment.ipc_messages import read_batch, read_schema
from keygroups.segment.span import Span
from keygroups.store.version import Version, VersionKey
from support import forged_batch
from support.local_store import LocalStore, rows_of

KEY = '{"fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]}'
replace = msgspec.structs.replace


@pytest.fixture
def local(tmp_path: Path) -> LocalStore:
    """An empty store."""
    return LocalStore(tmp_path)


@pytest.mark.parametrize("kind", ["void", "boolean"])
def test_columns_that_take_no_room_in_a_file_cannot_ask_for_memory(kind: str) -> None:
    """Each is a word of each row."""
    (field,) = fields_of(f'{{"fields": [{{"name": "a", "type": "{kind}"}}]}}') or ()
    fields = tuple(Field(str(number), field.kind) for number in range(100))
    columns = pa.StructArray.from_arrays([pa.nulls(1 << 17, field.kind.shown)] * 100, list(map(str, range(100))))
    with pytest.raises(ValueError, match="131072 rows of 100 columns are too many"):
        to_rows(columns, fields)


@pytest.mark.parametrize("ordinals", [[0] * 200, [0, 0], [2], [-1], [1], []])
def test_keys_sorted_by_columns_that_cannot_be_are_not_columns(ordinals: list[int]) -> None:
    """By one twice, by one that is not there, by a text, by none: Spark has no such keys."""
    assert KeyForm.of(KEY, encoder("RangeKeyScan", orderingOrdinals=[0])).fields is not None
    assert KeyForm.of(KEY, encoder("RangeKeyScan", orderingOrdinals=ordinals)).fields is None


@pytest.mark.parametrize("kind", ["TimestampAsPrefixKey", "TimestampAsPostfixKey"])
def test_a_text_is_no_timestamp(kind: str) -> None:
    assert KeyForm.of(KEY, encoder(kind)).fields is None


@pytest.mark.parametrize("prefix", [-1, 3])
def test_a_prefix_has_columns_of_the_key(prefix: int) -> None:
    assert KeyForm.of(KEY, encoder("PrefixKeyScan", numColsPrefixKey=2)).fields is not None
    assert KeyForm.of(KEY, encoder("PrefixKeyScan", numColsPrefixKey=prefix)).fields is None


@pytest.mark.parametrize("text", ['{"keyStateEncoderType": 5}', "[]", "{", '{"orderingOrdinals": 7}'])
def test_an_encoder_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an encoder of Spark"):
        KeyForm.of(KEY, text)


@pytest.mark.parametrize(
    ("offset", "length"), [(0, 1 << 40), (0, 1 << 62), ((1 << 63) - 2000, 100), ((1 << 63) - 1, 1 << 62)]
)
def test_a_block_lies_in_its_file(local: LocalStore, offset: int, length: int) -> None:
    """Its length would be allocated before anything is read."""
    version = local.write(local.first(), {1: 1, 2: 2}, 2)
    forge(local, version, lambda block: replace(block, offset=offset, length=length))
    local.reopened()
    with pytest.raises(CheckpointError, match=rf"can't be read \(path {path_of(version)}, found a block that ends at"):
        local.load(version)


def test_more_rows_than_a_file_has_are_not_in_memory_either(local: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another version has in memory is not read again."""
    first = local.write(local.first(), {1: 1, 2: 2}, 2)

    def forged(plan: Plan) -> Sequence[FileRef]:
        return [replace(ref, rows=9, span=Span(0, 8)) for ref in durable_files(plan)]

    with monkeypatch.context() as patch:
        patch.setattr("keygroups.store.checkpoint_writer.durable_files", forged)
        second = local.write(first, {3: 3}, 3)
    local.store.forget(second.key)
    with pytest.raises(CheckpointError, match=rf"damaged.*{path_of(first)}.* 9 rows, found .* 2 rows"):
        local.load(second)
    assert rows_of(local.load(first)) == {1: 1, 2: 2}


def test_the_error_of_a_damaged_file_of_format_1_is_its_own(local: LocalStore) -> None:
    """Not that there is none of format 2."""
    key = VersionKey(3, f"{7:032x}")
    (local.checkpoint / f"v{3:020d}_{7:032x}.arrow").write_bytes(b"ARROW1\0\0damaged, but here")
    with pytest.raises(CheckpointError, match=rf"can't be read \(path 0/v{3:020d}_{7:032x}.arrow,"):
        local.call(lambda downloads: local.store.load(key, downloads))


def test_a_schema_of_big_endian_columns_is_refused() -> None:
    """Arrow's stream reader would turn the numbers of its batches around; a reader of single batches would not."""
    head = bytearray(pa.schema({"a": pa.int64()}).serialize())
    assert read_schema(pa.BufferReader(bytes(head))).names == ["a"]

    def number(kind: str, at: int) -> int:
        return int(Struct(kind).unpack_from(head, at)[0])

    root = 8 + number("<I", 8)  # behind the prefix; the header is slot 2 of the message, the byte order slot 0 of it
    pointer = root + number("<H", root - number("<i", root) + 4 + 2 * 2)
    header = pointer + number("<I", pointer)
    order = next(at for at in range(4, 64) if number("<H", header + at) == 1)
    Struct("<H").pack_into(head, header - number("<i", header) + 4, order)
    with pytest.raises(ValueError, match="big-endian"):
        read_schema(pa.BufferReader(bytes(head)))


@pytest.mark.parametrize("what", [*([count] for count in forged_batch.COUNTS), forged_batch.COUNTS], ids=", ".join)
def test_a_negative_number_of_rows_is_refused(what: Sequence[str]) -> None:
    """Arrow ends the process when it slices the child of a struct that has one."""
    schema = forged_batch.BATCH.schema
    assert read_batch(pa.py_buffer(forged_batch.stating(forged_batch.ROWS)), schema) == forged_batch.BATCH
    with pytest.raises(ValueError, match="rows and 0 nulls in a batch of"):
        read_batch(pa.py_buffer(forged_batch.stating(4 - 2**40, *what)), schema)


def forge(local: LocalStore, version: Version, change: Callable[[BlockRef], BlockRef]) -> None:
    """Give the only block of a version's file another place in its manifest."""
    assert version.file is not None
    path = local.checkpoint / str(version.file.name)
    with pa.OSFile(str(path)) as source:
        schema = read_schema(source)
        body = path.read_bytes()[source.tell() :]
    manifest = replace(read_manifest(path, path.name), checksum="")
    (part,) = manifest.parts
    head, _ = replace(manifest, parts=(Part(part.family, part.offset, [change(part.blocks[0])]),)).head()
    path.write_bytes(bytes(schema.with_metadata(head).serialize()) + body)


def path_of(version: Version) -> str:
    """The path of a version's file, as errors have it."""
    assert version.file is not None
    return f".*{version.file.name}"


def test_equal_names_are_told_apart_in_one_pass() -> None:
    """Names that many others get first are no reason to try them all again."""
    names = [f"a_{number}" for number in range(2, 20_000)]
    (field,) = fields_of('{"fields": [{"name": "a", "type": "void"}]}') or ()
    fields = tuple(Field(name, field.kind) for name in [*names, *["a"] * 20_000])
    found = [field.name for field in columns_type(fields)]
    assert len(set(found)) == len(found)
    assert found[-20_000:] == ["a", *(f"a_{number}" for number in range(20_000, 39_999))]
