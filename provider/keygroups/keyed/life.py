"""When values expire.

Source: Flink's ``AbstractTtlDecorator.getWrappedWithTtlCheckAndUpdate``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from keygroups.keyed.scope import Scope
from keygroups.keyed.tables import Entry
from keygroups.state.ttl import StateTtlConfig


class Life:
    """The time to live of one state.

    Args:
        ttl: How long values live, or None.
        scope: Has the time.
    """

    def __init__(self, ttl: StateTtlConfig | None, scope: Scope) -> None:
        """See the class."""
        self._ttl = ttl
        self._scope = scope
        self.ends = ttl is not None
        self.shows_expired = ttl is not None and ttl.state_visibility is ttl.StateVisibility.ReturnExpiredIfNotCleanedUp
        self.renewed_by_reads = ttl is not None and ttl.update_type is ttl.UpdateType.OnReadAndWrite

    def begin(self, value: Any) -> Entry:
        """Give an entry whose life begins now."""
        return value, self._scope.now if self.ends else 0

    def has_expired(self, entry: Entry) -> bool:
        """Tell whether an entry has expired."""
        return self._ttl is not None and self._ttl.has_expired(entry[1], self._scope.now)

    @property
    def now(self) -> int:
        """Processing time."""
        return self._scope.now

    def have_expired(self, begun: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell which of many lives are over."""
        return np.zeros(len(begun), np.bool_) if self._ttl is None else self._scope.now - begun >= self._ttl.ttl

    def visible(self, entry: Entry | None) -> Entry | None:
        """Give an entry that may be seen, None otherwise."""
        return None if entry is None or (self.has_expired(entry) and not self.shows_expired) else entry

    def read(self, entry: Entry | None, rewrite: Callable[[Entry], None], remove: Callable[[], None]) -> Entry | None:
        """Give an entry that may be seen. An expired one is removed, a live one renewed if reads do that."""
        if entry is None or not self.ends:
            return entry
        if self.has_expired(entry):
            remove()
            return self.visible(entry)
        if self.renewed_by_reads:
            rewrite(self.begin(entry[0]))
        return entry
