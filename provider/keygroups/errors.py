"""Errors that reach an operator: one class per thing there is to do about them."""

from __future__ import annotations

from typing import ClassVar


class KeygroupsError(Exception):
    """Root of the errors that Keygroups raises on purpose.

    Every error renders as one sentence, ``message (path P, expected E, found F): fix``, with the parts that it has.

    Attributes:
        kind: Name of the class of error. It crosses the bridge to the JVM, so it never changes.
        path: File or folder that is at fault, or None.
        expected: What should have been there, or None.
        found: What was there instead, or None.
        fix: What the operator does next, or None.
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
            path: File or folder that is at fault.
            expected: What should have been there.
            found: What was there instead.
            fix: What the operator does next, as an imperative without a full stop.
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
    """The session or its process is gone: retry the task. Nothing committed is lost."""

    kind = "retry"


class VersionError(KeygroupsError):
    """Two parts do not fit together: upgrade one of them."""

    kind = "version"


class InternalError(KeygroupsError):
    """Keygroups broke a promise to itself: report a bug."""

    kind = "internal"
