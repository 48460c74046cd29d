"""Events of controllers: their types, and the object that an Event is about."""

from __future__ import annotations

from typing import Final

from orchd.kinds.jsonvalues import Object

NORMAL: Final = "Normal"
WARNING: Final = "Warning"


def with_type(obj: Object, api_version: str, kind: str) -> Object:
    """`obj` with apiVersion and kind, which list items may lack."""
    return obj if "kind" in obj and "apiVersion" in obj else {"apiVersion": api_version, "kind": kind, **obj}
