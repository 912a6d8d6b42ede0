"""Calls of the server that are cancelled leave nothing behind, and do not disturb other stores."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import pytest

from keygroups.bridge.server import Server
from keygroups.progress import ticking
from keygroups.store.version import Version
from support.local_store import LocalStore, rows_of

T = TypeVar("T")
WAIT: Final = 30
SETTINGS: Final = {"compactionFanout": "2", "callTimeoutSeconds": "1"}


class Slow:
    """Writers of local segments, or of others, in the background thread, which go on when a test lets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, thread: str, module: str = "segment.file") -> None:
        self.begun, self.go = threading.Event(), threading.Event()

        def slow(items: Iterable[T]) -> Iterator[T]:
            for item in ticking(items):
                if threading.current_thread().name.startswith(thread):
                    self.begun.set()
                    assert self.go.wait(WAIT)
                yield item

        monkeypatch.setattr(f"keygroups.{module}.ticking", slow)


class Served:
    """Stores in a server, each with two runs that a merge is due for."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(folder)
        self.folder = folder
        self.threads = ThreadPoolExecutor(4)

    def open(self, name: str) -> tuple[int, LocalStore]:
        """A store with two versions."""
        spec = {"operatorFolder": "state/0", "store": "0", "partitions": 1}
        number = int(json.loads(self.server.call("open", json.dumps({"spec": spec, "settings": SETTINGS})))["ok"])
        (self.folder / name).mkdir()
        local = LocalStore(self.folder / name, SETTINGS)
        local.store = self.server._stores[number]
        first = local.write(local.first(), {n: n for n in range(10)}, 10)
        local.write(first, {n: n for n in range(10, 20)}, 20)
        return number, local

    def call(self, method: str, **request: object) -> dict[str, Any]:
        """A call as the JVM makes it: asked after until it has ended."""
        answer = json.loads(self.server.call(method, json.dumps(request)))
        while "pending" in answer:
            answer = json.loads(self.server.call("await", json.dumps({"ticket": answer["pending"]["ticket"]})))
        return dict(answer)

    def start(self, method: str, **request: object) -> Future[dict[str, Any]]:
        """The same in a thread."""
        return self.threads.submit(self.call, method, **request)

    def merge(self, store: int) -> str | None:
        """Do a piece of a merge; the path of its file."""
        merged = self.call("compact", store=store, thorough=True)["ok"]
        upload = self.call("install", store=store, segment=merged["id"])["ok"]["upload"]
        return upload and str(upload[0])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    yield served
    served.threads.shutdown()


def files(local: LocalStore) -> list[str]:
    """What the store has on the local disk."""
    return sorted(str(path.relative_to(local.store._folder)) for path in local.store._folder.rglob("*.arrow*"))


def latest(local: LocalStore) -> Version:
    found = local.store._versions.latest()
    assert found is not None
    return found


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether something holds within a while."""
    waiter = threading.Event()
    return any(condition() or waiter.wait(0.01) for _ in range(100 * WAIT))


def test_a_merge_that_stands_still_is_cancelled_and_leaves_no_files(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store keeps its versions, commits go on, and the next merge succeeds."""
    number, local = served.open("a")
    before = files(local)
    slow = Slow(monkeypatch, "keygroups-background")
    error = served.call("compact", store=number, thorough=True)["error"]
    assert error["kind"] == "retry"
    assert "'compact' of a store made no progress and was cancelled" in error["message"]
    version = local.write(latest(local), {20: 20}, 21)
    slow.go.set()
    assert eventually(lambda: not local.store._compaction._turns)
    assert eventually(lambda: len(files(local)) == len(before) + 1)  # of the commit
    assert len(version.plan) == 3
    assert served.merge(number)
    assert len(rows_of(latest(local))) == 21


@pytest.mark.parametrize(("thread", "threaded_bytes"), [("keygroups-writer", 0), ("keygroups-call", 1 << 20)])
def test_a_commit_that_stands_still_leaves_no_files(
    served: Served, monkeypatch: pytest.MonkeyPatch, thread: str, threaded_bytes: int
) -> None:
    """Neither its local segment nor its version file, whether two threads write these or one."""
    number, local = served.open("a")
    before, parent = files(local), latest(local)
    monkeypatch.setattr("keygroups.store.commit_files.THREADED_BYTES", threaded_bytes)
    slow = Slow(monkeypatch, thread)
    chunk = local._chunk({30: 30})
    request = {
        "store": number,
        "session": "s",
        "base": {"version": 2, "checkpointId": parent.key.checkpoint_id},
        "sorted": [],
        "chunks": [
            {
                "family": chunk.family,
                "path": chunk.path,
                "rows": chunk.rows,
                "keyBytes": chunk.key_bytes,
                "valueBytes": chunk.value_bytes,
            }
        ],
        "catalog": json.loads(msgspec.json.encode(parent.catalog)),
    }
    assert "'commit' of a store made no progress" in served.call("commit", **request)["error"]["message"]
    slow.go.set()
    assert eventually(lambda: files(local) == before and not Path(chunk.path).exists())
    assert latest(local).key == parent.key


def test_close_cancels_a_merge(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for it; the merge ends at its next block, and the folder goes."""
    number, local = served.open("a")
    slow = Slow(monkeypatch, "keygroups-background")
    merged = served.start("compact", store=number, thorough=True)
    assert slow.begun.wait(WAIT)
    assert served.call("close", store=number) == {"ok": None}
    assert "the store was closed during 'compact'" in merged.result(WAIT)["error"]["message"]
    slow.go.set()
    assert eventually(lambda: not local.store._folder.exists())


def test_a_stuck_merge_does_not_disturb_another_store(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is loaded, and merged, by the same process."""
    number, _ = served.open("a")
    other, local = served.open("b")
    slow = Slow(monkeypatch, "keygroups-background")
    stuck = served.start("compact", store=number, thorough=True)
    assert slow.begun.wait(WAIT)
    key = {"version": 2, "checkpointId": latest(local).key.checkpoint_id}
    assert "ok" in served.call("load", store=other, key=key, downloads={"folder": ""})
    assert len(rows_of(latest(local))) == 20
    assert "error" in stuck.result(WAIT)
    slow.go.set()
    assert served.merge(other)


@pytest.mark.parametrize(("method", "module"), [("compact", "segment.file"), ("install", "checkpoint.file_writer")])
def test_an_operation_that_nobody_waits_for_is_undone(
    served: Served, monkeypatch: pytest.MonkeyPatch, method: str, module: str
) -> None:
    """The same rows are merged again, or the file of the piece is written again."""
    number, local = served.open("a")
    request = {"store": number, "thorough": True}
    if method == "install":
        request = {"store": number, "segment": served.call("compact", **request)["ok"]["id"]}
    monkeypatch.setattr("keygroups.bridge.operations.PATIENCE_SECONDS", 0.01)
    slow = Slow(monkeypatch, "keygroups-background", module)
    before = files(local)
    answer = json.loads(served.server.call(method, json.dumps(request)))
    assert slow.begun.wait(WAIT)
    ticket = json.dumps({"ticket": answer["pending"]["ticket"]})
    served.server.call("cancel", ticket)
    assert "is not known" in json.loads(served.server.call("await", ticket))["error"]["message"]
    slow.go.set()
    assert eventually(lambda: not (local.store._compaction._turns or local.store._compaction._writing))
    assert eventually(lambda: set(files(local)) <= set(before))
    assert served.merge(number)
    assert len(latest(local).plan) == 1
    assert len(rows_of(latest(local))) == 20


def test_commits_hear_of_a_write_that_does_not_end(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a piece: until it is written, runs with its rows can't be merged."""
    number, local = served.open("a")
    merged = served.call("compact", store=number, thorough=True)["ok"]
    slow = Slow(monkeypatch, "keygroups-background", "checkpoint.file_writer")
    assert "made no progress" in served.call("install", store=number, segment=merged["id"])["error"]["message"]
    assert "made no progress" in served.call("compact", store=number, thorough=True)["error"]["message"]
    slow.go.set()
    assert eventually(lambda: not local.store._compaction._turns)
    assert served.merge(number)


def test_a_piece_of_which_all_versions_are_gone_leaves_no_file(served: Served) -> None:
    """Both attempts of a batch could not be uploaded."""
    number, local = served.open("a")
    before = files(local)
    merged = served.call("compact", store=number, thorough=True)["ok"]
    local.store._versions.clear()
    assert served.call("install", store=number, segment=merged["id"]) == {"ok": None}
    assert eventually(lambda: not set(files(local)) - set(before))
