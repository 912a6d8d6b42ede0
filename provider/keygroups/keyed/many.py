"""What states with one entry for each key do for all keys of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType

from keygroups.keyed.life import Life
from keygroups.keyed.tables import Columns, ValueTable
from keygroups.segment.arrays import mask
from keygroups.state.arrays import column_maker
from keygroups.state.arrow import MISTAKES, listed
from keygroups.state.batch_keys import BatchKeys
from keygroups.state.descriptors import StateDescriptor
from keygroups.state.errors import StateError
from keygroups.state.grouped import Groups
from keygroups.state.misfit import MisfitError, shown
from keygroups.state.rules import arrow_type

Mask = npt.NDArray[np.bool_]


class Given:
    """Makes arrays of one type of what users give.

    Args:
        descriptor: The state, named in errors.
        kind: The type, if it is not that of the state.
    """

    def __init__(self, descriptor: StateDescriptor, kind: DataType | None = None) -> None:
        """See the class."""
        self._what, self._kind = f"{descriptor.kind} state {descriptor.name!r}", kind or descriptor.type

    @cached_property
    def type(self) -> pa.DataType:
        """Arrow type of the values."""
        return arrow_type(self._kind)

    @cached_property
    def _column(self) -> Callable[[Any], pa.Array]:
        return column_maker(self._kind)

    def array(self, values: Any, keys: BatchKeys | None = None, groups: Groups | None = None) -> pa.Array:
        """Give an array of the state's type, by the rule of the type.

        Args:
            values: A column.
            keys: Those of the batch, for messages.
            groups: int64[n], the number of each value's key, if it is not its place.

        Raises:
            StateError: They are not of the type.
        """
        try:
            return self._column(values)
        except MisfitError as error:
            raise error.error(f"{self._what} was given", _under(error.row, keys, groups)) from error
        except MISTAKES as error:
            raise StateError(
                f"{self._what} was given a wrong value",
                expected=self._kind.simpleString(),
                found=f"{getattr(values, 'type', type(values).__name__)}: {str(error)[:200]}",
            ) from error

    def require(self, values: Sequence[Any], count: int) -> None:
        """Refuse another number of values. Raises StateError."""
        if len(values) != count:
            raise StateError(
                f"{self._what} was given a wrong number of values",
                expected=f"{count}, one a key",
                found=len(values),
            )


def _under(row: int | None, keys: BatchKeys | None, groups: Groups | None) -> str:
    """Which key a value was given for."""
    if row is None or keys is None:
        return ""
    number = row if groups is None else int(groups[row])
    return "".join(f" for key {shown(key)}" for key in islice(keys, number, number + 1))


def any_values(values: Any) -> pa.Array | list[Any]:
    """Give what users give for values of any type: an array, or a list, whose values nothing has changed.

    Raises one of ``MISTAKES`` if it is no column.
    """
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    if isinstance(values, pa.Array):
        return values
    return pa.array(values) if isinstance(values, np.ndarray) else listed(values)


class Many:
    """The entries of one state.

    Args:
        descriptor: What the state is.
        table: Where it lies.
        life: When values expire.
    """

    def __init__(self, descriptor: StateDescriptor, table: ValueTable, life: Life) -> None:
        """See the class."""
        self._table, self._life = table, life
        self.given = Given(descriptor)

    def read(self, keys: BatchKeys) -> pa.Array:
        """Give what may be seen, else null. Expired values are removed, others renewed if reads do that."""
        found = self._table.read_many(keys)
        if not self._life.ends:
            return found.values
        present = mask(found.values.is_valid())
        expired = present & self._life.have_expired(found.begun)
        if expired.any():
            self._table.write_many(keys, self._begun(pa.nulls(len(keys), self.given.type)), expired)
        if self._life.renewed_by_reads:
            self._table.write_many(keys, self._begun(found.values), present & ~expired)
        return self._visible(found.values, expired)

    def peek(self, keys: BatchKeys) -> pa.Array:
        """Give what may be seen, and change nothing."""
        found = self._table.read_many(keys)
        if not self._life.ends:
            return found.values
        return self._visible(found.values, self._life.have_expired(found.begun))

    def write(self, keys: BatchKeys, values: pa.Array, written: Mask | None = None) -> None:
        """Set values; null removes one. With a mask, only those of some keys."""
        self._table.write_many(keys, self._begun(values), written)

    def _begun(self, values: pa.Array) -> Columns:
        return Columns(values, np.full(len(values), self._life.now if self._life.ends else 0, np.int64))

    def _visible(self, values: pa.Array, expired: Mask) -> pa.Array:
        if self._life.shows_expired or not expired.any():
            return values
        return pc.if_else(pa.array(expired), pa.scalar(None, self.given.type), values)
