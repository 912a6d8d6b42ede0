"""kill -9 of the store process before or after one of its own file operations.

The steps before and after each operation in its local folder are counted. At the n-th the process writes a line to
the file FAULT_LOG, which says where it is, and kills itself. n is random and less than FAULT_STEPS: from FAULT_SEED and
the number of lines so far. After FAULT_TIMES of them there is peace.
"""

import io
import itertools
import mmap
import os
import random
import shutil  # noqa: F401 - before os is patched: it looks there for what a safe rmtree takes
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

LOG = Path(os.environ["FAULT_LOG"])
P = ParamSpec("P")
T = TypeVar("T")

_folder = Path.cwd().name  # the JVM starts it in its local folder
_deaths = len(LOG.read_text().splitlines())
_rng = random.Random(f"{os.environ['FAULT_SEED']} {_deaths}")
_last = _rng.randrange(1, int(os.environ["FAULT_STEPS"])) if _deaths < int(os.environ["FAULT_TIMES"]) else 0
_steps = itertools.count(1)


def _step(where: str) -> None:
    if next(_steps) == _last:
        with LOG.open("a") as log:
            log.write(f"{where}\n")
        os.kill(os.getpid(), signal.SIGKILL)


def _around(operation: str, place: object, do: Callable[[], T]) -> T:
    # Relative ones are those of rmtree, below an open folder; mmap has an open file.
    if Path(str(place)).is_absolute() and _folder not in str(place):
        return do()
    _step(f"before {operation} {place}")
    result = do()
    _step(f"after {operation} {place}")
    return result


def _patched(name: str, real: Callable[P, T]) -> Callable[P, T]:
    def patched(*args: P.args, **kwargs: P.kwargs) -> T:
        return _around(name, args[0], lambda: real(*args, **kwargs))

    return patched


class _Output(io.FileIO):
    """A file to which Arrow writes, each write(2) by itself."""

    def write(self, data: "ReadableBuffer") -> int:
        return _around("write", self.name, lambda: io.FileIO.write(self, data))

    def close(self) -> None:
        if not self.closed:
            _around("close", self.name, lambda: io.FileIO.close(self))


def _os_file(path: str, mode: str = "r") -> pa.NativeFile:
    if mode == "r":
        return _around("open", path, lambda: _REAL_OS_FILE(path))
    return pa.PythonFile(_around("create", path, lambda: _Output(path, mode)), "w")


_OPERATIONS: dict[ModuleType, tuple[str, ...]] = {
    os: (
        *("open", "listdir", "scandir", "mkdir", "rmdir", "unlink", "rename", "replace", "link", "symlink"),
        *("truncate", "ftruncate", "fsync"),
    ),
    io: ("open",),
    mmap: ("mmap",),
}
for _module, _names in _OPERATIONS.items():
    for _name in _names:
        setattr(_module, _name, _patched(_name, getattr(_module, _name)))
_REAL_OS_FILE, pa.OSFile = pa.OSFile, _os_file
