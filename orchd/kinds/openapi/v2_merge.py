"""OpenAPI v2 documents of other servers: the part about one group version, and its union with the document of this
server.

The rules are those of the reference's aggregator: a definition that differs from one of the same name gets another name
(``_v2``, ``_v3``, ...), or that of an equal one which has been renamed before; definitions that differ only in their
groups, versions and kinds are merged into one with those of both; of two entries for a path the first is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchd.dialect import DIALECTS

Json = dict[str, Any]

_DEFINITIONS: Final = "#/definitions/"
_PARAMETERS: Final = "#/parameters/"
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_KINDS: Final = tuple(dialect("x-{long}-group-version-kind") for dialect in DIALECTS.values())


class SpecificationError(ValueError):
    """Not an OpenAPI v2 document. The message says what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSpecification:
    """The specification of one group version of another server: path items by path, and the schemas that they need by
    name."""

    paths: Mapping[str, Json]
    definitions: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """Additions of other servers' documents to the own document. `definitions` may have names of the own document: they
    replace those."""

    paths: Mapping[str, Json]
    definitions: Mapping[str, Json]


def part_of(document: Any, group: str, version: str) -> ForeignSpecification:
    """The paths of a group version with the definitions that they reach. Parameters that are shared are written out,
    since only their names could be in conflict. Raises SpecificationError."""
    if not isinstance(document, dict):
        raise SpecificationError("not an OpenAPI v2 document")
    prefix = f"/apis/{group}/{version}/"
    items, parameters, definitions = (_object(document, key) for key in ("paths", "parameters", "definitions"))
    paths = {}
    for path, item in items.items():
        if path.startswith(prefix):
            if not isinstance(item, dict):
                raise SpecificationError(f"path {path} is not an object")
            paths[path] = _with_parameters(item, parameters)
    needed: dict[str, Json] = {}
    waiting: list[Any] = list(paths.values())
    while waiting:
        for name in _references(waiting.pop()):
            if name in needed:
                continue
            schema = definitions.get(name)
            if not isinstance(schema, dict):
                raise SpecificationError(f"definition {name!r} is missing")
            needed[name] = schema
            waiting.append(schema)
    return ForeignSpecification(paths=paths, definitions=needed)


def _object(document: Json, key: str) -> Json:
    member = document.get(key)
    if member is not None and not isinstance(member, dict):
        raise SpecificationError(f"{key} is not an object")
    return member or {}


def _with_parameters(item: Json, shared: Mapping[str, Any]) -> Json:
    """A path item in which references to parameters are the parameters themselves."""
    out: Json = {}
    for key, value in item.items():
        if key == "parameters" and isinstance(value, list):
            out[key] = [_parameter(each, shared) for each in value]
        elif key in _METHODS and isinstance(value, dict) and isinstance(value.get("parameters"), list):
            out[key] = {**value, "parameters": [_parameter(each, shared) for each in value["parameters"]]}
        else:
            out[key] = value
    return out


def _parameter(value: Any, shared: Mapping[str, Any]) -> Any:
    reference = value.get("$ref") if isinstance(value, dict) else None
    if not isinstance(reference, str) or not reference.startswith(_PARAMETERS):
        return value
    parameter = shared.get(reference.removeprefix(_PARAMETERS))
    if not isinstance(parameter, dict):
        raise SpecificationError(f"parameter {reference!r} is missing")
    return parameter


def _references(value: Any) -> Iterator[str]:
    """The names of definitions that JSON data refers to. Without recursion: the data are another server's."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            reference = each.get("$ref")
            if isinstance(reference, str) and reference.startswith(_DEFINITIONS):
                yield reference.removeprefix(_DEFINITIONS)
            waiting += each.values()


def union(
    foreign: Sequence[ForeignSpecification], paths: frozenset[str], definition: Callable[[str], Json | None]
) -> Additions:
    """The additions to a document with these `paths`, whose definitions `definition` returns by name (None without
    one)."""
    added_paths: dict[str, Json] = {}
    added: dict[str, Json] = {}

    def existing(name: str) -> Json | None:
        entry = added.get(name)
        return definition(name) if entry is None else entry

    for each in foreign:
        renamed = _new_names(each, existing)
        for path, item in each.paths.items():
            if path not in paths and path not in added_paths:
                added_paths[path] = _refer(item, renamed)
        for name, schema in each.definitions.items():
            schema, name = _refer(schema, renamed), renamed.get(name, name)
            there = existing(name)
            if there is None:
                added[name] = schema
            elif (merged := _with_kinds_of(there, schema)) != there:
                added[name] = merged
    return Additions(paths=added_paths, definitions=added)


def _new_names(source: ForeignSpecification, existing: Callable[[str], Json | None]) -> dict[str, str]:
    """New names of the definitions that are in conflict with others of the same name."""
    out: dict[str, str] = {}
    taken: set[str] = set()
    for name, schema in source.definitions.items():
        plain, number, candidate = _without_kinds(schema), 1, name
        while (definition_ := existing(candidate)) is not None and _without_kinds(definition_) != plain:
            number += 1
            candidate = f"{name}_v{number}"
        if candidate == name:
            continue
        if definition_ is None:
            while candidate in taken or candidate in source.definitions or existing(candidate) is not None:
                number += 1
                candidate = f"{name}_v{number}"
            taken.add(candidate)
        out[name] = candidate
    return out


def _without_kinds(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key not in _KINDS}


def _with_kinds_of(there: Json, schema: Json) -> Json:
    """A definition with the groups, versions and kinds of an equal one added to its own."""
    out = there
    for key in _KINDS:
        more = [each for each in _as_list(schema.get(key)) if each not in _as_list(out.get(key))]
        if more:
            out = {**out, key: [*_as_list(out.get(key)), *more]}
    return out


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _refer(value: Any, renamed: Mapping[str, str]) -> Any:
    """JSON data with references to renamed definitions."""
    if not renamed:
        return value
    if isinstance(value, list):
        return [_refer(each, renamed) for each in value]
    if not isinstance(value, dict):
        return value
    out = {key: _refer(each, renamed) for key, each in value.items()}
    reference = out.get("$ref")
    if isinstance(reference, str) and reference.startswith(_DEFINITIONS):
        name = reference.removeprefix(_DEFINITIONS)
        out["$ref"] = _DEFINITIONS + renamed.get(name, name)
    return out
