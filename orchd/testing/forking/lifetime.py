"""Detection of the end of the test run by the processes of test clusters."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

#: prctl(2): the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Have this process killed when `parent`, which must be a process of one thread, ends. Linux only; elsewhere
    nothing is done, and the end of the channel has to tell."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # It ended before the call.
        os._exit(0)


def open_process(pid: int) -> int | None:
    """A descriptor that can be read once the process has ended; None where the system has no such thing, and for a
    process that has ended already."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def is_running(pid: int) -> bool:
    """True if a process with this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
