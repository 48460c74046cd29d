"""Numbers that a controller keeps about itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ControllerMetrics:
    """`worked`: keys that were worked on; `failed`: of those, how many will be tried again; `seconds`: time spent."""

    worked: int = 0
    failed: int = 0
    seconds: float = 0.0
