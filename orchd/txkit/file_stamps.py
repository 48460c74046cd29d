"""Detection of replaced files."""

from __future__ import annotations

import os
from collections.abc import Iterable


def stamps(names: Iterable[str]) -> tuple[tuple[int, int, int], ...]:
    """Identities of files, to detect replacement; zeros for a missing file."""
    out = []
    for name in names:
        try:
            status = os.stat(name)
            out.append((status.st_mtime_ns, status.st_ino, status.st_size))
        except OSError:
            out.append((0, 0, 0))
    return tuple(out)
