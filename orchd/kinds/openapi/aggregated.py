"""Aggregated discovery: one document with the resources of all groups and versions (kind APIGroupDiscoveryList).

Documents are cached as encoded parts: a change of the catalog encodes only new resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from orchd.kinds.catalog import Catalog, Group, Resource, version_priority
from orchd.kinds.fields import unstored_metadata
from orchd.kinds.openapi.discovery import listed_verbs
from orchd.kinds.release import Release
from orchd.kinds.rows import Subresource

Json = dict[str, Any]

#: Values of a version's `freshness`.
CURRENT: Final = "Current"
STALE: Final = "Stale"
#: Group and version in the Accept header, and kind of the document.
GROUP: Final = "apidiscovery.{abbr}.io"
VERSIONS: Final = ("v2", "v2beta1")
KIND: Final = "APIGroupDiscoveryList"

#: (group priority, version priority) of custom kinds, and of built-in versions without an entry.
CUSTOM_PRIORITY: Final = (1000, 100)
_NO_PRIORITY: Final = (1000, 1)

Priorities = Mapping[tuple[str, str], tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignVersion:
    """A group version that another server serves. `resources` are its APIResourceDiscovery objects as JSON, encoded
    and joined with commas; `freshness` is STALE when the last attempt to fetch them failed."""

    group: str
    version: str
    group_priority: int
    version_priority: int
    resources: bytes
    freshness: str


def resource_discovery(resource: Resource) -> Json:
    """The APIResourceDiscovery of a resource with its subresources."""
    named = (resource.group, resource.version) if resource.custom else ("", "")
    out: Json = {
        "resource": resource.plural,
        "responseKind": _kind(*named, resource.kind),
        "scope": _scope(resource.namespaced),
        "singularResource": resource.singular or resource.kind.lower(),
        "verbs": listed_verbs(resource),
    }
    if resource.short_names:
        out["shortNames"] = list(resource.short_names)
    if resource.categories:
        out["categories"] = list(resource.categories)
    subresources = [_subresource(resource, sub) for sub in resource.subresources.values()]
    if subresources:
        if not resource.custom:
            subresources.sort(key=lambda sub: str(sub["subresource"]))
        out["subresources"] = subresources
    return out


def _subresource(resource: Resource, sub: Subresource) -> Json:
    named = (sub.group, sub.version)
    if resource.custom and not sub.version:
        named = (resource.group, resource.version)
    return {"subresource": sub.name, "responseKind": _kind(*named, sub.kind), "verbs": sorted(sub.verbs)}


def _kind(group: str, version: str, kind: str) -> Json:
    return {"group": group, "version": version, "kind": kind}


def _scope(namespaced: bool) -> str:
    return "Namespaced" if namespaced else "Cluster"


def from_resource_list(resources: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The APIResourceDiscovery objects for the items of an APIResourceList. Raises KeyError and TypeError for items of
    another shape, ValueError when a subresource has another scope than its resource."""
    resources = list(resources)
    out: dict[str, Json] = {}
    for each in resources:
        if "/" not in each["name"]:
            out[each["name"]] = _entry(each)
    for each in resources:
        plural, slash, name = each["name"].partition("/")
        if not slash:
            continue
        scope = _scope(bool(each.get("namespaced")))
        parent = out.setdefault(plural, {"resource": plural, "responseKind": _kind("", "", ""), "scope": scope})
        if parent["scope"] != scope:
            raise ValueError(f"parent {plural} and subresource {name} differ in scope")
        kind = (
            _kind(each.get("group", ""), each.get("version", ""), each["kind"])
            if each.get("kind")
            else _kind("", "", "")
        )
        parent.setdefault("subresources", []).append(
            {"subresource": name, "responseKind": kind, "verbs": list(each.get("verbs") or ())}
        )
    return list(out.values())


def _entry(each: Mapping[str, Any]) -> Json:
    entry: Json = {
        "resource": each["name"],
        "responseKind": _kind(each.get("group", ""), each.get("version", ""), each.get("kind", "")),
        "scope": _scope(bool(each.get("namespaced"))),
        "singularResource": each.get("singularName", ""),
        "verbs": list(each.get("verbs") or ()),
    }
    for member in ("shortNames", "categories"):
        if each.get(member):
            entry[member] = list(each[member])
    return entry


class AggregatedDiscovery:
    """Builds the items of the document; keeps the encoded resources of the last catalog.

    `priorities` are those of built-in groups and versions, by name.
    """

    def __init__(self, priorities: Priorities) -> None:
        self._priorities = priorities
        self._encoded: dict[Resource, bytes] = {}

    def items(self, catalog: Catalog, foreign: Sequence[ForeignVersion] = (), *, core: bool = False) -> bytes:
        """The items as a JSON list: the core group alone, or all named groups in order of priority. `foreign` versions
        stand for local ones of the same name."""
        groups: dict[str, list[tuple[int, str, bytes]]] = {}
        weights: dict[str, int] = {}
        for each in () if core else foreign:
            text = _version(each.version, each.resources, each.freshness)
            groups.setdefault(each.group, []).append((each.version_priority, each.version, text))
            weights[each.group] = max(weights.get(each.group, 0), each.group_priority)
        foreign_versions = {(each.group, each.version) for each in foreign}
        for name, versions in self._by_version(catalog, core=core).items():
            for version, resources in versions.items():
                if (name, version) in foreign_versions:
                    continue
                weight, priority = self._priority(name, version, resources)
                text = b",".join([self._resource(each) for each in resources])
                groups.setdefault(name, []).append((priority, version, _version(version, text, CURRENT)))
                weights[name] = max(weights.get(name, 0), weight)
        ordered = sorted(groups, key=lambda name: (-weights[name], name))
        return b"[" + b",".join([_group(name, groups[name], catalog.release) for name in ordered]) + b"]"

    def _by_version(self, catalog: Catalog, *, core: bool) -> dict[str, dict[str, list[Resource]]]:
        """The resources of every group by version. Resources that are gone are forgotten."""
        if not core:
            here = set(catalog.resources)
            for gone in [each for each in self._encoded if each not in here and each not in catalog.later]:
                del self._encoded[gone]
        by_name: dict[str, Group] = {group.name: group for group in catalog.groups if (group.name == "") is core}
        out: dict[str, dict[str, list[Resource]]] = {
            name: {v: [] for v in group.versions} for name, group in by_name.items()
        }
        for each in (*catalog.resources, *catalog.later):
            if each.group in out:
                out[each.group].setdefault(each.version, []).append(each)
        for versions in out.values():
            for resources in versions.values():
                resources.sort(key=lambda each: each.plural)
        return out

    def _resource(self, resource: Resource) -> bytes:
        text = self._encoded.get(resource)
        if text is None:
            text = self._encoded[resource] = orjson.dumps(resource_discovery(resource))
        return text

    def _priority(self, group: str, version: str, resources: Sequence[Resource]) -> tuple[int, int]:
        priority = self._priorities.get((group, version))
        if priority is None:
            priority = CUSTOM_PRIORITY if any(each.custom for each in resources) else _NO_PRIORITY
        return priority


def _group(name: str, versions: list[tuple[int, str, bytes]], release: Release) -> bytes:
    metadata: Json = {**({"name": name} if name else {}), **unstored_metadata(release)}
    versions.sort(key=lambda each: (-each[0], version_priority(each[1])))
    joined = b",".join([text for _, _, text in versions])
    return b'{"metadata":' + orjson.dumps(metadata) + b',"versions":[' + joined + b"]}"


def _version(version: str, resources: bytes, freshness: str) -> bytes:
    listed = b',"resources":[' + resources + b"]" if resources else b""
    return b'{"version":' + orjson.dumps(version) + listed + b',"freshness":' + orjson.dumps(freshness) + b"}"


def document(items: bytes, api_version: str) -> bytes:
    """The whole document in JSON, without a final newline."""
    head = f'{{"kind":"{KIND}","apiVersion":"{api_version}","metadata":{{}},"items":'
    return head.encode() + items + b"}"
