"""Feeds the Python readers, each as a function of one input: how it ends, or an exception that it must not end with."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import xxhash

from campaigns.fuzz import samples
from campaigns.fuzz.forge import AnyNumber, Forged, reshaped, with_manifest
from campaigns.fuzz.judge import Originals, judge_manifest, judge_segment
from campaigns.fuzz.mutate import mutated, mutated_json
from campaigns.fuzz.rows import manifest_text, rows_of_file
from campaigns.fuzz.unsafe import KEY_GROUPS
from keygroups.checkpoint.manifest import FileRef, decode, read_manifest
from keygroups.errors import CheckpointError, VersionError
from keygroups.runs.local import LocalRuns
from keygroups.segment.file import Segment
from keygroups.store.downloads import Downloads, Listed, Wanted
from keygroups.store.load import Loader
from keygroups.store.spec import StoreSpec
from keygroups.store.version import Version, VersionKey
from support.format2 import CHECKSUM, KEY

NAME = "0/the-file"
Target = Callable[[random.Random], str]
Read = Callable[[Loader, VersionKey, Downloads], Version]
Restore = Callable[[Path, Path, FileRef], Segment]


def restored(folder: Path, source: Path, ref: FileRef) -> Segment:
    """A file as a local segment."""
    return LocalRuns(folder, 2**23).restore(source, ref, samples.CATALOG, KEY_GROUPS)


def changed(loader: Loader, key: VersionKey, downloads: Downloads) -> Version:
    """The writes of a version, as the change feed shows them."""
    return loader.change(key, downloads, writes=True).version


@dataclass(frozen=True)
class Readers:
    """What is judged: the product's readers, or one that is wrong on purpose."""

    restore: Restore = restored
    load: Read = Loader.load
    change: Read = changed


def targets(folder: Path, readers: Readers | None = None) -> dict[str, Target]:
    """A function for each reader; each takes an input from the generator that it is given."""
    readers = readers or Readers()
    files, store = samples.files(folder), samples.store(folder)
    texts = [manifest_text(sample.data) for sample in store.values()]
    whole = Originals({path: sample.data for path, sample in store.items()}, samples.LATEST)
    return {
        "manifest": lambda rng: manifest(rng, texts),
        "head": lambda rng: head(rng, files, folder),
        "restore": lambda rng: restore(rng, files, folder, readers.restore),
        "load": lambda rng: load(rng, whole, folder, readers.load),
        "change": lambda rng: change(rng, whole, folder, readers.change),
    }


def ending(read: Callable[[], object], *, forged: bool) -> str:
    """How a read ends, by kind of input: ``read``, or the class of a refusal that names the file; others are raised.

    A damaged file is refused with a CheckpointError: the rest is for what another release or another query wrote.
    """
    kind = "forged" if forged else "damaged"
    try:
        read()
    except (CheckpointError, VersionError) as error:
        if not any(folder in str(error) for folder in ("0/", "1/")):
            raise AssertionError(f"the file is not named: {error}") from error
        if not forged and not isinstance(error, CheckpointError):
            raise AssertionError(f"refused as if it were not damaged: {error}") from error
        return f"{kind} {type(error).__name__}"
    return f"{kind} read"


def manifest(rng: random.Random, texts: list[bytes]) -> str:
    """A mutated manifest, mostly under a checksum that fits."""
    whole = rng.choice(texts)
    text = mutated_json(whole, rng) if rng.random() < 0.8 else mutated(whole, rng)
    forged = rng.random() < 0.8
    checksum = xxhash.xxh3_128(text if forged else whole).hexdigest().encode()

    def read() -> None:
        judge_manifest(decode({KEY: text, CHECKSUM: checksum}, NAME), text if forged else whole)

    return ending(read, forged=forged)


def head(rng: random.Random, files: list[samples.Sample], folder: Path) -> str:
    """The manifest of a file with mutated bytes."""
    sample = rng.choice(files)
    path = folder / "head"
    path.write_bytes(mutated(sample.data[:8192], rng))

    def read() -> None:
        assert read_manifest(path, NAME) == sample.manifest, "WRONG MANIFEST"

    return ending(read, forged=False)


def restore(rng: random.Random, files: list[samples.Sample], folder: Path, reader: Restore) -> str:
    """The rows of a file with mutated bytes or other columns, under its own checksum or under one that fits."""
    sample, forged = rng.choice(files), rng.random() < 0.7
    data = mutated(sample.data, rng) if rng.random() < 0.6 else reshaped(sample.data, rng)
    path = folder / "file"
    path.write_bytes(data)

    def read() -> None:
        rows, checksum = (AnyNumber(1 << 40), Forged()) if forged else (sample.manifest.rows, sample.manifest.checksum)
        name = samples.named(3, format_=sample.manifest.format)
        ref = FileRef(f"0/{name}", rows, len(data), checksum)
        judge_segment(reader(folder, path, ref), rows_of_file(data if forged else sample.data))

    result = ending(read, forged=forged)
    assert data != sample.data or result.endswith("read"), f"A WHOLE FILE IS REFUSED: {result}"
    return result


@dataclass(frozen=True)
class Attacked:
    """The files of a store, of which some are changed.

    Attributes:
        files: by path.
        forged: whether one has another manifest, under a checksum that fits.
        damaged: paths of those with other bytes, and of those that are gone.
    """

    files: dict[str, bytes]
    forged: bool
    damaged: frozenset[str]


def attacked(rng: random.Random, whole: Originals) -> Attacked:
    """One or two files mutated, deleted, or with a mutated manifest."""
    files, forged = dict(whole.files), False
    for path in rng.sample(sorted(files), rng.choice((1, 1, 2))):
        what = rng.random()
        if what < 0.5:
            text = json.dumps(whole.manifests[path]).encode()
            files[path], forged = with_manifest(files[path], mutated_json(text, rng)), True
        elif what < 0.85:
            files[path] = mutated(files[path], rng)
        else:
            del files[path]
    return Attacked(files, forged, frozenset(p for p, data in whole.files.items() if files.get(p) != data))


def load(rng: random.Random, whole: Originals, folder: Path, read: Read) -> str:
    """What is read of a version of an attacked store: all of it, or a refusal where whole files don't make it."""
    store = attacked(rng, whole)

    def judge(version: Version) -> None:
        whole.judge_version(version, store.files, forged=store.forged)

    result = ending(lambda: _load(store.files, folder, read, judge), forged=store.forged)
    refused = not store.forged and not result.endswith("read") and whole.readable(store.damaged)
    assert not refused, f"REFUSED, though whole files make the version: {store.damaged} are damaged"
    return result


def change(rng: random.Random, whole: Originals, folder: Path, read: Read) -> str:
    """What the change feed shows of a version of an attacked store."""
    store = attacked(rng, whole)

    def judge(version: Version) -> None:
        whole.judge_change(version, store.files, forged=store.forged)

    result = ending(lambda: _load(store.files, folder, read, judge), forged=store.forged)
    refused = not store.forged and not result.endswith("read") and not store.damaged & whole.shown
    assert not refused, f"REFUSED, though the files that show the change are whole: {store.damaged} are damaged"
    return result


def _load(files: dict[str, bytes], folder: Path, read: Read, judge: Callable[[Version], None]) -> None:
    """Load as the bridge does: bring what is wanted and call again."""
    runs = LocalRuns(folder, 2**23)
    loader = Loader(StoreSpec("0/", "0", 1), 0, runs, lambda _ref, _catalog: None)
    own = {path.removeprefix("0/"): data for path, data in files.items() if path.startswith("0/")}
    listings = {"0": [Listed(name, 1, len(data)) for name, data in own.items()]}
    missing: set[str] = set()
    with TemporaryDirectory(dir=folder) as place:
        for _ in range(100):
            downloads = Downloads(place, listings, frozenset(missing))
            try:
                version = read(loader, VersionKey(4), downloads)
            except Wanted as wanted:
                missing |= _bring(wanted, files, Path(place))
                continue
            judge(version)
            return
        raise AssertionError("files are wanted again and again")


def _bring(wanted: Wanted, files: dict[str, bytes], place: Path) -> set[str]:
    """Bring files; those that are not there."""
    for path, local in wanted.files:
        if path in files:
            assert Path(local).parent.samefile(place), f"a file outside of the folder: {path}"
            Path(local).write_bytes(files[path])
    return {path for path, _ in wanted.files if path not in files}
