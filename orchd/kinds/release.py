"""The release of the reference that is emulated (docs/glossary.md)."""

from __future__ import annotations

from typing import Final

#: The version that servers and simulated nodes report.
VERSION: Final = "v1.23.17"
_MAJOR, _MINOR = VERSION.removeprefix("v").split(".")[:2]
#: The release without the patch level, and the one before it.
RELEASE: Final = f"{_MAJOR}.{_MINOR}"
PREVIOUS_RELEASE: Final = f"{_MAJOR}.{int(_MINOR) - 1}"
