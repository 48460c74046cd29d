"""Parsing of container image names for defaults.

The grammar is that of the Docker distribution project's reference: ``[domain/]path[:tag][@digest]``.
"""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds.shorttexts import remember_short

_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
#: The grammar is unambiguous, so that matching takes linear time.
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_HEX = re.compile(r"[a-f0-9]{64}")


@remember_short(1024)
def tag(image: str) -> str:
    """The tag of an image name: ``latest`` without tag and digest, "" with a digest or for an invalid name."""
    if len(image) > 4096 or _HEX.fullmatch(image):
        return ""
    match = _REFERENCE.fullmatch(image)
    if match is None:
        return ""
    return match["tag"] or ("" if match["digest"] else "latest")


def pull_policy(image: str) -> str:
    """The default of imagePullPolicy for an image."""
    return "Always" if tag(image) == "latest" else "IfNotPresent"
