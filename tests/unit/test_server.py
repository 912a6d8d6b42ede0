"""The server's calls, without a JVM."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import cast

import pytest

from keygroups.bridge.server import Server
from keygroups.store.store import Store


def test_memory_is_given_back_by_the_thread_that_compacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's allocator keeps what a thread has freed for that thread."""
    threads: list[int] = []

    class Compacting:
        def compact(self, *, thorough: bool) -> None:
            assert thorough
            threads.append(threading.get_ident())

    monkeypatch.setattr("keygroups.bridge.server.release_unused", lambda: threads.append(threading.get_ident()))
    server = Server(tmp_path)
    server._stores[1] = cast(Store, Compacting())
    assert server.call("compact", '{"store": 1, "thorough": true}') == '{"ok":null}'
    compacted, released = threads
    assert released == compacted != threading.get_ident()
