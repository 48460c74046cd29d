"""The extension keywords of schemas in one dialect, and schemas below a schema."""

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
class Words:
    """The extension keywords as they are spelled."""

    preserve: str
    embedded: str
    int_or_string: str
    list_type: str
    list_keys: str
    map_type: str
    validations: str


@lru_cache(maxsize=4)
def words(dialect: Dialect) -> Words:
    """The keywords of a dialect."""
    return Words(
        preserve=dialect(PRESERVE),
        embedded=dialect(EMBEDDED),
        int_or_string=dialect(INT_OR_STRING),
        list_type=dialect(LIST_TYPE),
        list_keys=dialect(LIST_KEYS),
        map_type=dialect(MAP_TYPE),
        validations=dialect(VALIDATIONS),
    )


def one_schema(value: Any) -> Schema | None:
    """The schema in ``items`` or ``additionalProperties``, None where a list or a flag stands there."""
    return value if isinstance(value, dict) else None


def everywhere(schema: Schema | None) -> Iterator[Schema]:
    """A schema and all those in it, whatever keyword they are under."""
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
    """Is there a schema in it, or itself, that is wanted?"""
    return any(map(wanted, everywhere(schema)))
