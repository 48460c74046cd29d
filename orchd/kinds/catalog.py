"""What is served: kind, resource and schema, found by any of the three.

A `Catalog` is immutable. A custom kind makes a new one with `Catalog.adding`; whoever holds the old one keeps
a consistent view. Requests resolve through it, so no code has a route of its own for a kind.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchd.dialect import Dialect
from orchd.kinds.builtin import groups as builtin_groups
from orchd.kinds.digits import integer
from orchd.kinds.ir import Type, TypeTable

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def group_version(group: str, version: str) -> str:
    """``v1``, ``apps/v1``: the apiVersion of a group and version."""
    return f"{group}/{version}" if group else version


def split_group_version(text: str) -> tuple[str, str]:
    """The group and version of an apiVersion; the group of ``v1`` is ""."""
    group, _, version = text.rpartition("/")
    return group, version


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """Since and removed are releases such as ``v1.22``; removed and replacement may be ""."""

    since: str
    removed: str = ""
    replacement: str = ""

    def warning(self, kind: str, api_version: str) -> str:
        """The text of the Warning header (without code and quotes)."""
        text = f"{api_version} {kind} is deprecated in {self.since}+"
        if self.removed:
            text += f", unavailable in {self.removed}+"
        if self.replacement:
            text += f"; use {self.replacement} {kind}"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A subresource as discovery shows it. `group` and `version` are set where they differ from the parent's."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """One resource in one served version.

    `storage_version` is the apiVersion under which objects are kept ("" where nothing is stored), `key` the part of
    their store keys between the root and the namespace: ``pods`` in ``/registry/pods/{namespace}/{name}``; all served
    versions of a resource share it.
    """

    group: str
    version: str
    kind: str
    plural: str
    type: Type
    namespaced: bool
    singular: str = ""
    list_kind: str = ""
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    storage_version: str = ""
    #: The apiVersion that the storage version hash is made from, where it is not the one in which objects are kept.
    announced_version: str = ""
    key: str = ""
    deprecation: Deprecation | None = None
    custom: bool = False
    #: For a custom kind, its definition's entry for this version (printer columns, subresources); else None.
    definition: Mapping[str, Any] | None = None
    #: For a custom kind, the type of the version in which objects are kept, which need not be served; else None.
    storage_type: Type | None = None
    #: For a custom kind, the types of all its versions by apiVersion, served or not.
    version_types: Mapping[str, Type] = field(default_factory=dict)
    #: For a custom kind whose versions another program converts, its definition's ``webhook``; else None.
    converter: Mapping[str, Any] | None = None

    @property
    def api_version(self) -> str:
        return group_version(self.group, self.version)

    @property
    def stored(self) -> bool:
        return bool(self.key)

    @property
    def storage_version_hash(self) -> str:
        """First 8 bytes of the SHA-256 of ``group/version/kind`` of the storage version, in base64."""
        if not self.stored:
            return ""
        group, version = split_group_version(self.announced_version or self.storage_version)
        digest = hashlib.sha256(f"{group}/{version}/{self.kind}".encode()).digest()
        return base64.b64encode(digest[:8]).decode()

    def __repr__(self) -> str:
        return f"<Resource {self.plural}.{self.version}.{self.group}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A served group: its versions in discovery order and the preferred one."""

    name: str
    versions: tuple[str, ...]
    preferred: str


class Catalog:
    """All served resources of one server, in one dialect. Immutable."""

    def __init__(
        self, dialect: Dialect, types: TypeTable, groups: Iterable[Group], resources: Iterable[Resource]
    ) -> None:
        self.dialect = dialect
        self.types = types
        self.groups: tuple[Group, ...] = tuple(groups)
        self.resources: tuple[Resource, ...] = tuple(resources)
        self._by_plural = {(r.group, r.version, r.plural): r for r in self.resources}
        self._by_kind = {(r.group, r.version, r.kind): r for r in self.resources}
        self._groups = {g.name: g for g in self.groups}

    def resource(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource that a path names, None when it is not served."""
        return self._by_plural.get((group, version, plural))

    def kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource whose objects have this apiVersion and kind, None when it is not served."""
        group, version = split_group_version(api_version)
        return self._by_kind.get((group, version, kind))

    def group(self, name: str) -> Group | None:
        return self._groups.get(name)

    def in_version(self, group: str, version: str) -> tuple[Resource, ...]:
        """Resources of one group and version, in table order."""
        return tuple(r for r in self.resources if r.group == group and r.version == version)

    def versions_of(self, resource: Resource) -> tuple[Resource, ...]:
        """Every served version of the objects kept under this resource's key (across groups: events have two)."""
        return tuple(r for r in self.resources if r.key == resource.key) if resource.key else (resource,)

    def type(self, name: str) -> Type:
        """A named type: ``meta/v1.DeleteOptions``."""
        return self.types.get(name)

    def storage_type(self, resource: Resource) -> Type:
        """The type of the version in which `resource` is kept (which need not be served)."""
        return resource.type if resource.storage_version == resource.api_version else self._storage(resource)

    def _storage(self, resource: Resource) -> Type:
        if resource.storage_type is not None:
            return resource.storage_type
        for other in self.resources:
            if other.key == resource.key and other.api_version == resource.storage_version:
                return other.type
        group, version = split_group_version(resource.storage_version)
        try:
            return self.types.get(f"{_package(group, version)}.{resource.kind}")
        except KeyError:
            return resource.type

    def adding(self, resources: Iterable[Resource], *, without: Callable[[Resource], bool] = lambda r: False) -> Catalog:
        """A new catalog with `resources` added and those dropped for which `without` is true.

        Groups and versions follow: a new group is appended, its versions sorted by `version_priority`.
        """
        kept = [r for r in self.resources if not without(r)]
        kept.extend(resources)
        names = dict.fromkeys(g.name for g in self.groups)
        by_group: dict[str, list[Resource]] = {}
        for resource in kept:
            by_group.setdefault(resource.group, []).append(resource)
        names.update(dict.fromkeys(by_group))
        groups = []
        for name in names:
            old = self._groups.get(name)
            inside = by_group.get(name, ())
            have = dict.fromkeys(r.version for r in inside)
            if have and old is not None and all(not r.custom for r in inside):
                groups.append(_narrowed(old, tuple(v for v in old.versions if v in have)))
            elif have:
                versions = tuple(sorted(have, key=version_priority))
                groups.append(Group(name=name, versions=versions, preferred=versions[0]))
        return Catalog(self.dialect, self.types, groups, kept)


def _narrowed(group: Group, versions: tuple[str, ...]) -> Group:
    """`group` with those of its versions that still have resources."""
    if versions == group.versions:
        return group
    preferred = group.preferred if group.preferred in versions else versions[0]
    return Group(name=group.name, versions=versions, preferred=preferred)


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort key of versions: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name (specification, "Version priority")."""
    stages = {"": 0, "beta": 1, "alpha": 2}
    if version.startswith("v"):
        rest = version[1:]
        digits = len(rest) - len(rest.lstrip("0123456789"))
        if digits:
            major, tail = rest[:digits], rest[digits:]
            word = tail.rstrip("0123456789")
            minor = tail[len(word):]
            if word in stages and bool(word) == bool(minor):
                return stages[word], -integer(major), -integer(minor or "0"), ""
    return 3, 0, 0, version


def builtin_types(dialect: Dialect) -> TypeTable:
    """The type tables of release 1.23; modules are imported when a type of theirs is first asked for."""

    def load(module: str) -> Callable[[], Any]:
        return lambda: importlib.import_module(f"orchd.kinds.builtin.{module}")

    return TypeTable(dialect, {package: load(module) for package, module in builtin_groups.MODULES.items()})


def builtin_catalog(dialect: Dialect, *, enabled: Callable[[str, str, bool], bool] | None = None) -> Catalog:
    """Every built-in resource that is on.

    `enabled` decides from group, version and whether that version is on by default (`--runtime-config`); without it
    the defaults hold.
    """
    types = builtin_types(dialect)
    decide = enabled or (lambda group, version, default: default)
    packages: dict[str, str] = {}
    for package in builtin_groups.MODULES:
        name, _, version = package.partition("/")
        packages[f"{name}/{version}"] = package
    groups: list[Group] = []
    resources: list[Resource] = []
    for template, versions, preferred, defaults in builtin_groups.GROUPS:
        name = dialect(template)
        on = [v for v in versions.split() if decide(name, v, v in defaults.split())]
        if not on:
            continue
        groups.append(Group(name=name, versions=tuple(on), preferred=preferred if preferred in on else on[0]))
        for version in on:
            package = _package(template, version)
            resources.extend(_resources(dialect, types, package))
    return Catalog(dialect, types, groups, resources)


def _package(group_template: str, version: str) -> str:
    if group_template.startswith("internal."):
        return f"apiserverinternal/{version}"
    return f"{group_template.partition('.')[0] or 'core'}/{version}"


def _resources(dialect: Dialect, types: TypeTable, package: str) -> list[Resource]:
    module = types.module(package)
    group, version = dialect(module.GROUP), module.VERSION
    api_version = group_version(group, version)
    out = []
    for row in module.RESOURCES:
        stored = row.get("stored", True)
        nominal = dialect(row.get("storage_version", ""))
        kept = nominal if nominal and _known(types, nominal, row["kind"]) else api_version
        deprecated = row.get("deprecated")
        out.append(
            Resource(
                group=group,
                version=version,
                kind=row["kind"],
                plural=row["plural"],
                type=types.get(f"{package}.{row['kind']}"),
                namespaced=row.get("namespaced", False),
                list_kind=row["kind"] + "List",
                verbs=tuple(row["verbs"].split()) if "verbs" in row else ALL_VERBS,
                short_names=tuple(row.get("short_names", "").split()),
                categories=tuple(row.get("categories", "").split()),
                subresources={s.name: s for s in (_subresource(dialect, line) for line in row.get("subresources", ()))},
                storage_version=kept if stored else "",
                announced_version=dialect(row.get("announced_version", "")) or (nominal if nominal != kept else ""),
                key=dialect(row.get("key", "")) if stored else "",
                deprecation=None
                if deprecated is None
                else Deprecation(since=deprecated[0], removed=deprecated[1], replacement=dialect(deprecated[2])),
            )
        )
    return out


def _known(types: TypeTable, api_version: str, kind: str) -> bool:
    """Is there a table of `kind` in a version? One storage version of the reference is spoken by nobody any more."""
    group, version = split_group_version(api_version)
    try:
        types.get(f"{group.partition('.')[0] or 'core'}/{version}.{kind}")
    except KeyError:
        return False
    return True


def _subresource(dialect: Dialect, line: tuple[str, str, str, str]) -> Subresource:
    name, kind, verbs, api_version = line
    group, version = split_group_version(dialect(api_version))
    return Subresource(name=name, kind=kind, verbs=tuple(verbs.split()), group=group, version=version)
