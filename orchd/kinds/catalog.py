"""The catalog: served resources with their kinds and types.

A `Catalog` is immutable. A change of a custom kind creates a new one with `Catalog.adding`; holders of the old one keep
a consistent view. Requests are resolved through the catalog; there are no routes per kind.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.builtin import former_kinds
from orchd.kinds.builtin import groups as builtin_groups
from orchd.kinds.digits import integer
from orchd.kinds.ir import Type, TypeTable
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.rows import ALL_VERBS, Deprecation, KindRow, Row, Subresource, VersionRow, in_release, in_version


def group_version(group: str, version: str) -> str:
    """The apiVersion of a group and version: ``v1``, ``apps/v1``."""
    return f"{group}/{version}" if group else version


def package_of(group: str, version: str) -> str:
    """The package of types of a group and version: ``rbac/v1``, ``core/v1`` for the core group."""
    first = group.partition(".")[0] or "core"
    return f"{'apiserverinternal' if first == 'internal' else first}/{version}"


def split_group_version(text: str) -> tuple[str, str]:
    """The group and version of an apiVersion; the group of ``v1`` is ""."""
    group, _, version = text.rpartition("/")
    return group, version


#: The release that begins to announce the singular names of built-in kinds.
SINGULAR_NAMES: Final = "1.27"

#: The row of resources of which only the names are known (those that a client discovered).
_DEFAULTS: Final = KindRow(kind="")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Resource:
    """One resource in one served version.

    `storage_version` is the apiVersion of stored objects ("" if nothing is stored). `key` is the part of their store
    keys between root and namespace: ``pods`` in ``/registry/pods/{namespace}/{name}``; all versions of a resource share
    it.
    """

    group: str
    version: str
    kind: str
    plural: str
    type: Type
    namespaced: bool
    #: Everything else that is known of the kind, in this version. Its names are templates.
    row: KindRow = _DEFAULTS
    singular: str = ""
    list_kind: str = ""
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    storage_version: str = ""
    #: The apiVersion that the storage version hash is computed from, if it is not the storage version.
    announced_version: str = ""
    key: str = ""
    deprecation: Deprecation | None = None
    custom: bool = False
    #: For a custom kind, the entry of this version in its definition (printer columns, subresources); else None.
    definition: Mapping[str, Any] | None = None
    #: For a custom kind, the type of the storage version, which need not be served; else None.
    storage_type: Type | None = None
    #: For a custom kind, the types of all its versions by apiVersion, served or not.
    version_types: Mapping[str, Type] = field(default_factory=dict)
    #: For a custom kind, the fields that selectors may use in any of its versions, as paths: ``spec.color``.
    selectable: tuple[str, ...] = ()
    #: For a custom kind with a conversion webhook, the ``webhook`` of its definition; else None.
    converter: Mapping[str, Any] | None = None

    @property
    def api_version(self) -> str:
        return group_version(self.group, self.version)

    @property
    def error_group(self) -> str:
        """The group in error messages: that of the storage version (events are in two groups), unless the row has
        another."""
        return self.row.error_group or split_group_version(self.storage_version)[0]

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
    """All served resources of one server, in one dialect and release. Immutable.

    `later` are resources of later releases, none of which is stored: requests for them are served, but documents that
    the release has do not list them.
    """

    def __init__(
        self,
        dialect: Dialect,
        types: TypeTable,
        groups: Iterable[Group],
        resources: Iterable[Resource],
        later: Iterable[Resource] = (),
        *,
        lists_values: bool = False,
    ) -> None:
        """`lists_values`: OpenAPI documents have the known values of strings."""
        self.lists_values = lists_values
        self.dialect = dialect
        self.types = types
        self.release = types.release
        self.groups: tuple[Group, ...] = tuple(groups)
        self.resources: tuple[Resource, ...] = tuple(resources)
        self.later: tuple[Resource, ...] = tuple(later)
        self._by_plural = {(r.group, r.version, r.plural): r for r in (*self.resources, *self.later)}
        self._by_kind = {(r.group, r.version, r.kind): r for r in (*self.resources, *self.later)}
        self._groups = {g.name: g for g in self.groups}
        self._in_versions: dict[tuple[str, str], list[Resource]] = {}
        for resource in self.resources:
            self._in_versions.setdefault((resource.group, resource.version), []).append(resource)

    def resource(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource of a path, None if it is not served."""
        return self._by_plural.get((group, version, plural))

    def kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of an apiVersion and kind, None if it is not served."""
        group, version = split_group_version(api_version)
        return self._by_kind.get((group, version, kind))

    def kind_of_group(self, group: str, kind: str) -> Resource | None:
        """The resource of a kind in the preferred version of its group, or else in another served one; None if no
        version has it."""
        group_ = self._groups.get(group)
        versions = () if group_ is None else (group_.preferred, *group_.versions)
        return next((r for version in versions if (r := self._by_kind.get((group, version, kind))) is not None), None)

    def group(self, name: str) -> Group | None:
        return self._groups.get(name)

    def in_version(self, group: str, version: str) -> tuple[Resource, ...]:
        """Resources of one group and version, in table order."""
        return tuple(self._in_versions.get((group, version), ()))

    def versions_of(self, resource: Resource) -> tuple[Resource, ...]:
        """All served versions of the objects stored under this resource's key, in all groups (events have two)."""
        return tuple(r for r in self.resources if r.key == resource.key) if resource.key else (resource,)

    def row(self, api_version: str, kind: str) -> KindRow | None:
        """The row of a kind in a version, which need not be served; None for a version without the kind."""
        resource = self.kind(api_version, kind)
        if resource is not None:
            return resource.row
        return find_row(self.types, package_of(*split_group_version(api_version)), kind)

    def had(self, api_version: str, kind: str) -> bool:
        """True for a kind in a version that only earlier releases serve, or none: its objects are known, but not
        accepted."""
        group, version = split_group_version(api_version)
        ended = any(
            self.dialect(template) == group and each.name == version and not self.release.includes(until=each.until)
            for template, versions in builtin_groups.GROUPS
            for each in versions
        )
        if ended and find_row(self.types, package_of(group, version), kind) is not None:
            return True
        later = former_kinds.LATER_KINDS if self.release.includes(former_kinds.LATER_SINCE) else {}
        return any(
            self.dialect(template) == group and kind.removesuffix("List") in versions.get(version, "").split()
            for table in (former_kinds.FORMER_KINDS, later)
            for template, versions in table.items()
        )

    def may_have_moved(self, group: str, other: str) -> bool:
        """True if the kinds of `group` that have ended there may be in the group `other` now."""
        return other in (self.dialect(template) for template in former_kinds.MOVED.get(group, ()))

    def type(self, name: str) -> Type:
        """A named type: ``meta/v1.DeleteOptions``."""
        return self.types.get(name)

    def body_kind(self, package: str, kind: str) -> Resource:
        """A kind that subresources take as their body: a resource that is not stored and has no path of its own."""
        row = find_row(self.types, package, kind)
        assert row is not None, kind
        body = replace(row, plural=row.plural or kind.lower() + "s", namespaced=True, key="")
        resource = _resource(self.dialect, self.types, package, body)
        return replace(resource, storage_version=resource.api_version)

    def storage_type(self, resource: Resource) -> Type:
        """The type of the storage version of `resource`, which need not be served."""
        return resource.type if resource.storage_version == resource.api_version else self._storage(resource)

    def _storage(self, resource: Resource) -> Type:
        if resource.storage_type is not None:
            return resource.storage_type
        for other in self.resources:
            if other.key == resource.key and other.api_version == resource.storage_version:
                return other.type
        group, version = split_group_version(resource.storage_version)
        try:
            return self.types.get(f"{package_of(group, version)}.{resource.kind}")
        except KeyError:
            return resource.type

    def adding(
        self, resources: Iterable[Resource], *, without: Callable[[Resource], bool] = lambda r: False
    ) -> Catalog:
        """A new catalog with `resources` added, and without the resources for which `without` is true.

        Groups and versions are updated: a new group is appended, its versions are sorted by `version_priority`.
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
                groups.append(_without_empty_versions(old, tuple(v for v in old.versions if v in have)))
            elif have:
                versions = tuple(sorted(have, key=version_priority))
                groups.append(Group(name=name, versions=versions, preferred=versions[0]))
        return Catalog(self.dialect, self.types, groups, kept, self.later, lists_values=self.lists_values)

    def listing_values(self) -> Catalog:
        """The same catalog, whose OpenAPI documents have the known values of strings."""
        return Catalog(self.dialect, self.types, self.groups, self.resources, self.later, lists_values=True)


def _without_empty_versions(group: Group, versions: tuple[str, ...]) -> Group:
    """`group` without versions that have no resources."""
    if versions == group.versions:
        return group
    preferred = group.preferred if group.preferred in versions else versions[0]
    return Group(name=group.name, versions=versions, preferred=preferred)


_VERSION: Final = re.compile(r"v([0-9]+)(?:(beta|alpha)([0-9]+))?")
_STAGES: Final = {None: 0, "beta": 1, "alpha": 2}


#: A definition may have thousands of versions, which are sorted at each change of the catalog.
@lru_cache(maxsize=1 << 14)
def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort key of versions: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name (specification, "Version
    priority")."""
    if match := _VERSION.fullmatch(version):
        major, stage, minor = match.groups()
        return _STAGES[stage], -integer(major), -integer(minor or "0"), ""
    return 3, 0, 0, version


@cache
def builtin_types(dialect: Dialect, release: Release = SPECIFICATION) -> TypeTable:
    """The type tables of a release, one value for all callers. A module is imported at the first request for one of its
    types."""

    def load(module: str) -> Callable[[], Any]:
        return lambda: importlib.import_module(f"orchd.kinds.builtin.{module}")

    return TypeTable(dialect, release, {package: load(module) for package, module in builtin_groups.MODULES.items()})


def versions_in(release: Release) -> Iterator[tuple[str, tuple[builtin_groups.GroupVersion, ...]]]:
    """The groups of a release (templates) with the versions that it has."""
    for template, versions in builtin_groups.GROUPS:
        present = tuple(each for each in versions if release.includes(each.since, each.until))
        if present:
            yield template, present


def builtin_catalog(
    dialect: Dialect,
    release: Release = SPECIFICATION,
    *,
    enabled: Callable[[str, str, bool], bool] | None = None,
    without: frozenset[str] = frozenset(),
) -> Catalog:
    """The catalog of enabled built-in resources of a release.

    `enabled(group, version, default)` decides whether a version is served (`--runtime-config`). Default: the versions
    that are enabled by default. `without` are subresources that are not served, such as ``pods/log``.
    """
    decide = enabled or (lambda group, version, default: default)
    return _catalog(
        dialect,
        release,
        tuple(
            (template, tuple(each.name for each in versions if decide(dialect(template), each.name, each.default)))
            for template, versions in versions_in(release)
        ),
        frozenset(package for package in builtin_groups.LATER if decide(*_later_version(dialect, package), True)),
        without,
    )


def _later_version(dialect: Dialect, package: str) -> tuple[str, str]:
    module = builtin_types(dialect).module(package)
    return dialect(module.GROUP), module.VERSION


def _without_subresources(resource: Resource, without: frozenset[str]) -> Resource:
    kept = {name: sub for name, sub in resource.subresources.items() if f"{resource.plural}/{name}" not in without}
    return resource if len(kept) == len(resource.subresources) else replace(resource, subresources=kept)


#: A server makes few different ones, each several times, and a test run makes many servers.
@lru_cache(maxsize=16)
def _catalog(
    dialect: Dialect,
    release: Release,
    versions_on: tuple[tuple[str, tuple[str, ...]], ...],
    later_on: frozenset[str],
    without: frozenset[str],
) -> Catalog:
    """`versions_on` are the enabled versions of each group, in the order of the table; `later_on` the enabled packages
    of later releases."""
    types = builtin_types(dialect, release)
    groups: list[Group] = []
    resources: list[Resource] = []
    for template, on in versions_on:
        if not on:
            continue
        groups.append(Group(name=dialect(template), versions=on, preferred=on[0]))
        for version in on:
            package = package_of(template, version)
            rows = (row for row in _rows(types, package) if release.includes(row.since, row.until))
            complete = (_in_version(types, row) for row in rows)
            served = (_resource(dialect, types, package, row) for row in complete if row.plural)
            resources.extend(_without_subresources(resource, without) for resource in served)
    names = {group.name for group in groups}
    later = [
        resource
        for package in builtin_groups.LATER
        if package in later_on
        for row in types.module(package).LATER
        if not release.includes(row.since) and (resource := _resource(dialect, types, package, row)).group in names
    ]
    return Catalog(dialect, types, groups, resources, later)


def find_row(types: TypeTable, package: str, kind: str) -> KindRow | None:
    """The row of a kind in a version; None for a version, or a group, without the kind."""
    try:
        rows = _rows(types, package)
    except KeyError:
        return None
    row = next((row for row in rows if row.kind == kind), None)
    return None if row is None else _in_version(types, row)


def _rows(types: TypeTable, package: str) -> tuple[Row, ...]:
    """The rows of a module, in all releases. Raises KeyError for an unknown package."""
    module = types.module(package)
    return (*module.RESOURCES, *getattr(module, "LATER", ()))


def _in_version(types: TypeTable, row: Row) -> KindRow:
    """The complete row of a kind in the version of `row`, as it is in the release of the types."""
    if isinstance(row, VersionRow):
        kind, module = row.kind, types.module(row.of)
        row = in_version(next(each for each in module.RESOURCES if each.kind == kind), row)
    return in_release(row, types.release)


def _resource(dialect: Dialect, types: TypeTable, package: str, row: KindRow) -> Resource:
    module = types.module(package)
    group, version = dialect(module.GROUP), module.VERSION
    api_version = group_version(group, version)
    nominal = dialect(row.storage_version)
    stored = nominal if nominal and _has_type(types, nominal, row.kind) else api_version
    announced = dialect(row.announced_version) or (nominal if nominal != stored else "")
    deprecation = row.deprecated
    if deprecation is not None:
        deprecation = replace(deprecation, replacement=dialect(deprecation.replacement))
    return Resource(
        group=group,
        version=version,
        kind=row.kind,
        plural=row.plural,
        type=types.get(f"{package}.{row.kind}"),
        namespaced=row.namespaced,
        row=row,
        singular=row.kind.lower() if types.release.includes(SINGULAR_NAMES) else "",
        list_kind=row.kind + "List",
        verbs=row.verbs,
        short_names=row.short_names,
        categories=row.categories,
        subresources={
            sub.name: replace(sub, kind=sub.kind or row.kind, group=dialect(sub.group)) for sub in row.subresources
        },
        storage_version=stored if row.key else "",
        announced_version=announced,
        key=dialect(row.key),
        deprecation=deprecation,
    )


def _has_type(types: TypeTable, api_version: str, kind: str) -> bool:
    """True if a version has a table of `kind`. One storage version of the reference is no longer a served version."""
    try:
        types.get(f"{package_of(*split_group_version(api_version))}.{kind}")
    except KeyError:
        return False
    return True
