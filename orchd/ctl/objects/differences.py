"""The merge patch between two objects."""

from __future__ import annotations

from orchd.kinds.jsonvalues import Object


def difference(before: Object, after: Object) -> Object:
    """The merge patch that turns `before` into `after`."""
    out: Object = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            inner = difference(old, value)
            if inner:
                out[key] = inner
        elif key not in before or value != old:
            out[key] = value
    return out
