"""The rules that apply to the schemas of a definition: all on creation; on an update, those that the stored definition
meets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchd.dialect import Dialect
from orchd.kinds.objects.schema_check.definitions import defaults, keywords, structural
from orchd.kinds.objects.schema_check.definitions.extension_keywords import Schema, everywhere, extension_keywords, has

TYPES: Final = keywords.TYPES


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The rules that apply."""

    schemas: bool = True
    types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    list_keys: bool = True
    #: None if defaults are allowed, else the reason.
    no_defaults: str | None = None
    #: Stored schemas: the cost of each of their rules is not limited, because it may be estimated otherwise by another
    #: release.
    stored: Sequence[Schema] = field(default=(), compare=False)


def options_after(schemas: Sequence[Schema | None], dialect: Dialect) -> Options:
    """The rules for an update of a definition with stored `schemas`, one per version."""
    spelled = extension_keywords(dialect)
    there = [schema for schema in schemas if schema is not None]
    all_ = [part for schema in there for part in everywhere(schema)]
    return Options(
        schemas=len(there) == len(schemas),
        types=all((part.get("type") or "string") in TYPES for part in all_),
        structural=all(structural.is_structural(schema, dialect) for schema in there),
        pruned_defaults=not any(defaults.has_unpruned(schema, dialect) for schema in there),
        atomic_sets=not any(keywords.loose_set(part, spelled) for part in all_),
        list_keys=not any(keywords.loose_keys(part, spelled) for part in all_),
        stored=tuple(there),
    )


def beta(options: Options | None, schemas: Sequence[Schema | None], dialect: Dialect) -> Options:
    """The rules for a definition sent in v1beta1, which has fewer rules and allows no new defaults.

    `options` and `schemas` are those of the stored definition, None and empty for a new one.
    """
    group = dialect("apiextensions.{abbr}.io")
    why = f"(cannot set default values in {group}/v1beta1 CRDs, must use {group}/v1)"
    return replace(
        options or Options(), schemas=False, types=False, structural=False,
        no_defaults=None if any(map(has_defaults, schemas)) else why,
    )  # fmt: skip


def has_defaults(schema: Schema | None) -> bool:
    """True if a schema has a default anywhere."""
    return has(schema, lambda part: part.get("default") is not None)


def has_extensions(schema: Schema | None, dialect: Dialect) -> bool:
    """True if a schema uses an extension keyword. Such a schema must be structural."""
    key = extension_keywords(dialect)
    keys = (key.embedded, key.preserve, key.int_or_string, key.list_keys, key.list_type, key.validations)
    return has(schema, lambda part: any(part.get(word) not in (None, False, []) for word in keys))
