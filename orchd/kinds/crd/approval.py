"""Protected API groups, whose definitions need an approval annotation (enhancement 1111 of the reference)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from orchd.dialect import Dialect

#: Annotation with the URL of the approval.
APPROVAL: Final = "api-approved.{long}.io"


def is_protected(group: str, dialect: Dialect) -> bool:
    """True if a group is protected."""
    return ("." + group).endswith((dialect(".{abbr}.io"), dialect(".{long}.io")))


def approval(metadata: Mapping[str, Any], dialect: Dialect) -> tuple[str, str]:
    """The state of the annotation ("approved", "bypassed", "missing" or "invalid"), and the reference's message about
    it."""
    key = dialect(APPROVAL)
    annotation = (metadata.get("annotations") or {}).get(key) or ""
    link = dialect("https://github.com/{long}/enhancements/pull/1111")
    needed = f'protected groups must have approval annotation "{key}"'
    if not annotation:
        return "missing", f"{needed}, see {link}"
    if annotation.startswith("unapproved"):
        return "bypassed", f'not approved: "{annotation}"'
    try:
        parts = urlsplit(annotation)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme and parts.netloc:
        return "approved", f"approved in {annotation}"
    return "invalid", f'{needed} with either a URL or a reason starting with "unapproved", see {link}'
