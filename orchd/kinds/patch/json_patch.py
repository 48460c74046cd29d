"""JSON patch (RFC 6902), with the deviations of the reference.

Negative indexes count from the end, indexes may have leading zeros, `replace` of a missing member adds it, `copy` of a
missing one copies null, and `test` of a missing one against null holds. Every failure to apply gives the same 422.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import orjson

from orchd.errors import ApiError, bad_request, quoted
from orchd.kinds.bounds import MAX_VALUES, json_values
from orchd.kinds.gotext.values import json_name
from orchd.kinds.objects import strict
from orchd.kinds.patch.patch_errors import no_object, rejection
from orchd.kinds.patch.syntax import SyntaxProblem, decode

T = TypeVar("T")

MAX_OPERATIONS: Final = 10_000
#: Maximum bytes of JSON that all `copy` operations of a patch may add.
MAX_COPIED: Final = 3 * 1024 * 1024

#: String members of an operation.
_TEXTS: Final = ("op", "path", "from")
_MISSING: Final = "missing value"
_OUT_OF_RANGE: Final = "Unable to access invalid index: {}: invalid index referenced"
_INDEX = re.compile(r"[+-]?[0-9]+")


class FailedError(Exception):
    """An operation that cannot be applied. The message is the reference's."""


class _Failed(FailedError):
    """A failure inside an operation, without the description of the operation."""

    def __init__(self, why: str = _MISSING) -> None:
        super().__init__(why)


def apply(doc: Any, patch: bytes | str | list[Any] | None) -> Any:
    """Apply a patch document. Raises ApiError: 400 for a malformed patch, 413 for more than `MAX_OPERATIONS`
    operations, 422 if an operation cannot be applied."""
    try:
        patched = apply_operations(doc, parse(patch))
    except FailedError:
        raise rejection() from None
    if isinstance(patched, list):
        raise no_object(patched)
    return patched


def apply_operations(doc: Any, operations: list[dict[str, Any]]) -> Any:
    """Apply operations from `parse` to a document. The result may be a list. Members are sorted where operations looked
    at them, as in errors of the reference about the result. Raises FailedError."""
    editor = _Editor(doc)
    for operation in operations:
        editor.do(operation)
    editor.sort()
    return editor.doc


def parse(patch: bytes | str | list[Any] | None) -> list[dict[str, Any]]:
    """Parse a patch document to operations, whose number and types are checked."""
    if isinstance(patch, bytes | str):
        try:
            patch = decode(patch, exact=True)
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
    """Raise ApiError 400 unless `patch` is a list of operations with members of the right types. First step of strict
    decoding."""
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


def problems(operations: Any, *, located: bool = False) -> list[str]:
    """Strict decoding problems of a patch that was decoded to `strict.Members`; `located`: with their paths."""
    problems_ = strict.Problems()
    for index, operation in enumerate(operations or ()):
        seen: set[str] = set()
        for name, value in operation or ():
            here = f"[{index}].{name}" if located else name
            if name not in (*_TEXTS, "value"):
                problems_.add(f'unknown field "{here}"')
                continue
            if name in seen:
                problems_.add(f'duplicate field "{here}"')
            seen.add(name)
            if name == "value":
                for text in strict.duplicates(value, located=located, at=here):
                    problems_.add(text)
    return [f"json patch {text}" for text in problems_]


def equal(left: Any, right: Any) -> bool:
    """True if two JSON values are equal, including their types (1 is neither true nor 1.0)."""
    # Python tells most values apart quickly.
    return bool(left == right) and _same_types(left, right)


def _same_types(left: Any, right: Any) -> bool:
    """True if values that Python finds equal have the same types."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return all(_same_types(item, right[name]) for name, item in left.items())
    return not isinstance(left, list) or all(map(_same_types, left, right))


def _text(operation: dict[str, Any], member: str) -> str:
    value = operation.get(member)
    if not isinstance(value, str):
        raise FailedError(f"{operation.get('op')} operation failed to decode {member}: {_MISSING}")
    return value


def _index(part: str, length: int, note: str = "") -> int:
    """Parse the list index `part` among `length` positions. `note` precedes the error of a malformed number."""
    if not _INDEX.fullmatch(part) or len(part) > 18:
        why = "invalid syntax" if not _INDEX.fullmatch(part) else "value out of range"
        raise _Failed(f"{note}strconv.Atoi: parsing {quoted(part)}: {why}")
    position = number = int(part)
    if position < 0:
        position += length
    if not 0 <= position < length:
        raise _Failed(_OUT_OF_RANGE.format(number))
    return position


def _within(text: str, work: Callable[[], T], *, alone: bool = False) -> T:
    """The result of `work`. Raises FailedError with `text` before the message of its failure, or with `alone`."""
    try:
        return work()
    except _Failed as failed:
        raise FailedError(text if alone else f"{text}: {failed}") from None


def _text_of(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        # Repeated copies can exceed the maximum nesting depth.
        raise _Failed from None


def _get(container: Any, part: str) -> Any:
    """The value of a member, null if an object does not have it."""
    return container.get(part) if isinstance(container, dict) else container[_index(part, len(container))]


class _Editor:
    """Applies operations to one document. Containers are copied before their first change; `_own` has the copies by
    id."""

    def __init__(self, doc: Any) -> None:
        self.doc = doc
        self._own: dict[int, Any] = {}
        #: Bytes and values added by `copy` operations.
        self._copied = self._values = 0

    def do(self, operation: dict[str, Any]) -> None:
        """Apply one operation. Raises FailedError."""
        kind, value = operation.get("op"), operation.get("value")
        if kind == "add":
            path = _text(operation, "path")
            place = self._find(path, f'add operation does not apply: doc is missing path: "{path}"')
            _within(f"error in add for path: '{path}'", lambda: self._add(place, value))
        elif kind == "remove":
            path = _text(operation, "path")
            place = self._find(path, f'remove operation does not apply: doc is missing path: "{path}"')
            _within(f"error in remove for path: '{path}'", lambda: self._remove(place))
        elif kind == "replace":
            self._replace(_text(operation, "path"), value)
        elif kind == "move":
            self._move(operation)
        elif kind == "copy":
            self._copy(operation)
        elif kind == "test":
            self._test(_text(operation, "path"), value)
        else:
            raise FailedError(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")

    def sort(self) -> None:
        """Sort the members of the objects that are copies."""
        for container in self._own.values():
            if isinstance(container, dict):
                members = sorted(container.items())
                container.clear()
                container.update(members)

    def _replace(self, path: str, value: Any) -> None:
        if path == "":
            # Replacement of the whole document. As in the reference, a scalar is ignored silently.
            if isinstance(value, dict | list):
                self.doc = value
            return
        container, part = self._find(path, f"replace operation does not apply: doc is missing path: {path}")
        if isinstance(container, list):
            missing = f"replace operation does not apply: doc is missing key: {path}: {_MISSING}"
            container[_within(missing, lambda: _index(part, len(container)), alone=True)] = value
        else:
            container[part] = value

    def _move(self, operation: dict[str, Any]) -> None:
        source = _text(operation, "from")
        place = self._find(source, f"move operation does not apply: doc is missing from path: {source}")
        text = f"error in move for path: '{place[1]}'"
        value = _within(text, lambda: _get(*place))
        _within(text, lambda: self._remove(place))
        path = _text(operation, "path")
        aim = self._find(path, f"move operation does not apply: doc is missing destination path: {path}")
        _within(f"error in move for path: '{path}'", lambda: self._add(aim, value))

    def _copy(self, operation: dict[str, Any]) -> None:
        source = _text(operation, "from")
        place = self._find(source, f"copy operation does not apply: doc is missing from path: {source}")
        value = _within(f"error in copy for from: '{source}'", lambda: _get(*place))
        path = _text(operation, "path")
        aim = self._find(path, f"copy operation does not apply: doc is missing destination path: {path}")
        text = _text_of(value)
        self._copied += len(text)
        self._values += json_values(text)
        if self._values > MAX_VALUES:
            raise FailedError(f"copy operations add more than {MAX_VALUES} values")
        if self._copied > MAX_COPIED:
            raise FailedError(
                f"Unable to complete the copy, the accumulated size increase of copy is {self._copied}, exceeding the "
                f"limit {MAX_COPIED}"
            )
        self._disown(value)
        _within("error while adding value during copy", lambda: self._add(aim, value))

    def _test(self, path: str, value: Any) -> None:
        failed = FailedError(f"testing value {path} failed: test failed")
        if path == "":
            if not equal(self.doc, value):
                raise failed
            return
        place = self._find(path, f"test operation does not apply: is missing path: {path}")
        if not equal(_within(f"error in test for path: '{path}'", lambda: _get(*place)), value):
            raise failed

    def _add(self, place: tuple[Any, str], value: Any) -> None:
        container, part = place
        if isinstance(container, dict):
            container[part] = value
        elif part == "-":
            container.append(value)
        else:
            note = f"value was not a proper array index: '{part}': "
            container.insert(_index(part, len(container) + 1, note), value)

    def _remove(self, place: tuple[Any, str]) -> None:
        container, part = place
        if isinstance(container, list):
            del container[_index(part, len(container))]
        elif part in container:
            del container[part]
        else:
            raise _Failed(f"Unable to remove nonexistent key: {part}: {_MISSING}")

    def _find(self, path: str, missing: str) -> tuple[Any, str]:
        """The writable container of the last part of `path`, and that part. Raises FailedError, whose text begins with
        `missing`, if the container does not exist."""
        return _within(f"{missing}: {_MISSING}", lambda: self._container(path), alone=True)

    def _container(self, path: str) -> tuple[Any, str]:
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
        """Mark `value` as shared by two places: a change of either must copy it."""
        if isinstance(value, dict | list):
            self._own.pop(id(value), None)
            for child in value.values() if isinstance(value, dict) else value:
                self._disown(child)
