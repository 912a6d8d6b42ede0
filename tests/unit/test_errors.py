"""Errors: one sentence each, of one form, with a kind that the JVM can tell apart."""

from __future__ import annotations

import copy
import errno
import json
from pathlib import Path

import pytest

from keygroups import errors
from keygroups.bridge.answers import failure
from keygroups.errors import CheckpointError, KeygroupsError, SettingError


def test_details_are_rendered_in_one_form() -> None:
    error = CheckpointError("the segment is damaged", path=Path("/c/1"), expected=7, found=0, fix="restore the file")
    assert str(error) == "the segment is damaged (path /c/1, expected 7, found 0): restore the file"
    assert (error.path, error.expected, error.found, error.fix) == (Path("/c/1"), 7, 0, "restore the file")


def test_absent_details_leave_no_trace() -> None:
    assert str(SettingError("the name is empty")) == "the name is empty"
    assert str(SettingError("the name is too long", found=0)) == "the name is too long (found 0)"


def test_copies_keep_message_and_details() -> None:
    error = copy.copy(CheckpointError("the segment is gone", path="/c/1"))
    assert (str(error), error.path) == ("the segment is gone (path /c/1)", "/c/1")


def test_every_kind_is_its_own_and_stable() -> None:
    kinds = {
        name: cls.kind
        for name, cls in vars(errors).items()
        if isinstance(cls, type) and issubclass(cls, KeygroupsError)
    }
    assert kinds == {
        "KeygroupsError": "error",
        "SettingError": "setting",
        "CheckpointError": "checkpoint",
        "CapacityError": "capacity",
        "RetryError": "retry",
        "CancelledError": "retry",
        "VersionError": "version",
        "InternalError": "internal",
    }


@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "capacity", "the local disk is full"),
        (OSError(errno.EMFILE, "Too many open files"), "capacity", "Too many open files"),
        (MemoryError("no room"), "capacity", "memoryOverhead"),
        (RuntimeError("can't start new thread"), "capacity", "ulimit -n, -u"),
        (OSError(errno.EIO, "Input/output error"), "internal", "Input/output error"),
    ],
)
def test_what_the_machine_lacks_is_no_bug(error: Exception, kind: str, word: str) -> None:
    """Whichever call meets it."""
    told = json.loads(failure("commit", error))["error"]
    assert told["kind"] == kind
    assert word in told["message"]
