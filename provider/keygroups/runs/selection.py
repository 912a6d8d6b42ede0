"""Which rows of a plan to merge: those of each column family by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from keygroups.checkpoint.catalog import Catalog
from keygroups.runs.extent import Size, total
from keygroups.runs.merging import Merge, is_begun
from keygroups.runs.plan import Plan, batches_of, runs_with
from keygroups.runs.reclaiming import reclaimable
from keygroups.runs.tiers import MOST_TIERS, select_runs


@dataclass(frozen=True)
class Selection:
    """Chooses among the runs of a version.

    Attributes:
        plan: its runs.
        catalog: its column families.
        fanout: runs of similar size that make a merge.
        ends: of families with a merge under way the number of its first run: newer ones may be merged.
    """

    plan: Plan
    catalog: Catalog
    fanout: int
    ends: Mapping[int, int]

    def due(self) -> list[Merge]:
        """Return the merges that are due, the smallest first; one for the families of which the same runs are due."""
        chosen: dict[tuple[tuple[int, ...], bool], set[int]] = {}
        for family, keys in self._families():
            if numbers := self._of(family, keys):
                is_oldest = numbers[-1] == runs_with(self.plan, family)[-1]
                chosen.setdefault((numbers, is_oldest), set()).add(family)
        merges = [self._merge(numbers, frozenset(families)) for (numbers, _), families in chosen.items()]
        return sorted(merges, key=lambda merge: merge.nbytes) or self._reclaiming()

    def _reclaiming(self) -> list[Merge]:
        """Return the merge that frees space, if one is due and nothing is under way."""
        if self.ends or not all(run.is_durable for run in self.plan):
            return []
        found = reclaimable(self.plan, dict(self._families()), self.fanout)
        return [self._merge(*found)] if found is not None else []

    def unfinished(self) -> list[Merge]:
        """Return the merges that a process before this one has begun: their inputs have lost their first rows."""
        found = ((self._begun(family), frozenset({family})) for family, _ in self._families())
        return [self._merge(numbers, families).resumed() for numbers, families in found if numbers]

    def _families(self) -> Iterator[tuple[int, int]]:
        """Yield the families that have rows, with the number of their keys."""
        keys = {family.id: family.num_keys for family in self.catalog.families}
        found = frozenset().union(*(run.families for run in self.plan))
        return ((family, keys[family]) for family in sorted(found & keys.keys()))

    def _of(self, family: int, keys: int) -> tuple[int, ...]:
        """Return the runs of a family to merge.

        The runs of one batch count as one: a batch that spilled writes has several. Only if that makes more runs than
        a family may have, they are merged by themselves.
        """
        numbers = self._usable(family)
        batches = list(_batches(self.plan, numbers))
        sizes = [total(self._size(number, family) for number in batch) for batch in batches]
        start, stop = select_runs(sizes, keys, self.fanout) if batches else (0, 0)
        chosen = tuple(chain.from_iterable(batches[start:stop]))
        most = MOST_TIERS * self.fanout
        return chosen or next((tuple(batch) for batch in batches if len(batch) > most), ())

    def _usable(self, family: int) -> list[int]:
        """Return the runs of a family that are newer than what is merged, or not uploaded: that is not merged again."""
        numbers = runs_with(self.plan, family)
        first = next((number for number in numbers if not self.plan[number].is_durable), len(self.plan))
        end = min(first, self.ends.get(family, first))
        return [number for number in numbers if number < end]

    def _begun(self, family: int) -> tuple[int, ...]:
        """Return the runs of a merge that was begun: what has lost its first rows, and the run that has these."""
        numbers = runs_with(self.plan, family)
        begun = [at for at, number in enumerate(numbers) if is_begun(self.plan[number], family)]
        chosen = tuple(numbers[begun[0] : begun[-1] + 2]) if begun else ()
        is_usable = len(chosen) > 1 and all(self.plan[number].is_durable for number in chosen)
        return chosen if is_usable and family not in self.ends else ()

    def _merge(self, numbers: tuple[int, ...], families: frozenset[int]) -> Merge:
        runs = (self.plan[number].only(families) for number in numbers)
        older = frozenset().union(*(run.families for run in self.plan[numbers[-1] + 1 :]))
        return Merge(tuple(run for run in runs if run), families, families.isdisjoint(older), self.catalog)

    def _size(self, number: int, family: int) -> Size:
        return self.plan[number].extents[family].size


def _batches(plan: Plan, numbers: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of runs by the batch that made these."""
    left = iter(numbers)
    for runs in batches_of(tuple(plan[number] for number in numbers)):
        yield [next(left) for _ in runs]
