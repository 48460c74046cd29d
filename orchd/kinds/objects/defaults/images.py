"""Names of container images, as far as defaults depend on them.

The grammar is that of the Docker distribution project's reference: ``[domain/]path[:tag][@digest]``.
"""

from __future__ import annotations

import re
from typing import Final

from orchd.kinds.shorttexts import remember_short

_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
#: Each separator has a character, so that there is one way only to take a part apart: time is linear in its length.
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
    """The tag of an image name: ``latest`` when it has neither tag nor digest, "" when it has a digest or is no name."""
    if len(image) > 4096 or _HEX.fullmatch(image):
        return ""
    match = _REFERENCE.fullmatch(image)
    if match is None:
        return ""
    return match["tag"] or ("" if match["digest"] else "latest")


def pull_policy(image: str) -> str:
    """What imagePullPolicy is when it is not given."""
    return "Always" if tag(image) == "latest" else "IfNotPresent"
