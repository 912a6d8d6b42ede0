"""The verdict on figures made up, and a short run of the job."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from campaigns.soak.query import Wave
from campaigns.soak.report import FIGURES, report, rising, trends
from campaigns.soak.run import soak
from campaigns.soak.sample import Figures
from campaigns.soak.verdict import PER_BATCHES, Trend

WAVE = Wave(batches=2000, period=200)


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
    found = rising(trends(made_up(leak=4e4), WAVE))
    assert found == ["store own at the peak", "store own at the trough"]


def test_mappings_of_state_may_vary_at_peaks_alone() -> None:
    figure = FIGURES["jvm state maps"]
    waves = [200 + 4 * n for n in range(10)]  # 20 in 1,000 batches
    assert Trend(waves, WAVE.period, figure.limit_at("peak")).is_flat
    assert not Trend(waves, WAVE.period, figure.limit_at("trough")).is_flat


GROWN = (192, 207, 207, 210, 210, 223, 224, 232, 224, 224)
"""MB of a JVM that keeps more and more, with noise."""


@pytest.mark.parametrize("waves", [GROWN, [192 + 32 * n / 9 for n in range(10)]])
def test_192_to_224_mb_rises(waves: Sequence[float]) -> None:
    figure = FIGURES["jvm outside"]
    assert not Trend(waves, WAVE.period, figure.limit).is_flat


@pytest.mark.parametrize("noise", [0, 5, 20, 80])
def test_noise_does_not_hide_growth(noise: float) -> None:
    figure = FIGURES["store own"]
    waves = [165 + 10 * n + (noise if n % 2 else -noise) for n in range(10)]
    assert not Trend(waves, WAVE.period, figure.limit).is_flat


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.limit])
def test_every_judged_figure_can_rise(name: str) -> None:
    limit = FIGURES[name].limit
    assert limit is not None
    step = limit * WAVE.period / PER_BATCHES
    assert Trend([100 + 0.9 * step * n for n in range(10)], WAVE.period, limit).is_flat
    assert not Trend([100 + 1.1 * step * n for n in range(10)], WAVE.period, limit).is_flat


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_short_run(tmp_path: Path) -> None:
    wave = Wave(batches=60, period=10, rows=1000)
    samples, right = soak(wave, tmp_path / "run")
    assert right
    assert [taken["batch"] for taken in samples] == [*range(wave.batches)]
    assert len({taken["store process"] for taken in samples}) == 1
    found = trends(samples, wave)
    assert "closed windows" in report(wave, samples, found, right=right, commit="0123456789")
