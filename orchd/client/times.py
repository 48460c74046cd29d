"""Times as objects carry them, from seconds since the epoch."""

from __future__ import annotations

import time


def second_time(seconds: float) -> str:
    """RFC 3339, whole seconds: the form of Time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds)))


def micro_time(seconds: float) -> str:
    """RFC 3339 with microseconds: the form of MicroTime."""
    whole = int(seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{int((seconds - whole) * 1e6):06d}Z"
