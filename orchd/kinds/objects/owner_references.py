"""Owner references that say the same: the API takes each once (release 1.23)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

_REPEATED: Final = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)


def single_owners(obj: dict[str, Any], warn: Callable[[str], None], *, admitted: bool = False) -> dict[str, Any]:
    """`obj` with each owner named once; `warn` is told of those that were named again, by a client or in admission."""
    owners = (obj.get("metadata") or {}).get("ownerReferences")
    if not isinstance(owners, list) or len(owners) < 2:
        return obj
    kept: dict[str, Any] = {}
    again: list[str] = []
    for owner in owners:
        text = orjson.dumps(owner, option=orjson.OPT_SORT_KEYS).decode()
        if text in kept:
            again.append(str(owner.get("uid", "")))
        else:
            kept[text] = owner
    if not again:
        return obj
    when = " after mutating admission happens" if admitted else ""
    warn(_REPEATED.format(when=when, uids=", ".join(again)))
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": list(kept.values())}}
