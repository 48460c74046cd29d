"""The doubles of this folder, importable by its tests and by those of the wire."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
