"""The Python readers, each as a function of one input: how it ends, or an exception that it must not end with."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import xxhash

from fuzz import samples
from fuzz.mutate import mutated, mutated_json
from keygroups.backend.hashmap import HashMapBackend
from keygroups.checkpoint.manifest import decode, read_manifest
from keygroups.checkpoint.row_check import RowCheck
from keygroups.errors import CheckpointError, SettingError, VersionError
from keygroups.segment.file import Segment
from keygroups.segment.restore import restore_segment
from keygroups.settings import Settings
from keygroups.store.fetched import Fetched
from keygroups.store.load import Loader
from keygroups.store.spec import Listed, StoreSpec, VersionKey, Wanted

NAME = "0/the-file"
KEY, CHECKSUM = b"keygroups.manifest", b"keygroups.manifest.checksum"
Target = Callable[[random.Random], str]


class Forged(str):
    """A checksum that fits every file: who can write a file can write its checksum too."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)

    def __hash__(self) -> int:
        return 0


def targets(folder: Path) -> dict[str, Target]:
    """A function for each reader; each takes an input from the generator that it is given."""
    files, store = samples.files(folder), samples.store(folder)
    texts = [sample.manifest.metadata()[KEY] for sample in store.values()]
    return {
        "manifest": lambda rng: manifest(rng, texts),
        "head": lambda rng: head(rng, files, folder),
        "restore": lambda rng: restore(rng, files, folder),
        "load": lambda rng: load(rng, store, folder),
    }


def ending(read: Callable[[], object]) -> str:
    """``read`` or the class of a refusal that names the file; anything else is raised."""
    try:
        read()
    except (CheckpointError, VersionError, SettingError) as error:
        if "0/" not in str(error):
            raise AssertionError(f"the file is not named: {error}") from error
        return type(error).__name__
    return "read"


def manifest(rng: random.Random, texts: list[bytes]) -> str:
    """A mutated manifest under a checksum that fits."""
    text = mutated_json(rng.choice(texts), rng) if rng.random() < 0.8 else mutated(rng.choice(texts), rng)
    checksum = xxhash.xxh3_128(text).hexdigest().encode()
    return ending(lambda: decode({KEY: text, CHECKSUM: checksum}, NAME))


def head(rng: random.Random, files: list[samples.Sample], folder: Path) -> str:
    """The manifest of a file with mutated bytes."""
    path = folder / "head"
    path.write_bytes(mutated(rng.choice(files).data[:8192], rng))
    return ending(lambda: read_manifest(path, NAME))


def restore(rng: random.Random, files: list[samples.Sample], folder: Path) -> str:
    """The rows of a file, with mutated bytes or with other columns, under a checksum that fits."""
    sample = rng.choice(files)
    path = folder / "file"
    path.write_bytes(mutated(sample.data, rng) if rng.random() < 0.6 else reshaped(sample.data, rng))

    def read() -> None:
        check = RowCheck(samples.CATALOG)
        segment = restore_segment(folder, path, NAME, Forged(), check=check)
        assert_readable(segment)

    return ending(read)


def reshaped(data: bytes, rng: random.Random) -> bytes:
    """The file written anew with mutated buffers, which Arrow does not look at, or with other columns."""
    table = ipc.open_file(pa.BufferReader(data)).read_all()
    batches = table.to_batches()
    if rng.random() < 0.3:
        batches = [_rearranged(batch, rng) for batch in batches][:1]
    else:
        batches = [_mutated_column(batch, rng) for batch in batches]
    if rng.random() < 0.1:
        rng.shuffle(batches)
    sink = pa.BufferOutputStream()
    codec = rng.choice(("zstd", "lz4", None))
    with ipc.new_file(sink, batches[0].schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def _mutated_column(batch: pa.RecordBatch, rng: random.Random) -> pa.RecordBatch:
    """Other bytes in one buffer, of the same length."""
    columns = [pa.concat_arrays([c]) if c.offset else c for c in batch.columns]
    at = rng.randrange(len(columns))
    buffers = columns[at].buffers()
    which = rng.randrange(len(buffers))
    if buffers[which] is not None and buffers[which].size:
        old = bytes(buffers[which])
        buffers[which] = pa.py_buffer(mutated(old, rng).ljust(len(old), b"\0")[: len(old)])
        with suppress(pa.ArrowInvalid):  # what is seen here is also to be seen in an uncompressed file
            columns[at] = pa.Array.from_buffers(columns[at].type, len(batch), buffers)
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _rearranged(batch: pa.RecordBatch, rng: random.Random) -> pa.RecordBatch:
    """Columns of other types, names or order."""
    columns, names = list(batch.columns), list(batch.schema.names)
    at, other = rng.randrange(len(columns)), rng.randrange(len(columns))
    what = rng.randrange(5)
    if what == 0:
        columns[at] = pa.array(
            [None] * len(batch), rng.choice((pa.null(), pa.string(), pa.large_binary(), pa.list_(pa.int8())))
        )
    elif what == 1:
        names[at], names[other] = names[other], names[at]
    elif what == 2:
        columns[at], columns[other] = columns[other], columns[at]
    elif what == 3:
        del columns[at], names[at]
    else:
        columns[at] = (
            columns[at].dictionary_encode() if rng.random() < 0.5 else pa.StructArray.from_arrays([columns[at]], ["x"])
        )
    return pa.RecordBatch.from_arrays(columns, names=names)


def assert_readable(segment: Segment) -> None:
    """What the JVM reads by address lies inside of the file, and ascends."""
    for block, layout in zip(segment.blocks, segment.layout, strict=True):
        rows = layout.rows
        spans = [(layout.locator, 8 * rows), (layout.hash, 4 * rows), (layout.key_data, layout.key_bytes)]
        spans += [(layout.value_data, layout.value_bytes)] if layout.value_bytes else []
        assert all(0 <= at <= at + size <= segment.nbytes for at, size in spans), (
            f"a layout outside of the file: {layout}"
        )
        assert bool((block.locator[1:] >= block.locator[:-1]).all())
        block.key.validate(full=True)
        block.value.validate(full=True)


def load(rng: random.Random, store: dict[str, samples.Sample], folder: Path) -> str:
    """Version 4 of a store, of which one or two files are mutated, or carry mutated manifests that fit."""
    files = {path: sample.data for path, sample in store.items()}
    for path in rng.sample(sorted(files), rng.choice((1, 1, 2))):
        what = rng.random()
        if what < 0.7:
            files[path] = with_manifest(files[path], mutated_json(store[path].manifest.metadata()[KEY], rng))
        elif what < 0.9:
            files[path] = mutated(files[path], rng)
        else:
            del files[path]
    return ending(lambda: _load(files, folder))


def with_manifest(data: bytes, text: bytes) -> bytes:
    """The file with another manifest under a checksum that fits."""
    reader = ipc.open_file(pa.BufferReader(data))
    metadata = {KEY: text, CHECKSUM: xxhash.xxh3_128(text).hexdigest().encode()}
    sink = pa.BufferOutputStream()
    with ipc.new_file(
        sink, reader.schema.with_metadata(metadata), options=ipc.IpcWriteOptions(compression="zstd")
    ) as writer:
        for number in range(reader.num_record_batches):
            writer.write_batch(reader.get_batch(number))
    return bytes(sink.getvalue())


def _load(files: dict[str, bytes], folder: Path) -> None:
    """Load as the bridge does: bring what is wanted and call again."""
    place = folder / "fetched"
    place.mkdir(exist_ok=True)
    backend = HashMapBackend(folder, Settings.parse({}))
    loader = Loader(StoreSpec("0/", "0", 1), 0, backend, lambda _ref, _catalog: None)
    listing = [Listed(path.rpartition("/")[2], 1, len(data)) for path, data in files.items()]
    missing: set[str] = set()
    fetched = Fetched(place)
    try:
        for _ in range(100):
            fetched = Fetched(place, frozenset(missing))
            try:
                version = loader.load(VersionKey(4), listing, fetched)
            except Wanted as wanted:
                missing |= _bring(wanted, files, fetched)
                continue
            for run in version.plan:
                assert_readable(run.segment)
            return
        raise AssertionError("files are wanted again and again")
    finally:
        fetched.discard(head=False)


def _bring(wanted: Wanted, files: dict[str, bytes], fetched: Fetched) -> set[str]:
    """Bring files; those that are not there."""
    for path in wanted.files:
        if path in files:
            target = fetched.path_of(path)
            assert target.parent.samefile(fetched.path_of("x").parent), f"a file outside of the folder: {path}"
            target.write_bytes(files[path])
    return {path for path in wanted.files if path not in files}
