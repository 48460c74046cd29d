"""Rules of default roles as rows: words and, by release and feature gate, who has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a role: texts of words, which are templates for a Dialect; `groups` writes the core group as ``core``.
    `since` and `until` are the first release with the rule and the first one without it; `gate` is a feature gate that
    must be on."""

    verbs: str
    groups: str = ""
    resources: str = ""
    names: str = ""
    paths: str = ""
    since: str = ""
    until: str = ""
    gate: str = ""


READ: Final = "get list watch"
WRITE: Final = "create delete deletecollection patch update"
FULL: Final = "create delete deletecollection get list patch update watch"
EVENTS: Final = Rule("create patch update", "core events.{abbr}.io", "events")
