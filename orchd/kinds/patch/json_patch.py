"""JSON patch (RFC 6902), with the liberties that the reference takes.

Negative indexes count from the end, indexes may have leading zeros, `replace` of a missing member adds it, `copy` of a
missing one copies null, and `test` of a missing one against null holds. Every failure to apply gives the same 422.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from orchd.errors import ApiError, bad_request
from orchd.kinds.objects import strict
from orchd.kinds.patch.gotext import json_name
from orchd.kinds.patch.patch_errors import no_object, rejected
from orchd.kinds.patch.syntax import SyntaxProblem, decode

MAX_OPERATIONS: Final = 10_000
#: How much all `copy` operations of one patch may add, in bytes of JSON.
MAX_COPIED: Final = 3 * 1024 * 1024

#: Members of an operation that are text.
_TEXTS: Final = ("op", "path", "from")
_INDEX = re.compile(r"[+-]?[0-9]+")


class _Failed(Exception):
    """An operation that does not apply."""


def apply(doc: Any, patch: bytes | str | list[Any] | None) -> Any:
    """The document after all operations. ApiError: 400 for what is no patch, 413 for more than `MAX_OPERATIONS`
    operations, 422 when one does not apply."""
    operations = parse(patch)
    editor = _Editor(doc)
    try:
        for operation in operations:
            editor.do(operation)
    except _Failed:
        raise rejected() from None
    if isinstance(editor.doc, list):
        raise no_object(editor.doc)
    return editor.doc


def parse(patch: bytes | str | list[Any] | None) -> list[dict[str, Any]]:
    """The operations of a patch document, checked for number and shape."""
    if isinstance(patch, bytes | str):
        try:
            patch = decode(patch)
        except SyntaxProblem as problem:
            raise bad_request(str(problem)) from None
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise bad_request(f"json: cannot unmarshal {json_name(patch)} into Go value of type jsonpatch.Patch")
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            raise bad_request(
                f"json: cannot unmarshal {json_name(operation)} into Go value of type jsonpatch.Operation"
            )
    if len(patch) > MAX_OPERATIONS:
        raise ApiError(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(patch)}",
        )
    return [operation or {} for operation in patch]


def check(patch: bytes) -> None:
    """ApiError 400 unless `patch` is a list of operations whose members have the right types, as strict decoding wants
    it before anything else."""
    why = ""
    try:
        value = decode(patch)
    except SyntaxProblem as problem:
        why, value = str(problem), None
    if isinstance(value, list):
        for operation in value:
            why = why or _wrong_member(operation)
    elif value is not None:
        why = f"json: cannot unmarshal {json_name(value)} into Go value of type []handlers.jsonPatchOp"
    if why:
        raise bad_request(f"error decoding patch: {why}")


def _wrong_member(operation: Any) -> str:
    if operation is None:
        return ""
    if not isinstance(operation, dict):
        return f"json: cannot unmarshal {json_name(operation)} into Go value of type handlers.jsonPatchOp"
    for name, value in operation.items():
        if name in _TEXTS and not isinstance(value, str | None):
            return f"json: cannot unmarshal {json_name(value)} into Go struct field jsonPatchOp.{name} of type string"
    return ""


def problems(operations: Any) -> list[str]:
    """What strict decoding says about a patch, read with its members as they stand (`strict.Members`)."""
    found = strict.Problems()
    for operation in operations or ():
        seen: set[str] = set()
        for name, value in operation or ():
            if name not in (*_TEXTS, "value"):
                found.add(f'unknown field "{name}"')
                continue
            if name in seen:
                found.add(f'duplicate field "{name}"')
            seen.add(name)
            if name == "value":
                for text in strict.duplicates(value):
                    found.add(text)
    return [f"json patch {text}" for text in found]


def equal(left: Any, right: Any) -> bool:
    """Are two JSON values the same, types included (1 is neither true nor 1.0)?"""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return len(left) == len(right) and all(k in right and equal(v, right[k]) for k, v in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)


def _text(operation: dict[str, Any], member: str) -> str:
    value = operation.get(member)
    if not isinstance(value, str):
        raise _Failed
    return value


def _index(part: str, length: int) -> int:
    """The position that `part` names among `length` possible ones."""
    if not _INDEX.fullmatch(part) or len(part) > 18:
        raise _Failed
    position = int(part)
    if position < 0:
        position += length
    if not 0 <= position < length:
        raise _Failed
    return position


def _size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except orjson.JSONEncodeError:
        # Copies into copies have nested it deeper than any object may be.
        raise _Failed from None


def _get(container: Any, part: str) -> Any:
    """A member, null when an object has none."""
    return container.get(part) if isinstance(container, dict) else container[_index(part, len(container))]


class _Editor:
    """One run over one document. Containers are copied before their first change; `_own` holds the copies, by id."""

    def __init__(self, doc: Any) -> None:
        self.doc = doc
        self._own: dict[int, Any] = {}
        self._copied = 0

    def do(self, operation: dict[str, Any]) -> None:
        kind = operation.get("op")
        if kind == "add":
            self._add(_text(operation, "path"), operation.get("value"))
        elif kind == "remove":
            self._remove(_text(operation, "path"))
        elif kind == "replace" and operation.get("path") == "":
            # The whole document; a scalar in its place is not taken, and nobody is told.
            if isinstance(operation.get("value"), dict | list):
                self.doc = operation["value"]
        elif kind == "replace":
            container, part = self._find(_text(operation, "path"))
            if isinstance(container, list):
                container[_index(part, len(container))] = operation.get("value")
            else:
                container[part] = operation.get("value")
        elif kind == "move":
            source = _text(operation, "from")
            value = _get(*self._find(source))
            self._remove(source)
            self._add(_text(operation, "path"), value)
        elif kind == "copy":
            value = _get(*self._find(_text(operation, "from")))
            self._copied += _size(value)
            if self._copied > MAX_COPIED:
                raise _Failed
            self._disown(value)
            self._add(_text(operation, "path"), value)
        elif kind == "test":
            if not equal(_get(*self._find(_text(operation, "path"))), operation.get("value")):
                raise _Failed
        else:
            raise _Failed

    def _add(self, path: str, value: Any) -> None:
        container, part = self._find(path)
        if isinstance(container, dict):
            container[part] = value
        elif part == "-":
            container.append(value)
        else:
            container.insert(_index(part, len(container) + 1), value)

    def _remove(self, path: str) -> None:
        container, part = self._find(path)
        if isinstance(container, list):
            del container[_index(part, len(container))]
        elif part in container:
            del container[part]
        else:
            raise _Failed

    def _find(self, path: str) -> tuple[Any, str]:
        """The container of the last part of `path`, ours to edit, and that part."""
        _, *parts = path.split("/")
        if not parts:
            raise _Failed
        parts = [p.replace("~1", "/").replace("~0", "~") for p in parts]
        container = self.doc = self._mine(self.doc)
        for part in parts[:-1]:
            child = self._mine(_get(container, part))
            if isinstance(container, dict):
                container[part] = child
            else:
                container[_index(part, len(container))] = child
            container = child
        return container, parts[-1]

    def _mine(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        if not isinstance(container, dict | list):
            raise _Failed
        copy = container.copy()
        self._own[id(copy)] = copy
        return copy

    def _disown(self, value: Any) -> None:
        """Two places share `value` from now on: an edit of either must copy again."""
        if isinstance(value, dict | list):
            self._own.pop(id(value), None)
            for child in value.values() if isinstance(value, dict) else value:
                self._disown(child)
