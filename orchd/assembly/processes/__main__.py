"""The first steps of a serving process: it ends with its owner from the beginning, also while it still imports the server.

Arguments: the name of the process, and the process id of its owner.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

#: prctl(2).
_PR_SET_PDEATHSIG: Final = 1


def end_with(owner: int) -> None:
    """Have the system kill this process when `owner`, its parent, ends. Without Linux the end of the pipes to the owner does that,
    later. Raises SystemExit if it has ended."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != owner:
        raise SystemExit(1)


if __name__ == "__main__":
    end_with(int(sys.argv[2]))
    from orchd.assembly.processes.worker import main

    main()
