"""Errors that reach an operator: one class for each kind of remedy."""

from __future__ import annotations

from typing import ClassVar


class KeygroupsError(Exception):
    """Root of the errors that Keygroups raises deliberately.

    Every error renders as one sentence, ``message (path P, expected E, found F): fix``, with the parts that are given.

    Attributes:
        kind: Name of the class of error. The JVM depends on it, so it never changes.
        path: File or folder concerned, or None.
        expected: What was expected, or None.
        found: What was found instead, or None.
        fix: What the operator should do, or None.
    """

    kind: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        *,
        path: object | None = None,
        expected: object | None = None,
        found: object | None = None,
        fix: str | None = None,
    ) -> None:
        """Build the error.

        Args:
            message: What went wrong, without a full stop.
            path: File or folder concerned.
            expected: What was expected.
            found: What was found instead.
            fix: What the operator should do, as an imperative without a full stop.
        """
        self.path, self.expected, self.found, self.fix = path, expected, found, fix
        details = {"path": path, "expected": expected, "found": found}
        shown = ", ".join(f"{name} {value}" for name, value in details.items() if value is not None)
        super().__init__(message + (f" ({shown})" if shown else "") + (f": {fix}" if fix else ""))


class SettingError(KeygroupsError):
    """A setting or an argument is wrong: fix the setting."""

    kind = "setting"


class CheckpointError(KeygroupsError):
    """A checkpoint file is missing, damaged or foreign: restore the file."""

    kind = "checkpoint"


class CapacityError(KeygroupsError):
    """A disk or a limit is full: free space."""

    kind = "capacity"


class RetryError(KeygroupsError):
    """The session or its process no longer exists: retry the task. Nothing committed is lost."""

    kind = "retry"


class CancelledError(RetryError):
    """The operation was cancelled, and what it had written is deleted: retry the task. Nothing committed is lost."""


class VersionError(KeygroupsError):
    """Two components are incompatible: upgrade one of them."""

    kind = "version"


class InternalError(KeygroupsError):
    """An internal invariant is violated: report a bug."""

    kind = "internal"
