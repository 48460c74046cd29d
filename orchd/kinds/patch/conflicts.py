"""Conflicts of an apply: fields that it changes and other managers own."""

from __future__ import annotations

from typing import Final

from orchd.errors import ApiError, Cause
from orchd.kinds.jsonvalues import Object
from orchd.kinds.patch import managed, typed
from orchd.kinds.patch.fieldset import SELF, FieldSet, difference, is_member, sort_elements
from orchd.kinds.patch.fieldset import show as show_path
from orchd.kinds.patch.managed import Identity
from orchd.kinds.patch.ownership import OwnershipTarget
from orchd.kinds.patch.syntax import SyntaxProblem, decode
from orchd.kinds.patch.typed import TypedError
from orchd.kinds.release import Release


def raise_conflicts(conflicts: dict[Identity, FieldSet], release: Release) -> None:
    """Raise ApiError 409 if there are conflicts."""
    paths_of = release.choose(_PATHS)
    lines: list[tuple[str, list[str]]] = []
    for key in sorted(conflicts, key=managed.identity_text):
        lines.append((managed.show(key), [show_path(p) for p in paths_of(conflicts[key])]))
    count = sum(len(fields) for _, fields in lines)
    if not count:
        return
    if count == 1:
        text = f"1 conflict: conflict with {lines[0][0]}: {lines[0][1][0]}"
    else:
        blocks = ("\n".join([f"conflicts with {who}:", *(f"- {f}" for f in fields)]) for who, fields in lines)
        text = f"{count} conflicts: " + "\n".join(blocks)
    causes = [
        Cause("FieldManagerConflict", f"conflict with {who}", f).as_json() for who, fields in lines for f in fields
    ]
    raise ApiError(409, "Conflict", f"Apply failed with {text}", details={"causes": causes})


def _paths(fields: FieldSet) -> list[list[str]]:
    """The paths of a set: its members at each level, and then those below its fields."""
    places: list[list[str]] = []
    _collect_paths(sort_elements(fields), [], places)
    return places


def _collect_paths(fields: FieldSet, above: list[str], places: list[list[str]]) -> None:
    elements = [element for element in fields if element != SELF]
    places += [[*above, element] for element in elements if is_member(fields[element])]
    for element in elements:
        if fields[element]:
            _collect_paths(fields[element], [*above, element], places)


def _overwritten_paths(fields: FieldSet) -> list[list[str]]:
    """The paths of a set as the reference once reported them: sibling paths may share memory, so that a later one, or a
    field above later ones, takes the last element of an earlier one.

    A path is an array, of which a path uses the first elements; appending writes into the array where it has room, and
    into a copy of twice the size otherwise.
    """
    places: list[tuple[list[str], int]] = []
    _collect(sort_elements(fields), [], 0, places)
    return [array[:length] for array, length in places]


def _collect(fields: FieldSet, array: list[str], length: int, places: list[tuple[list[str], int]]) -> None:
    elements = [element for element in fields if element != SELF]
    places += [_append(array, length, element) for element in elements if is_member(fields[element])]
    for element in elements:
        if fields[element]:
            _collect(fields[element], *_append(array, length, element), places)


#: The paths that conflicts name, from a release on.
_PATHS: Final = (("", _overwritten_paths), ("1.35", _paths))


def _append(array: list[str], length: int, element: str) -> tuple[list[str], int]:
    if length == len(array):
        array = [*array, *[""] * max(length, 1)]
    array[length] = element
    return array, length + 1


def without_excused(
    target: OwnershipTarget, live: Object, conflicts: dict[Identity, FieldSet]
) -> dict[Identity, FieldSet]:
    """Conflicts except those on fields that client-side apply set: fields of the last-applied annotation with unchanged
    values."""
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(target.dialect.last_applied)
    if not text:
        return conflicts
    try:
        last = decode(text)
        if not isinstance(last, dict) or last.get("apiVersion") != target.api_version or not last.get("kind"):
            return conflicts
        fields = typed.fields_of(last, target.type)
        for changed in typed.compare(live, last, target.type):
            fields = difference(fields, changed)
    except (SyntaxProblem, TypedError):
        return conflicts
    return {key: rest for key, lost in conflicts.items() if (rest := difference(lost, fields))}
