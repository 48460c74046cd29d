"""What the samples of a soak say: whether a size grows, by its slope within the lives of the server, and a picture of
all sizes.

Sizes go up and down with the compactions of a minute, so that a slope has an error: what grows does so by more than two
of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

#: A size grows if its slope adds more than this share of its mean to it in an hour, and more than this many units.
_SHARE, _LEAST = 0.10, 3.0
#: Settled seconds of one life below which nothing is called growth.
_SPAN = 600.0
#: Seconds whose samples count as one, their mean: neighbours are not independent.
_BIN = 60.0
_WIDTH, _HEIGHT, _MARGIN = 860, 130, 40


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Sizes by name at a monotonic time, in the `life`-th process of the server."""

    at: float
    life: int
    values: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`slope` and its standard `error` are per hour, of the settled samples; `span` is the longest settled time of a
    life, in seconds."""

    name: str
    least: float
    mean: float
    most: float
    slope: float
    error: float
    span: float

    @property
    def grows(self) -> bool:
        return self.span >= _SPAN and self.slope - 2 * self.error > max(_LEAST, _SHARE * self.mean)

    def line(self) -> str:
        """A row of the table."""
        word = "GROWING" if self.grows else "flat" if self.span >= _SPAN else "too short to say"
        return f"{self.name:22} {self.least:9.1f} .. {self.most:9.1f}  mean {self.mean:9.1f}  slope {self.slope:+8.2f} +- {self.error:.2f}/h  {word}"


def judge(samples: Sequence[Sample], *, settled: float) -> list[Verdict]:
    """Verdicts by size. The first `settled` seconds of each life do not count, so that what fills a bound is not called
    growth."""
    begun: dict[int, float] = {}
    for sample in samples:
        begun.setdefault(sample.life, sample.at)
    steady = [each for each in samples if each.at - begun[each.life] >= settled]
    return [_judge(name, steady) for name in (samples[0].values if samples else ())]


def _judge(name: str, steady: Sequence[Sample]) -> Verdict:
    """The slope is the regression of all lives together, each about its own mean: starts between them do not count."""
    lives: dict[int, list[tuple[float, float]]] = {}
    for each in steady:
        lives.setdefault(each.life, []).append((each.at, each.values[name]))
    centred = [point for points in lives.values() for point in _centred(_means(points))]
    squares = sum(at * at for at, _ in centred)
    slope = sum(at * value for at, value in centred) / squares if squares else 0.0
    left = sum((value - slope * at) ** 2 for at, value in centred)
    free = len(centred) - len(lives) - 1
    values = [each.values[name] for each in steady] or [0.0]
    return Verdict(
        name=name,
        least=min(values),
        mean=sum(values) / len(values),
        most=max(values),
        slope=slope,
        error=(left / free / squares) ** 0.5 if free > 0 and squares else 0.0,
        span=max((points[-1][0] - points[0][0] for points in lives.values()), default=0.0),
    )


def _means(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Means of the points of each minute: hours and values."""
    minutes: dict[int, list[tuple[float, float]]] = {}
    for at, value in points:
        minutes.setdefault(int((at - points[0][0]) / _BIN), []).append((at / 3600, value))
    return [_mean(each) for each in minutes.values()]


def _mean(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(at for at, _ in points) / len(points), sum(value for _, value in points) / len(points)


def _centred(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points about their mean."""
    middle, mean = _mean(points)
    return [(at - middle, value - mean) for at, value in points]


def picture(samples: Sequence[Sample], verdicts: Sequence[Verdict]) -> str:
    """An SVG document: a curve of each size over minutes, with a line at each start."""
    first, last = samples[0].at, samples[-1].at
    height = len(verdicts) * _HEIGHT + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]

    def across(at: float) -> float:
        return _MARGIN + (at - first) / max(1.0, last - first) * (_WIDTH - 2 * _MARGIN)

    for row, verdict in enumerate(verdicts):
        top, bottom = row * _HEIGHT + 26, (row + 1) * _HEIGHT - 4
        most = max(each.values[verdict.name] for each in samples) or 1.0
        points = " ".join(
            f"{across(each.at):.1f},{bottom - each.values[verdict.name] / most * (bottom - top):.1f}"
            for each in samples
        )
        starts = [each.at for before, each in pairwise(samples) if before.life != each.life]
        parts += [
            f'<line x1="{across(at):.1f}" x2="{across(at):.1f}" y1="{top}" y2="{bottom}" stroke="#ccc"/>'
            for at in starts
        ]
        parts += [
            f'<text x="{_MARGIN}" y="{top - 8}">{escape(verdict.line())}</text>',
            f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{bottom}" y2="{bottom}" stroke="#888"/>',
            f'<text x="2" y="{top + 10}">{most:.0f}</text>',
            f'<polyline fill="none" stroke="#1f5fa8" points="{points}"/>',
        ]
    minutes = (last - first) / 60
    parts.append(
        f'<text x="{_MARGIN}" y="{height - 12}">{minutes:.0f} minutes; grey lines are starts of the server</text></svg>'
    )
    return "\n".join(parts)
