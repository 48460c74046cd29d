"""The extension keywords of schemas in one dialect, and traversal of nested schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.crd.rules import VALIDATIONS
from orchd.kinds.crd.schema import EMBEDDED, INT_OR_STRING, LIST_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE

Schema = Mapping[str, Any]

JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
#: Keywords whose value is a schema or a list of schemas, and those whose value is a map of schemas.
_NESTING: Final = frozenset((*JUNCTORS, "not", "items", "additionalProperties", "additionalItems"))
_MAPS: Final = frozenset(("properties", "patternProperties", "definitions", "dependencies"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionKeywords:
    """The spelling of the extension keywords."""

    preserve: str
    embedded: str
    int_or_string: str
    list_type: str
    list_keys: str
    map_type: str
    validations: str


@lru_cache(maxsize=4)
def extension_keywords(dialect: Dialect) -> ExtensionKeywords:
    """The extension keywords of a dialect."""
    return ExtensionKeywords(
        preserve=dialect(PRESERVE),
        embedded=dialect(EMBEDDED),
        int_or_string=dialect(INT_OR_STRING),
        list_type=dialect(LIST_TYPE),
        list_keys=dialect(LIST_KEYS),
        map_type=dialect(MAP_TYPE),
        validations=dialect(VALIDATIONS),
    )


def one_schema(value: Any) -> Schema | None:
    """The schema of ``items`` or ``additionalProperties``, None if the value is a list or a boolean."""
    return value if isinstance(value, dict) else None


def everywhere(schema: Schema | None) -> Iterator[Schema]:
    """A schema and all schemas nested in it, under any keyword, in no particular order."""
    left = [] if schema is None else [schema]
    while left:
        schema = left.pop()
        yield schema
        for word, value in schema.items():
            if word in _MAPS:
                inner = (value or {}).values()
            elif word in _NESTING:
                inner = value if isinstance(value, list) else (value,)
            else:
                continue
            left.extend(each for each in inner if isinstance(each, dict))


def has(schema: Schema | None, predicate: Callable[[Schema], bool]) -> bool:
    """True if a predicate holds for a schema or one nested in it."""
    return any(map(predicate, everywhere(schema)))


def without(schema: Schema, keyword: str) -> dict[str, Any]:
    """A schema without a keyword, in it and in all schemas nested in it."""
    out = {}
    for word, value in schema.items():
        if word == keyword:
            continue
        if word in _MAPS and isinstance(value, dict):
            value = {name: without(each, keyword) if isinstance(each, dict) else each for name, each in value.items()}
        elif word in _NESTING and isinstance(value, list):
            value = [without(each, keyword) if isinstance(each, dict) else each for each in value]
        elif word in _NESTING and isinstance(value, dict):
            value = without(value, keyword)
        out[word] = value
    return out
