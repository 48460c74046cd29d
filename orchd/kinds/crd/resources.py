"""Catalog entries of a definition: one `Resource` per served version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.catalog import Resource, group_version, version_priority
from orchd.kinds.crd.conditions import TERMINATING, condition
from orchd.kinds.crd.schema import Schema, SchemaReader
from orchd.kinds.fields import mapping, status
from orchd.kinds.ir import Type, TypeTable
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.rows import UNSUPPORTED_FIELD, Deprecation, FieldSelectors, KindRow, Subresource

#: Loads the complete definition at each call.
Load = Callable[[], ObjectView]

#: The row of every custom kind: what differs from most built-in kinds.
_ROW: Final = KindRow(kind="", fields=FieldSelectors(unsupported=UNSUPPORTED_FIELD), unconditional_update=False)
_EMPTY: Final[Schema] = {"type": "object"}


class VersionEntry(Mapping[str, Any]):
    """The entry of a version in a definition. Its ``schema`` is loaded from the definition at each use, to save memory.

    `terminating`: the definition is being deleted. `size` is that of the definition in bytes. `selectable` are the
    fields of this version that selectors may use, as paths: ``spec.color``.
    """

    __slots__ = ("_load", "_members", "_name", "selectable", "size", "terminating")

    def __init__(self, entry: Mapping[str, Any], load: Load, *, terminating: bool = False, size: int = 0) -> None:
        self.terminating = terminating
        self.size = size
        self._members = {key: value for key, value in entry.items() if key != "schema"}
        self._name = entry["name"]
        self._load = load
        self.selectable = tuple(
            (each.get("jsonPath") or "").removeprefix(".") for each in entry.get("selectableFields") or ()
        )

    def __getitem__(self, key: str) -> Any:
        if key == "schema":
            return mapping(_entry(self._load(), self._name), "schema")
        return self._members[key]

    def get(self, key: str, default: Any = None) -> Any:
        # As the inherited method, but without an exception for each missing member: there may be thousands of versions.
        return self[key] if key == "schema" else self._members.get(key, default)

    def __iter__(self) -> Iterator[str]:
        yield from self._members
        yield "schema"

    def __len__(self) -> int:
        return len(self._members) + 1

    @property
    def json_schema(self) -> Schema:
        """The JSON schema of this version; a schema for any object if the definition has none."""
        return self["schema"].get("openAPIV3Schema") or _EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecatedVersion(Deprecation):
    """Deprecation of a version of a custom kind. `text` is the author's warning, None for the standard text;
    `replacement` is the apiVersion to use instead, "" for none."""

    since: str = ""
    text: str | None = None

    def warning(self, kind: str, api_version: str) -> str:
        if self.text is not None:
            return self.text
        instead = f"; use {self.replacement} {kind}" if self.replacement else ""
        return f"{api_version} {kind} is deprecated{instead}"


def _best_version(spec: Mapping[str, Any]) -> str | None:
    """The served version of highest priority that is not deprecated, None if all are."""
    others = (v["name"] for v in spec["versions"] if v.get("served") and not v.get("deprecated"))
    return min(others, key=version_priority, default=None)


def _deprecation(group: str, entry: Mapping[str, Any], best: str | None) -> DeprecatedVersion | None:
    """The deprecation of a version. The replacement is the best version, if that has higher priority."""
    if not entry.get("deprecated"):
        return None
    replacement = ""
    if best is not None and version_priority(best) < version_priority(entry["name"]):
        replacement = group_version(group, best)
    return DeprecatedVersion(text=entry.get("deprecationWarning"), replacement=replacement)


def key_of(definition: ObjectView) -> str:
    """The key of a custom kind in the store: ``{group}/{plural}``."""
    spec = definition["spec"]
    return f"{spec['group']}/{spec['names']['plural']}"


def _entry(definition: ObjectView, version: str) -> Mapping[str, Any]:
    entry: Mapping[str, Any] = next(v for v in definition["spec"]["versions"] if v["name"] == version)
    return entry


class VersionTypes(dict[str, Type]):
    """The types of all versions of a custom kind by apiVersion. What was compiled from them is dropped when nothing
    uses the kind any more."""

    def __del__(self) -> None:
        for type_ in self.values():
            type_.forget()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CustomKind:
    """A custom kind: resources of its served versions in order, types of all versions, and the storage version.

    `converter` is the conversion webhook, None for the strategy None.
    """

    resources: tuple[Resource, ...]
    #: The resource of the storage version, which need not be served.
    stored: Resource
    types: Mapping[str, Type]
    storage: str
    converter: Mapping[str, Any] | None


def definition_size(resource: Resource) -> int:
    """Bytes of the definition of a custom kind; 0 for other kinds and where they are not known."""
    entry = resource.definition
    return entry.size if isinstance(entry, VersionEntry) else 0


def unread_schema(resource: Resource) -> int:
    """Bytes of the definition of a custom kind whose schema has not been compiled completely, which its first write
    does; 0 for others."""
    memo = resource.type.memo
    return 0 if "check" in memo and "owned" in memo else definition_size(resource)


def custom_kind(definition: ObjectView, load: Load, types: TypeTable, dialect: Dialect, size: int = 0) -> CustomKind:
    """Create the custom kind of an established definition. `definition` is not retained; `load` loads it when a schema
    is needed. `size` is its size in bytes."""
    reader = SchemaReader(dialect, types.get("meta/v1.ObjectMeta"))
    spec = definition["spec"]
    names = accepted_names(definition)
    terminating = condition(definition, TERMINATING) == "True"
    conversion = mapping(spec, "conversion")
    converter = mapping(conversion, "webhook") if conversion.get("strategy") == "Webhook" else None
    entries: dict[str, VersionEntry] = {}
    types_of_versions: dict[str, Type] = {}
    for version in spec["versions"]:
        entry = VersionEntry(version, load, terminating=terminating, size=size)
        schema = mapping(version, "schema").get("openAPIV3Schema") or _EMPTY
        entries[version["name"]] = entry
        types_of_versions[version["name"]] = reader.kind(
            schema, _schema_of(entry), preserve_all=bool(spec.get("preserveUnknownFields"))
        )
    storage = next(name for name, entry in entries.items() if entry.get("storage"))
    shared = _Shared(
        spec=spec,
        names=names,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        types=VersionTypes((group_version(spec["group"], name), type_) for name, type_ in types_of_versions.items()),
        storage=storage,
        converter=converter,
        selectable=tuple(sorted({path for entry in entries.values() for path in entry.selectable})),
        best=_best_version(spec) if any(entry.get("deprecated") for entry in entries.values()) else None,
    )
    resources = {
        name: _resource(shared, entry) for name, entry in entries.items() if entry.get("served") or name == storage
    }
    return CustomKind(
        resources=tuple(resource for name, resource in resources.items() if entries[name].get("served")),
        stored=resources[storage],
        types=types_of_versions,
        storage=storage,
        converter=converter,
    )


def accepted_names(definition: ObjectView) -> Mapping[str, Any]:
    """The accepted names of a definition."""
    names: Mapping[str, Any] = mapping(status(definition), "acceptedNames")
    return names if names.get("plural") else definition["spec"]["names"]


def _schema_of(entry: VersionEntry) -> Callable[[], Schema]:
    return lambda: entry.json_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What the resources of all versions of a custom kind are made of, of which there may be thousands. `best` is the
    version that replaces deprecated ones."""

    spec: Mapping[str, Any]
    names: Mapping[str, Any]
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    types: VersionTypes
    storage: str
    converter: Mapping[str, Any] | None
    selectable: tuple[str, ...]
    best: str | None


def _resource(shared: _Shared, entry: VersionEntry) -> Resource:
    spec, names, storage = shared.spec, shared.names, shared.storage
    group, version = spec["group"], entry["name"]
    kept = group_version(group, storage)
    return Resource(
        group=group,
        version=version,
        kind=names["kind"],
        plural=names["plural"],
        type=shared.types[group_version(group, version)],
        namespaced=spec["scope"] == "Namespaced",
        row=_row(entry, is_indexed=shared.converter is None or version == storage),
        singular=names.get("singular") or "",
        list_kind=names.get("listKind") or names["kind"] + "List",
        short_names=shared.short_names,
        categories=shared.categories,
        subresources=_subresources(names["kind"], mapping(entry, "subresources")),
        storage_version=kept,
        storage_type=shared.types[kept],
        version_types=shared.types,
        key=f"{group}/{names['plural']}",
        deprecation=_deprecation(group, entry, shared.best),
        custom=True,
        definition=entry,
        selectable=shared.selectable,
        converter=shared.converter,
    )


def _row(entry: VersionEntry, *, is_indexed: bool) -> KindRow:
    """The row of a version. Fields are read from stored objects, so fields of a version that needs a conversion webhook
    cannot be selected (`is_indexed` is false)."""
    if not entry.selectable or not is_indexed:
        return _ROW
    return replace(_ROW, fields=replace(_ROW.fields, names=entry.selectable))


def _subresources(kind: str, described: Mapping[str, Any]) -> dict[str, Subresource]:
    out = {}
    if described.get("status") is not None:
        out["status"] = Subresource(name="status", kind=kind)
    if described.get("scale") is not None:
        out["scale"] = Subresource(name="scale", kind="Scale", group="autoscaling", version="v1", served_by="scale")
    return out
