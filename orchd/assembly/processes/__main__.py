"""Entry point of the template process, from which the serving processes are forked. It ends with its owner, also while
it still imports the server.

Argument: the process id of its owner.
"""

from __future__ import annotations

import sys

from orchd.assembly.processes.lifetime import end_with, set_name

if __name__ == "__main__":
    owner = int(sys.argv[1])
    end_with(owner)
    set_name("template")
    from orchd.assembly.processes.forks import main

    main(owner)
