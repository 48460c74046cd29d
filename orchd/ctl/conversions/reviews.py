"""Access reviews of v1beta1."""

from __future__ import annotations

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object


def access_review(obj: Object, dialect: Dialect) -> Object:
    """The groups of the user were called group."""
    spec = obj.get("spec")
    if not isinstance(spec, dict) or "group" not in spec:
        return obj
    return {**obj, "spec": {("groups" if key == "group" else key): value for key, value in spec.items()}}
