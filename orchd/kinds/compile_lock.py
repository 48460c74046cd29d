"""`COMPILE_LOCK`: the lock under which algorithms over types are compiled to `Type.memo`.

Large bodies are decoded in another thread than the reactor's, so that two threads may need the same type. A compiled
form is put into the memo when it is complete; where a recursive type needs itself before that, the thread that holds
the lock finds the incomplete one under a key of its own.
"""

from __future__ import annotations

from threading import RLock
from typing import Final

COMPILE_LOCK: Final = RLock()
