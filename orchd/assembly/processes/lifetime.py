"""How the processes of one server end together, and what the system calls them. Without Linux these functions do
nothing, and the end of a connection to the owner tells its end."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

#: prctl(2).
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15
_PR_SET_CHILD_SUBREAPER: Final = 36
_LINUX: Final = sys.platform.startswith("linux")


def _prctl(option: int, value: int | bytes) -> None:
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def end_with(owner: int) -> None:
    """Have the system kill this process when `owner`, its parent, ends. Raises SystemExit if it has ended."""
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if _LINUX and os.getppid() != owner:
        raise SystemExit(1)


def adopt_orphans() -> None:
    """Make this process the parent of processes below it whose own parents have ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_name(name: str) -> None:
    """The name of this process in `ps -o comm` and `top`, of at most 15 bytes."""
    _prctl(_PR_SET_NAME, name.encode())


def is_reaped_here() -> bool:
    """True if `adopt_orphans` works, so that the exit status of such processes can be had."""
    return _LINUX
