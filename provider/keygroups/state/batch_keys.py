"""The keys of a batch, as functions of batches and states of many keys see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from keygroups.segment.arrays import arrow
from keygroups.state.errors import StateError
from keygroups.state.grouped import Groups, grouped


class BatchKeys:
    """The different keys of the rows of a batch, numbered from 0.

    Args:
        count: How many there are.
        groups: int64[n], for each row the number of its key.
        columns: Gives the columns of the keys.
        one_by_one: Gives the keys in their order; each is the current key of all states until the next is asked for.
        stored: What tables know the keys by.

    Attributes:
        indices: int64[n], for each row of the batch the number of its key.
    """

    def __init__(
        self,
        count: int,
        groups: Groups,
        columns: Callable[[], Mapping[str, pa.Array]],
        one_by_one: Callable[[], Iterable[Any]],
        stored: Any,
    ) -> None:
        """See the class."""
        self._count, self._columns, self._one_by_one = count, columns, one_by_one
        self._known: Mapping[str, pa.Array] | None = None
        self.groups, self.stored = groups, stored
        self.indices: pa.Array = arrow(groups)

    def __len__(self) -> int:
        """How many keys there are."""
        return self._count

    def __getitem__(self, column: str) -> pa.Array:
        """Give a column of the keys.

        Raises:
            StateError: The key has no such column.
        """
        if self._known is None:
            self._known = self._columns()
        if column not in self._known:
            raise StateError("the key has no such column", expected=", ".join(self._known), found=repr(column))
        return self._known[column]

    def __iter__(self) -> Iterator[Any]:
        """Walk the keys. Each is the current one meanwhile, so that all methods of states and timers work."""
        return iter(self._one_by_one())

    def reduce(self, column: pa.Array | pa.ChunkedArray, how: str) -> pa.Array:
        """Aggregate a column of the batch by key.

        Args:
            column: A value for each row.
            how: ``sum``, ``min``, ``max``, ``count``, ``last`` or ``collect``.

        Returns:
            A value for each key, as ``keygroups.state.grouped.grouped`` gives it.

        Raises:
            StateError: The column has another length, or the aggregate does not go with its type.
        """
        self.require_rows(column)
        return grouped(how, column, self.groups, self._count)

    def require_rows(self, column: Any) -> None:
        """Refuse what does not have a value for each row. Raises StateError."""
        if len(column) != len(self.groups):
            raise StateError(
                "a column does not fit the batch", expected=f"{len(self.groups)} values, one a row", found=len(column)
            )
