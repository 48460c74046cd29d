"""Measurements of processes that tests start."""

from __future__ import annotations

from pathlib import Path

import pytest


def resident_memory(pid: int) -> int:
    """Resident memory of a process in bytes; skips the test on systems without /proc."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("this system has no /proc")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
