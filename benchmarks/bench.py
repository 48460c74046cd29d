"""`Bench`: what the rows of the table share, and the form in which they are printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.load import Target
from orchd.pki.bootstrap import Files


@dataclass
class Bench:
    """The collaborators of a row."""

    files: Files
    scale: float
    pods: int
    #: For files of the rows.
    folder: Path
    #: How many connections send GETs, creates and patches; 0 for four or eight, by the row.
    clients: int = 0
    bare: float = 0.0
    target: Target | None = None
    pids: list[int] = field(default_factory=list)

    def times(self, count: int) -> int:
        return max(8, int(count * self.scale))

    def show(self, name: str, cpu_seconds: float | None, note: str = "") -> None:
        if cpu_seconds is None:
            print(f"{name:44} {'':>12} {'':>8}   {note}", flush=True)
            return
        units = f"{cpu_seconds / self.bare:8.2f}" if self.bare else " " * 8
        print(f"{name:44} {cpu_seconds * 1e6:9.1f} us {units}   {note}", flush=True)
