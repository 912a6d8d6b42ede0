"""The verdict on figures made up, and a short run of the job."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from soak.query import Wave
from soak.report import FIGURES, report, rising, trends
from soak.run import soak
from soak.sample import Figures

WAVE = Wave(batches=500, period=50)


def made_up(leak: float = 0.0, warm_up: float = 0.0) -> list[Figures]:
    """Samples of a store process with so many bytes more after each batch."""
    rng = random.Random(1)
    samples = []
    for batch in range(WAVE.batches):
        height = abs(batch % WAVE.period - WAVE.period // 2)
        held = 1e8 + 1e6 * height + leak * batch + warm_up * min(batch, 2 * WAVE.period)
        noise = rng.gauss(1, 0.01)
        samples.append(dict.fromkeys(FIGURES, 10.0) | {"batch": batch, "rows": height, "store own": held * noise})
    return samples


def test_waves_alone_are_flat() -> None:
    assert rising(trends(made_up(), WAVE)) == []


def test_a_warm_up_is_flat() -> None:
    assert rising(trends(made_up(warm_up=1e6), WAVE)) == []


def test_a_slow_leak_rises() -> None:
    found = rising(trends(made_up(leak=1e4), WAVE))
    assert found == ["store own at the peak", "store own at the trough"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_short_run(tmp_path: Path) -> None:
    wave = Wave(batches=60, period=10, rows=1000)
    samples, right = soak(wave, tmp_path / "run")
    assert right
    assert [taken["batch"] for taken in samples] == [*range(wave.batches)]
    assert len({taken["store process"] for taken in samples}) == 1
    found = trends(samples, wave)
    assert "closed windows" in report(wave, samples, found, right=right)
