"""The py4j entry point: one method, which dispatches by name."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from keygroups.bridge import messages as m
from keygroups.bridge.memory import BIG_ROWS, release_unused
from keygroups.decoding import decode
from keygroups.errors import CapacityError, InternalError, KeygroupsError, RetryError
from keygroups.settings import Settings
from keygroups.store.checkpoint_writer import Upload
from keygroups.store.downloads import Wanted
from keygroups.store.store import Store
from keygroups.store.version import Version

log = logging.getLogger(__name__)

BACKGROUND_NICENESS = 5
"""Compaction yields the processor to tasks; ``maxSegments`` bounds how far it falls behind."""

Handler = Callable[[Any], Any]


class Server:
    """All stores of one executor. py4j calls ``call`` from several threads, one for each connection of the JVM.

    Args:
        folder: for local files; exists, 0700.
    """

    class Java:
        """What py4j needs to call this object."""

        implements: ClassVar = ["io.keygroups.spark.bridge.ServerApi"]

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores: dict[int, Store] = {}
        # Separate threads: a lowered priority can't be raised again, and py4j's threads serve commits too.
        self._background = ThreadPoolExecutor(2, "keygroups-background", initializer=_yield_processor)
        self._ids = count(1)
        self._handlers: dict[str, tuple[type[m.Message], Handler]] = {
            "open": (m.Open, self._open),
            "load": (m.Load, self._load),
            "change": (m.ReadChange, self._change),
            "spill": (m.Spill, self._spill),
            "save": (m.Save, self._save),
            "commit": (m.Commit, self._commit),
            "abort": (m.Abort, lambda r: self._store(r.store).abort(r.session)),
            "forget": (m.Forget, lambda r: self._store(r.store).forget(r.key)),
            "compact": (m.Compact, self._compact),
            "uploaded": (m.Uploaded, lambda r: self._store(r.store).uploaded(r.name, success=r.success)),
            "deletable": (m.Deletable, lambda r: self._store(r.store).files_to_delete(r.retain, r.downloads)),
            "close": (m.Close, self._close),
        }

    def call(self, method: str, payload: str) -> str:
        """Carry out one call.

        Args:
            method: a name of ``_handlers``.
            payload: its message as JSON.

        Returns:
            JSON: ``{"ok": ...}``, ``{"wanted": Want}`` or ``{"error": Failure}``; nothing is raised.
        """
        try:
            kind, handler = self._handlers[method]
            answer: dict[str, Any] = {"ok": handler(decode(payload, kind))}
        except Wanted as wanted:
            answer = {"wanted": m.Want(listings=wanted.listings, files=wanted.files, head=wanted.head)}
        except KeygroupsError as error:
            answer = {"error": m.Failure(kind=error.kind, message=str(error))}
        except Exception as error:  # the JVM must get an answer to every call, on the same connection
            log.exception("call %s failed", method)
            answer = {"error": _unexpected(method, error)}
        return msgspec.json.encode(answer).decode()

    def _open(self, request: m.Open) -> int:
        settings = Settings.parse(request.settings)
        number = next(self._ids)
        folder = self._folder / f"store-{number}"
        folder.mkdir(mode=0o700)
        self._stores[number] = Store(request.spec, settings, folder)
        return number

    def _load(self, request: m.Load) -> m.VersionView:
        version = self._store(request.store).load(request.key, request.downloads)
        if version.catalog.num_keys >= BIG_ROWS:
            release_unused()
        return m.version_view(version, request.known)

    def _change(self, request: m.ReadChange) -> m.ChangeView:
        change = self._store(request.store).change(request.key, request.downloads, writes=request.writes)
        return m.ChangeView(version=m.version_view(change.version), parent=change.parent)

    def _spill(self, request: m.Spill) -> m.SegmentView:
        store = self._store(request.store)
        return m.segment_view(store.spill(request.session, request.chunks, request.catalog, request.batch_time))

    def _save(self, request: m.Save) -> Upload | None:
        return self._store(request.store).save(request.session, request.segment, self._base(request))

    def _commit(self, request: m.Commit) -> m.Committed:
        store = self._store(request.store)
        start = time.perf_counter()
        base = self._base(request)
        writes = store.take(
            request.session, request.sorted, request.chunks, request.batch_time, request.changelog, request.saved
        )
        version, uploads = store.commit(writes, base, request.catalog)
        millis = round((time.perf_counter() - start) * 1000)
        compact = store.wants_compaction(version)
        if sum(chunk.rows for chunk in request.chunks) >= BIG_ROWS:
            release_unused()
        return m.Committed(
            version=m.version_view(version, request.known), uploads=uploads, compact=compact, write_millis=millis
        )

    def _compact(self, request: m.Compact) -> m.Compacted | None:
        store = self._store(request.store)
        done = self._background.submit(store.compact, thorough=request.thorough).result()
        if done is None:
            return None
        release_unused()
        version, upload = done
        return m.Compacted(version=m.version_view(version, request.known), upload=upload)

    def _close(self, request: m.Close) -> None:
        if (store := self._stores.pop(request.store, None)) is not None:
            store.close()

    def _base(self, request: m.Save | m.Commit) -> Version:
        store = self._store(request.store)
        return store.empty(request.base) if request.empty else store.known(request.base)

    def _store(self, number: int) -> Store:
        store = self._stores.get(number)
        if store is None:
            raise RetryError(f"store {number} is not open in this process")
        return store


def _yield_processor() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BACKGROUND_NICENESS)


def _unexpected(method: str, error: Exception) -> m.Failure:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        full = CapacityError("the local disk is full", path=error.filename, fix="free space there")
        return m.Failure(kind=full.kind, message=str(full))
    message = f"call {method} failed with {type(error).__name__}: {error}"
    return m.Failure(kind=InternalError.kind, message=message)
