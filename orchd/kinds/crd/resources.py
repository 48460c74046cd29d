"""What the catalog serves for a definition: one `Resource` per served version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.catalog import Deprecation, Resource, Subresource, group_version, version_priority
from orchd.kinds.crd.conditions import TERMINATING, condition
from orchd.kinds.crd.schema import Schema, SchemaReader
from orchd.kinds.ir import Type, TypeTable

Object = Mapping[str, Any]
#: Gives a definition, complete, each time it is called.
Load = Callable[[], Object]

_STATUS_VERBS: Final = ("get", "patch", "update")
_EMPTY: Final[Schema] = {"type": "object"}


class VersionEntry(Mapping[str, Any]):
    """A version's entry in a definition. Its ``schema`` is read from the definition's bytes each time, not kept.

    `terminating` says that the definition is being deleted.
    """

    __slots__ = ("_load", "_members", "_name", "terminating")

    def __init__(self, entry: Mapping[str, Any], load: Load, *, terminating: bool = False) -> None:
        self.terminating = terminating
        self._members = {key: value for key, value in entry.items() if key != "schema"}
        self._name = entry["name"]
        self._load = load

    def __getitem__(self, key: str) -> Any:
        if key == "schema":
            return _entry(self._load(), self._name).get("schema") or {}
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        yield from self._members
        yield "schema"

    def __len__(self) -> int:
        return len(self._members) + 1

    @property
    def json_schema(self) -> Schema:
        """The JSON schema of this version's objects; one that takes any object where the definition has none."""
        return self["schema"].get("openAPIV3Schema") or _EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecatedVersion(Deprecation):
    """A deprecated version of a custom kind: `text` is what its author says about it, None for the usual words.
    `replacement` is the apiVersion to use instead, "" for none."""

    since: str = ""
    text: str | None = None

    def warning(self, kind: str, api_version: str) -> str:
        if self.text is not None:
            return self.text
        instead = f"; use {self.replacement} {kind}" if self.replacement else ""
        return f"{api_version} {kind} is deprecated{instead}"


def deprecation_of(spec: Mapping[str, Any], entry: Mapping[str, Any]) -> DeprecatedVersion | None:
    """What is said of a version that is deprecated: the best one that is served, not deprecated and better is named."""
    if not entry.get("deprecated"):
        return None
    others = (v["name"] for v in spec["versions"] if v.get("served") and not v.get("deprecated"))
    best = min(others, key=version_priority, default=None)
    replacement = ""
    if best is not None and version_priority(best) < version_priority(entry["name"]):
        replacement = group_version(spec["group"], best)
    return DeprecatedVersion(text=entry.get("deprecationWarning"), replacement=replacement)


def key_of(definition: Object) -> str:
    """The store key of a definition's objects: ``{group}/{plural}``."""
    spec = definition["spec"]
    return f"{spec['group']}/{spec['names']['plural']}"


def _entry(definition: Object, version: str) -> Mapping[str, Any]:
    entry: Mapping[str, Any] = next(v for v in definition["spec"]["versions"] if v["name"] == version)
    return entry


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CustomKind:
    """What a definition makes: the resources of its served versions in their order, the types of all its versions, and the
    version in which objects are kept. `converter` is the webhook that converts between them, None when they are
    all of one form."""

    resources: tuple[Resource, ...]
    #: The resource of the storage version, served or not.
    stored: Resource
    types: Mapping[str, Type]
    storage: str
    converter: Mapping[str, Any] | None


def custom_kind(definition: Object, load: Load, types: TypeTable, dialect: Dialect) -> CustomKind:
    """The kind of an established definition. `definition` is looked at and not kept; `load` gives it again when a
    schema is needed."""
    reader = SchemaReader(dialect, types.get("meta/v1.ObjectMeta"))
    spec = definition["spec"]
    names = accepted_names(definition)
    terminating = condition(definition, TERMINATING) == "True"
    conversion = spec.get("conversion") or {}
    converter = conversion.get("webhook") or {} if conversion.get("strategy") == "Webhook" else None
    entries: dict[str, VersionEntry] = {}
    made: dict[str, Type] = {}
    for version in spec["versions"]:
        entry = VersionEntry(version, load, terminating=terminating)
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or _EMPTY
        entries[version["name"]] = entry
        made[version["name"]] = reader.kind(
            schema, _schema_of(entry), preserve_all=bool(spec.get("preserveUnknownFields"))
        )
    storage = next(name for name, entry in entries.items() if entry.get("storage"))
    by_version = {group_version(spec["group"], name): type_ for name, type_ in made.items()}
    resources = {
        name: _resource(spec, names, entry, by_version, storage, converter)
        for name, entry in entries.items()
        if entry.get("served") or name == storage
    }
    return CustomKind(
        resources=tuple(resource for name, resource in resources.items() if entries[name].get("served")),
        stored=resources[storage],
        types=made,
        storage=storage,
        converter=converter,
    )


def accepted_names(definition: Object) -> Mapping[str, Any]:
    """The names that a definition has been granted."""
    names: Mapping[str, Any] = (definition.get("status") or {}).get("acceptedNames") or {}
    return names if names.get("plural") else definition["spec"]["names"]


def _schema_of(entry: VersionEntry) -> Callable[[], Schema]:
    return lambda: entry.json_schema


def _resource(
    spec: Mapping[str, Any],
    names: Mapping[str, Any],
    entry: VersionEntry,
    types: Mapping[str, Type],
    storage: str,
    converter: Mapping[str, Any] | None,
) -> Resource:
    group = spec["group"]
    kept = group_version(group, storage)
    return Resource(
        group=group,
        version=entry["name"],
        kind=names["kind"],
        plural=names["plural"],
        type=types[group_version(group, entry["name"])],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular") or "",
        list_kind=names.get("listKind") or names["kind"] + "List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(names["kind"], entry.get("subresources") or {}),
        storage_version=kept,
        storage_type=types[kept],
        version_types=types,
        key=f"{group}/{names['plural']}",
        deprecation=deprecation_of(spec, entry),
        custom=True,
        definition=entry,
        converter=converter,
    )


def _subresources(kind: str, described: Mapping[str, Any]) -> dict[str, Subresource]:
    out = {}
    if described.get("status") is not None:
        out["status"] = Subresource(name="status", kind=kind, verbs=_STATUS_VERBS)
    if described.get("scale") is not None:
        out["scale"] = Subresource(name="scale", kind="Scale", verbs=_STATUS_VERBS, group="autoscaling", version="v1")
    return out
