"""``keygroups mend``: undo an offline repartitioning that Spark could not finish on a checkpoint of Keygroups.

Spark's offline repartitioning writes the offsets of a batch of its own before it checks the provider. It then refuses
Keygroups (``STATE_REPARTITION_INVALID_CHECKPOINT.UNSUPPORTED_PROVIDER``) and leaves the offsets behind. The query does
not start (``STREAMING_UNFINISHED_REPARTITION_DETECTED``) until they are deleted. No state has been written at that
point.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, FileType

from keygroups.configure import PROVIDER, PROVIDER_CLASS
from keygroups.decoding import decode
from keygroups.errors import CheckpointError, SettingError

PARTITIONS = "spark.sql.shuffle.partitions"


class Unfinished(NamedTuple):
    """A repartitioning that has offsets but no commit.

    Attributes:
        batch: Its number.
        before: Number of state partitions of the query.
        after: Number of state partitions that was requested.
        provider: Class of the query's state store provider.
    """

    batch: int
    before: int
    after: int
    provider: str


@click.command()
@click.argument("checkpoint")
@click.option("--apply", is_flag=True, help="Delete the offsets. Without this flag, nothing changes.")
def mend(checkpoint: str, *, apply: bool) -> None:
    """Undo an offline repartitioning that Spark could not finish.

    CHECKPOINT is the query's checkpoint, a path or a URI that pyarrow can open. Stop the query first.
    """
    files, root = _open(checkpoint)
    found = unfinished(files, root)
    if found is None:
        click.echo("The checkpoint has no unfinished repartitioning. There is nothing to repair.")
        return
    if found.provider != PROVIDER:
        raise CheckpointError(
            "another state store provider owns the unfinished repartitioning",
            path=checkpoint,
            expected=PROVIDER,
            found=found.provider,
            fix="run the repartitioning again and let it finish",
        )
    click.echo(
        f"Batch {found.batch} is a repartitioning from {found.before} to {found.after} state partitions that Spark "
        "started and then refused because of the provider. The state is unchanged."
    )
    paths = [f"{root}/offsets/{name}" for name in (f"{found.batch}", f".{found.batch}.crc")]
    for path in filter(lambda path: files.get_file_info(path).type == FileType.File, paths):
        if apply:
            files.delete_file(path)
        click.echo(f"{'Deleted' if apply else 'To delete'}: {path}")
    click.echo("The query can start again." if apply else "Run this again with --apply to delete them.")


def unfinished(files: FileSystem, root: str) -> Unfinished | None:
    """Find the repartitioning in a checkpoint's logs.

    Args:
        files: The file system of the checkpoint.
        root: Its folder there.

    Returns:
        The unfinished repartitioning, or None if the last batch is an ordinary one, or committed.

    Raises:
        CheckpointError: The folder holds no offset log, or one that cannot be read.
    """
    batches, commits = _numbers(files, f"{root}/offsets"), _numbers(files, f"{root}/commits")
    if not batches:
        raise CheckpointError(
            "the folder is not the checkpoint of a query", path=root, expected="a subfolder offsets with files"
        )
    last = batches[-1]
    if last in commits or last - 1 not in batches:
        return None
    before, after = (_conf(files, f"{root}/offsets/{batch}") for batch in (last - 1, last))
    if PARTITIONS not in before or PARTITIONS not in after or before[PARTITIONS] == after[PARTITIONS]:
        return None
    return Unfinished(last, int(before[PARTITIONS]), int(after[PARTITIONS]), after.get(PROVIDER_CLASS, "unknown"))


def _open(checkpoint: str) -> tuple[FileSystem, str]:
    uri = checkpoint.replace("s3a://", "s3://", 1) if "://" in checkpoint else str(Path(checkpoint).absolute())
    try:
        files, root = FileSystem.from_uri(uri)
    except (ArrowException, OSError, ValueError) as error:
        raise SettingError("the checkpoint cannot be opened", path=checkpoint, found=error) from error
    return files, root.rstrip("/")


def _numbers(files: FileSystem, folder: str) -> list[int]:
    with _reading(folder):
        found = files.get_file_info(FileSelector(folder, allow_not_found=True))
    return sorted(int(file.base_name) for file in found if file.base_name.isdigit())


def _conf(files: FileSystem, path: str) -> dict[str, str]:
    with _reading(path), files.open_input_stream(path) as stream:
        return decode(stream.read().decode().splitlines()[1], _Metadata).conf


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Raise errors about a log of the query as CheckpointError."""
    try:
        yield
    except (ArrowException, OSError, UnicodeError, IndexError, msgspec.DecodeError) as error:
        raise CheckpointError("the offset log cannot be read", path=path, found=error) from error


class _Metadata(msgspec.Struct):
    conf: dict[str, str]
