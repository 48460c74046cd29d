"""The console script. It imports nothing but the standard library until it knows that the packages of the extra are
there."""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec

#: Packages of the extra ``cli``.
_PACKAGES = ("click", "rich")


def run() -> None:
    """Run the program. Raises SystemExit.

    Garbage is not collected before the first request: modules leave little, and looking for it is an eighth of the CPU
    time of a short command.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise SystemExit(f"{sys.argv[0]}: {' and '.join(missing)} not installed: pip install 'orchd[cli]'")
    gc.disable()
    # The client speaks HTTP/1.1. twisted.web imports this module if it can, which takes a tenth of a short command.
    sys.modules.setdefault("twisted.web._http2", None)  # type: ignore[arg-type]  # an import of it then fails
    from orchd.ctl.program import main

    sys.exit(main())


if __name__ == "__main__":
    run()
