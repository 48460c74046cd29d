"""Types of decoded JSON objects, and objects without the notes about their writers.

Objects are shared trees: functions build new ones and do not modify what they were given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

#: An object of the API, or a part of one.
Object: TypeAlias = dict[str, Any]
#: The same, for functions that only read it and accept any mapping.
ObjectView: TypeAlias = Mapping[str, Any]


def without_managed_fields(obj: Object) -> Object:
    """The object without metadata.managedFields; the object itself if it has none."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}
