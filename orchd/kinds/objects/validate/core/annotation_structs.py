"""JSON structures in annotations, and the errors of the reference's decoder for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from orchd.kinds.gotext.json_errors import json_error, json_kind
from orchd.kinds.jsonvalues import Object

#: JSON name of a member -> its Go type; the Go name begins with a capital.
TAINT: Final = {"key": "string", "value": "string", "effect": "core.TaintEffect", "timeAdded": "v1.Time"}
TOLERATION: Final = {
    "key": "string",
    "operator": "core.TolerationOperator",
    "value": "string",
    "effect": "core.TaintEffect",
    "tolerationSeconds": "int64",
}
_ENTRIES: Final = "preferAvoidPods"


def structs(text: str, type_name: str, members: Mapping[str, str]) -> tuple[list[Object], str]:
    """The structs of type `type_name` in a text, and the decoding error ("" for none)."""
    wrong = json_error(text.encode(), f"[]{type_name}", "array")
    if wrong:
        return [], wrong
    out: list[Object] = []
    for item in json.loads(text) or ():
        if item is not None and not isinstance(item, dict):
            return [], f"json: cannot unmarshal {json_kind(item)} into Go value of type {type_name}"
        read, wrong = _struct(item or {}, type_name, members)
        if wrong:
            return [], wrong
        out.append(read)
    return out, ""


def _struct(item: Object, type_name: str, members: Mapping[str, str]) -> tuple[Object, str]:
    """Decode a struct; names of members are matched case-insensitively."""
    names = {name.lower(): name for name in members}
    out: Object = {}
    for key, value in item.items():
        name = names.get(key.lower())
        if name is None or value is None:
            continue
        fits = (
            isinstance(value, int) and not isinstance(value, bool)
            if members[name] == "int64"
            else isinstance(value, str)
        )
        if not fits:
            field = f"{type_name.partition('.')[2]}.{name[0].upper()}{name[1:]}"
            return {}, f"json: cannot unmarshal {json_kind(value)} into Go struct field {field} of type {members[name]}"
        out[name] = value
    return out, ""


def avoided_controllers(text: str) -> tuple[list[Object | None], str]:
    """The controllers whose pods a node prefers to avoid (None for an entry without one), and the error."""
    wrong = json_error(text.encode(), "v1.AvoidPods")
    if wrong:
        return [], wrong
    entries = (json.loads(text) or {}).get(_ENTRIES)
    if entries is not None and not isinstance(entries, list):
        return [], _describe_mismatch(entries, "[]v1.PreferAvoidPodsEntry")
    out: list[Object | None] = []
    for entry in entries or ():
        if entry is not None and not isinstance(entry, dict):
            return [], _describe_mismatch(entry, "v1.PreferAvoidPodsEntry")
        signature = (entry or {}).get("podSignature")
        controller = signature.get("podController") if isinstance(signature, dict) else None
        out.append(controller if isinstance(controller, dict) else None)
    return out, ""


def _describe_mismatch(value: Any, type_name: str) -> str:
    return f"json: cannot unmarshal {json_kind(value)} into Go struct field AvoidPods.{_ENTRIES} of type {type_name}"
