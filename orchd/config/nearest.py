"""Messages for unknown names, with the nearest known name as a suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from orchd.kinds.gotext.values import quote


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The known name most similar to `name`, "" if none is similar enough."""
    by_lower = {k.lower(): k for k in candidates}
    matches = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return by_lower[matches[0]] if matches else ""


def unknown(what: str, name: str, candidates: Iterable[str]) -> str:
    """``unknown controller "foo": did you mean "fob"?``"""
    guess = nearest(name, candidates)
    return f"unknown {what} {quote(name)}" + (f': did you mean "{guess}"?' if guess else "")
