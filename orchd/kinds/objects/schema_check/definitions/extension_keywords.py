"""The extension keywords of schemas in one dialect, and traversal of nested schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.crd.schema import EMBEDDED, INT_OR_STRING, LIST_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE

Schema = Mapping[str, Any]

VALIDATIONS: Final = "x-{long}-validations"
JUNCTORS: Final = ("allOf", "anyOf", "oneOf")


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
    """A schema and all schemas nested in it, under any keyword."""
    if schema is None:
        return
    yield schema
    items = schema.get("items")
    inner: list[Any] = [*items] if isinstance(items, list) else [items]
    for word in JUNCTORS:
        inner.extend(schema.get(word) or ())
    inner += [schema.get("not"), schema.get("additionalProperties"), schema.get("additionalItems")]
    for word in ("properties", "patternProperties", "definitions", "dependencies"):
        inner.extend((schema.get(word) or {}).values())
    for each in inner:
        yield from everywhere(one_schema(each))


def has(schema: Schema | None, wanted: Callable[[Schema], bool]) -> bool:
    """True if a predicate holds for a schema or one nested in it."""
    return any(map(wanted, everywhere(schema)))
