"""The Python readers, each as a function of one input: how it ends, or an exception that it must not end with."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import xxhash

from fuzz import samples
from fuzz.forge import CHECKSUM, KEY, Forged, reshaped, with_manifest
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
from keygroups.store.spec import Listed, StoreSpec, Version, VersionKey, Wanted

NAME = "0/the-file"
Target = Callable[[random.Random], str]
Read = Callable[[Loader, VersionKey, list[Listed], Fetched], Version]


def targets(folder: Path) -> dict[str, Target]:
    """A function for each reader; each takes an input from the generator that it is given."""
    files, store = samples.files(folder), samples.store(folder)
    texts = [sample.manifest.metadata()[KEY] for sample in store.values()]
    return {
        "manifest": lambda rng: manifest(rng, texts),
        "head": lambda rng: head(rng, files, folder),
        "restore": lambda rng: restore(rng, files, folder),
        "load": lambda rng: load(rng, store, folder, Loader.load),
        "change": lambda rng: load(rng, store, folder, _change),
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


def _change(loader: Loader, key: VersionKey, listing: list[Listed], fetched: Fetched) -> Version:
    """The writes of a version, as the change feed shows them."""
    return loader.change(key, listing, fetched, writes=True).version


def load(rng: random.Random, store: dict[str, samples.Sample], folder: Path, read: Read) -> str:
    """What is read of version 4 of a store, of which one or two files are mutated, or carry a mutated manifest."""
    files = {path: sample.data for path, sample in store.items()}
    for path in rng.sample(sorted(files), rng.choice((1, 1, 2))):
        what = rng.random()
        if what < 0.7:
            files[path] = with_manifest(files[path], mutated_json(store[path].manifest.metadata()[KEY], rng))
        elif what < 0.9:
            files[path] = mutated(files[path], rng)
        else:
            del files[path]
    return ending(lambda: _load(files, folder, read))


def _load(files: dict[str, bytes], folder: Path, read: Read) -> None:
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
                version = read(loader, VersionKey(4), listing, fetched)
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
