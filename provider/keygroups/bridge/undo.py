"""Undoes results that nobody takes, because the operation was cancelled at its end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from keygroups.bridge import messages as m
from keygroups.store.checkpoint_writer import Upload
from keygroups.store.store import Store


def spill(store: Store, request: m.Spill, segment: m.SegmentView) -> None:
    """Drop the segment: its session may have been dropped before."""
    store.drop(request.session, segment.id)


def save(_store: Store, _request: m.Save, upload: Upload | None) -> None:
    """Delete the file. The commit names those that are uploaded, so the session needs no change."""
    _delete([upload])


def commit(store: Store, _request: m.Commit, committed: m.Committed) -> None:
    """Drop the version, which nobody uploads."""
    store.forget(committed.version.key)
    _delete(committed.uploads)


def compact(store: Store, _request: m.Compact, segment: m.SegmentView | None) -> None:
    """Have the same rows merged again."""
    if segment is not None:
        store.abandon(segment.id)


def install(store: Store, _request: m.Install, installed: m.Installed | None) -> None:
    """Have the merged rows, which plans have by now, uploaded by the next compaction."""
    if installed is not None and installed.upload is not None:
        store.uploaded(installed.upload.name, success=False)
        _delete([installed.upload])


def _delete(uploads: Iterable[Upload | None]) -> None:
    for upload in uploads:
        if upload is not None:
            Path(upload.path).unlink(missing_ok=True)
