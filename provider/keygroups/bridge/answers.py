"""The answers to calls, as JSON."""

from __future__ import annotations

import errno
import logging
from typing import Final

import msgspec

from keygroups.bridge import messages as m
from keygroups.errors import CapacityError, InternalError, KeygroupsError
from keygroups.store.downloads import Wanted

log = logging.getLogger(__name__)
_SCARCE: Final = (errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_NO_THREAD: Final = "can't start new thread"


def result(value: object) -> str:
    """What the call gives."""
    return _json(ok=value)


def pending(ticket: int, progress: int) -> str:
    """The call is still worked on."""
    return _json(pending=m.Pending(ticket=ticket, progress=progress))


def failure(method: str, error: Exception) -> str:
    """A call ended with an error, or wants something of the checkpoint. The JVM must get an answer to every call."""
    if isinstance(error, Wanted):
        return _json(wanted=m.Want(listings=error.listings, files=error.files, head=error.head))
    if not isinstance(error, KeygroupsError):
        log.error("call %s failed", method, exc_info=error)
        error = _unexpected(method, error)
    return _json(error=m.Failure(kind=error.kind, message=str(error)))


def _unexpected(method: str, error: Exception) -> KeygroupsError:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return CapacityError("the local disk is full", path=error.filename, fix="free space there")
    if _is_scarce(error):
        fix = "raise spark.executor.memoryOverhead, or the limit of open files or of processes (ulimit -n, -u)"
        return CapacityError("the store process lacks memory, threads or file handles", found=str(error), fix=fix)
    return InternalError(f"call {method} failed with {type(error).__name__}: {error}")


def _is_scarce(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in _SCARCE
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and _NO_THREAD in str(error))


def _json(**answer: object) -> str:
    return msgspec.json.encode(answer).decode()
