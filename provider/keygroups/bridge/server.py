"""The py4j entry point: one method, which dispatches by name."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from keygroups.bridge import answers, undo
from keygroups.bridge import messages as m
from keygroups.bridge.memory import BIG_ROWS, are_big, release_unused
from keygroups.bridge.operations import Operation, Operations, Undo, nothing
from keygroups.bridge.workers import Workers
from keygroups.decoding import decode
from keygroups.errors import RetryError
from keygroups.settings import Settings
from keygroups.store.checkpoint_writer import Upload
from keygroups.store.store import Store
from keygroups.store.version import Version

BACKGROUND_NICENESS = 5
"""Compaction yields the processor to tasks; ``maxSegments`` bounds how far it falls behind."""


class Method(NamedTuple):
    """What carries out a call.

    Attributes:
        message: type of the request.
        handle: gives the result.
        workers: of a call that may take long. Others are carried out in py4j's thread, which saves 24 us.
        undo: for a result that nobody takes, as the operation was cancelled: frees what it consists of.
    """

    message: type[m.Message]
    handle: Callable[[Any], Any]
    workers: Workers | None = None
    undo: Callable[[Store, Any, Any], None] = lambda *_: None


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
        self._ids = count(1)
        self._operations = Operations()
        tasks = Workers("keygroups-call")
        merges = Workers("keygroups-background", BACKGROUND_NICENESS)
        self._methods = {
            "open": Method(m.Open, self._open),
            "load": Method(m.Load, self._load, tasks),
            "change": Method(m.ReadChange, self._change, tasks),
            "spill": Method(m.Spill, self._spill, tasks, undo.spill),
            "save": Method(m.Save, self._save, tasks, undo.save),
            "commit": Method(m.Commit, self._commit, tasks, undo.commit),
            "abort": Method(m.Abort, lambda r: self._store(r.store).abort(r.session)),
            "forget": Method(m.Forget, lambda r: self._store(r.store).forget(r.key)),
            "compact": Method(m.Compact, self._compact, merges, undo.compact),
            "install": Method(m.Install, self._install, merges, undo.install),
            "abandon": Method(m.Abandon, lambda r: self._store(r.store).abandon(r.segment)),
            "uploaded": Method(m.Uploaded, lambda r: self._store(r.store).uploaded(r.name, success=r.success)),
            "deletable": Method(
                m.Deletable, lambda r: self._store(r.store).files_to_delete(r.retain, r.downloads), tasks
            ),
            "close": Method(m.Close, self._close, tasks),
            "cancel": Method(m.Cancel, lambda r: self._operations.cancel(r.ticket)),
        }

    def call(self, method: str, payload: str) -> str:
        """Carry out one call.

        Args:
            method: a name of ``_methods``, or ``await``.
            payload: its message as JSON.

        Returns:
            JSON: ``{"ok": ...}``, ``{"pending": Pending}``, ``{"wanted": Want}`` or ``{"error": Failure}``; nothing is
            raised.
        """
        try:
            if method == "await":
                return self._operations.after(decode(payload, m.Await).ticket)
            found = self._methods[method]
            request = decode(payload, found.message)
            if found.workers is None:
                return answers.result(found.handle(request))
            return self._start(method, found, found.workers, request)
        except Exception as error:  # noqa: BLE001 - the answer says so
            return answers.failure(method, error)

    def _start(self, name: str, method: Method, workers: Workers, request: Any) -> str:  # noqa: ANN401 - a message of a store
        store = self._store(request.store)

        def work() -> tuple[str, Undo]:
            try:
                result = method.handle(request)
                return answers.result(result), lambda: method.undo(store, request, result)
            except Exception as error:  # noqa: BLE001 - the answer says so
                return answers.failure(name, error), nothing
            finally:
                if store.is_closed:
                    store.delete_files()  # what was written after the deletion

        place = f"{store.spec.operator_folder}/{store.spec.store}"
        return self._operations.start(Operation(name, request.store, place, store.most_still_seconds), workers, work)

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
        run = store.spill(request.session, request.chunks, request.catalog, request.batch_time)
        if are_big(request.chunks):
            release_unused()
        return m.segment_view(run)

    def _save(self, request: m.Save) -> Upload | None:
        upload = self._store(request.store).save(request.session, request.segment, self._base(request))
        if upload is not None:
            release_unused()
        return upload

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
        has_spilled = len(request.sorted) > len(request.saved)  # whose segments were merged and compressed now
        if has_spilled or are_big(request.chunks):
            release_unused()
        return m.Committed(
            version=m.version_view(version, request.known), uploads=uploads, compact=compact, write_millis=millis
        )

    def _compact(self, request: m.Compact) -> m.SegmentView | None:
        segment = self._store(request.store).compact(thorough=request.thorough, newest=request.newest)
        return None if segment is None else m.segment_view(segment)

    def _install(self, request: m.Install) -> m.Installed | None:
        done = self._store(request.store).install(request.segment)
        if done is None:
            return None
        release_unused()
        version, upload = done
        return m.Installed(version=m.version_view(version, request.known), upload=upload)

    def _close(self, request: m.Close) -> None:
        if (store := self._stores.pop(request.store, None)) is not None:
            self._operations.cancel_all(request.store)
            store.close()

    def _base(self, request: m.Save | m.Commit) -> Version:
        store = self._store(request.store)
        return store.empty(request.base) if request.empty else store.known(request.base)

    def _store(self, number: int) -> Store:
        store = self._stores.get(number)
        if store is None:
            raise RetryError(f"store {number} is not open in this process")
        return store
