"""Types of the rows that describe built-in kinds: everything that is known of a kind stands in its row.

RESOURCES of a module below `orchd.kinds.builtin` has a `KindRow` per kind, beside the kind's types. A kind with several
versions has its row in one of them; in the others a `VersionRow` refers to it and states what differs.

A row, and a subresource, may state the release `since` which it exists and the first one without it, `until`; `changes`
of a row are what differs from a release on.

Names of groups, versions and labels in rows are templates of a dialect. Functions are given by name, as in
``validate.apps.create_deployment``: dotted below `orchd.kinds.objects`, imported by `resolve` on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Final, TypeAlias

from orchd.kinds.release import Release

#: The fields of a type as lines (`orchd.kinds.ir`): name, number in protobuf, type, and words.
Lines: TypeAlias = tuple[tuple[str, int, str, str], ...]
#: The types of a version by name.
Types: TypeAlias = dict[str, Lines]

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
#: The error for a field that a kind with selectable fields of its own does not support.
UNSUPPORTED_FIELD: Final = "field label not supported: {name}"
#: The printer of kinds whose tables have names and times of creation.
DEFAULT_PRINTER: Final = "tabulate.policies.created"
#: Members of metadata that clients can set, and that the server maintains.
ALL_METADATA: Final = tuple(
    "name generateName namespace uid generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels "
    "annotations finalizers ownerReferences".split()
)
_FUNCTIONS: Final = "orchd.kinds.objects."


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """Deprecation of a version. `since` and `removed` are releases such as ``v1.22``; `removed`, `replacement` may be
    ""."""

    since: str
    removed: str = ""
    replacement: str = ""
    #: The kind to use, if it has another name.
    replacement_kind: str = ""

    def warning(self, kind: str, api_version: str) -> str:
        """The text of the Warning header (without code and quotes)."""
        text = f"{api_version} {kind} is deprecated in {self.since}+"
        if self.removed:
            text += f", unavailable in {self.removed}+"
        if self.replacement:
            text += f"; use {self.replacement} {self.replacement_kind or kind}"
        return text


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of tables. `printer` names the function that returns the cells of an object.

    A column is ``Name``, with ``|name`` for a format, ``|integer``, ``|boolean`` or ``|date`` for a type other than
    string, ``|wide`` for a column of priority 1, which clients show on request, and ``|since=1.31`` or ``|until=1.24``
    for the releases that have it. `descriptions` are the descriptions of columns by name; other columns have the
    default description of their name. The printer returns a cell per column of any release. `printers` are other
    printers, each from a release on. `visible` are the positions of the cells that a release shows; (): all of them.
    """

    printer: str = DEFAULT_PRINTER
    columns: tuple[str, ...] = ("Name|name", "Created At|date")
    descriptions: Mapping[str, str] = field(default_factory=dict)
    printers: tuple[tuple[str, str], ...] = ()
    visible: tuple[int, ...] = ()

    def in_release(self, release: Release) -> Table:
        """The table as it is in a release."""
        printer = release.choose((("", self.printer), *self.printers))
        if not any("=" in column for column in self.columns):
            return self if printer == self.printer else replace(self, printer=printer, printers=())
        visible = tuple(i for i, column in enumerate(self.columns) if _column_in(column, release))
        columns = tuple(_without_releases(self.columns[i]) for i in visible)
        names = {column.partition("|")[0] for column in columns}
        return replace(
            self,
            printer=printer,
            printers=(),
            columns=columns,
            descriptions={name: text for name, text in self.descriptions.items() if name in names},
            visible=() if len(visible) == len(self.columns) else visible,
        )


def _column_in(column: str, release: Release) -> bool:
    words = dict(word.split("=") for word in column.split("|") if "=" in word)
    return release.includes(words.get("since", ""), words.get("until", ""))


def _without_releases(column: str) -> str:
    return "|".join(word for word in column.split("|") if "=" not in word)


@dataclass(frozen=True, slots=True)
class Conversion:
    """Functions ``(object, catalog) -> object`` that convert a version of a kind to the hub version and back.

    A version without a conversion has the form of the hub: only its apiVersion differs. `annotates`: the version keeps
    members of the hub in annotations, which writers own too. `keeps_shape`: of objects in canonical shape both functions
    make such, so that no pass over all members has to.
    """

    to_hub: str
    from_hub: str
    annotates: bool = False
    keeps_shape: bool = False


@dataclass(frozen=True, slots=True)
class Validation:
    """Validation of objects. `create` names a function ``(object, report)``, `update` one ``(object, old, report)``.

    `own_metadata`: the functions validate metadata themselves.
    """

    create: str = ""
    update: str = ""
    own_metadata: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSelectors:
    """Fields that field selectors may use, besides metadata.name.

    `names` are names in selectors that are also names of indexed values, `aliases` maps further names to those of
    indexed values. `values` names the function ``(object) -> values by name``. `namespace`: metadata.namespace may be
    used. `unsupported` is the error for other fields; ``{name}`` and ``{quoted}`` stand for the name, ``{version}`` for
    group and version.
    """

    names: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    values: str = ""
    namespace: bool = True
    unsupported: str = '{quoted} is not a known field selector: only "metadata.name", "metadata.namespace"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Usage of quotas, besides ``count/PLURAL.GROUP`` of every stored object.

    `usage` names a function ``(object, dialect) -> amounts by name``, `concerns` one ``(name, dialect) -> bool`` that
    tells if a name is one of them. `counted_as` is the name under which objects are counted instead. `on_update`:
    updates may change the usage; those of `subresources` do.
    """

    usage: str = ""
    concerns: str = ""
    counted_as: str = ""
    on_update: bool = False
    subresources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The scale subresource of a kind with ``spec.replicas``.

    `not_found` is the group and resource in the error of a read for a missing object. `selector` is the form of
    ``spec.selector``: a LabelSelector ``object`` or a ``map`` of labels.
    """

    not_found: tuple[str, str]
    selector: str = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A subresource: its names in discovery, the verbs that serve it, and the fields that a write through it may
    change.

    `kind` is that of its bodies; in a row, "" means the kind of the row. `group` and `version` are set if they differ
    from those of the parent. `served_by` names the verbs that serve it (`orchd.assembly.verbs`); ``object`` is a view
    of the object itself.
    """

    name: str
    kind: str = ""
    verbs: tuple[str, ...] = ("get", "patch", "update")
    group: str = ""
    version: str = ""
    served_by: str = "object"
    #: Validation of updates through the subresource, a function as `Validation.update`; "": only that of every kind.
    update: str = ""
    #: Paths of fields that a write resets to their stored values; writers do not become their field managers.
    resets: tuple[str, ...] = ("spec",)
    #: Members of metadata that a write resets to their stored values.
    keeps_metadata: tuple[str, ...] = ()
    scale: Scale | None = None
    #: True: a write of a missing object through it creates the object where one through the main endpoint does.
    creates: bool = False
    #: False: it has no tables, not even in releases in which others have.
    tables: bool = True
    since: str = ""
    until: str = ""


def scale_subresource(
    group: str, resource: str, selector: str = "object", *, since: str = "", until: str = ""
) -> Subresource:
    """The scale subresource. Arguments as the members of `Scale`, and the releases with it."""
    return Subresource(
        name="scale",
        kind="Scale",
        group="autoscaling",
        version="v1",
        served_by="scale",
        scale=Scale(not_found=(group, resource), selector=selector),
        since=since,
        until=until,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """The properties of a kind. Defaults are the values of most kinds, and of custom kinds."""

    kind: str
    #: Plural name, in paths. "": the kind has no resource of its own; it is the body of a subresource (Scale).
    plural: str = ""
    namespaced: bool = False
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    #: Part of store keys between root and namespace; "": objects are not stored.
    key: str = ""
    #: Verbs of a kind that is not stored, by their name in `orchd.assembly.verbs`.
    served_by: str = ""
    subresources: tuple[Subresource, ...] = ()

    #: The apiVersion of stored objects; "": the version of the module.
    storage_version: str = ""
    #: The apiVersion that the storage version hash is computed from, if it is not the storage version.
    announced_version: str = ""
    #: The group in errors, where it is not the group of the storage version: kinds that the reference once moved.
    error_group: str = ""
    deprecated: Deprecation | None = None
    conversion: Conversion | None = None

    table: Table = field(default_factory=Table)
    fields: FieldSelectors = field(default_factory=FieldSelectors)
    #: The reference has a watch cache for the kind. Without one, the rules of its store apply to lists.
    cached: bool = True
    quota: Quota | None = None

    #: Class of `orchd.server.registry.strategies` for rules that are not data; "": the default strategy.
    strategy: str = ""
    validation: Validation = field(default_factory=Validation)
    #: Function ``(object, old, resource, settings) -> texts`` for Warning headers; "": no warnings.
    warnings: str = ""
    #: Path of the pod template; () for pods; None for kinds without one.
    pod_template: tuple[str, ...] | None = None
    #: Paths of fields whose change raises metadata.generation; None for kinds without generation.
    generation: tuple[str, ...] | None = None
    #: New objects have generation 1.
    first_generation: bool = True
    #: Status is cleared on create.
    clears_status: bool = True
    #: Writes of the object write the status too, though there is an endpoint for it.
    writes_status: bool = False
    #: PUT and apply may create objects.
    creates_on_update: bool = False
    #: An object sent with neither name nor generateName is created under a UUID as its name.
    creates_unnamed: bool = False
    #: PUT may omit metadata.resourceVersion.
    unconditional_update: bool = True
    #: Changes may wait some milliseconds, to share a commit with those of other objects: many clients make them often.
    gathers_changes: bool = False
    #: Paths of fields, besides status, that a write of the object resets to their stored values, or to those of the
    #: server on create; writers do not become their field managers.
    resets: tuple[str, ...] = ()
    #: Member whose JSON text is stored as it was sent; "": none.
    verbatim: str = ""
    #: DELETE returns the object, not a Status.
    returns_deleted: bool = False
    #: Dependents are garbage collected.
    collected: bool = True
    #: DELETE without a propagation policy orphans dependents.
    orphans: bool = False
    since: str = ""
    until: str = ""
    #: A release, and the members that have another value from it on, ascending.
    changes: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    """A version of a kind whose row is in the module of the version `of` (``batch/v1``). Members that are not None
    replace those of the row; `subresources` replace those of the same names."""

    kind: str
    of: str
    deprecated: Deprecation | None = None
    conversion: Conversion | None = None
    fields: FieldSelectors | None = None
    validation: Validation | None = None
    orphans: bool | None = None
    subresources: tuple[Subresource, ...] = ()
    since: str = ""
    until: str = ""
    changes: tuple[tuple[str, Mapping[str, Any]], ...] = ()


#: A row of RESOURCES.
Row = KindRow | VersionRow
#: Members of a `KindRow` that belong to its own version alone: other versions do not take them over.
_OF_ONE_VERSION: Final[Mapping[str, Any]] = {"deprecated": None, "conversion": None, "orphans": False}


def in_version(row: KindRow, version: VersionRow) -> KindRow:
    """The row of a kind in another version."""
    own = {each.name: getattr(version, each.name) for each in fields(version) if each.name not in ("kind", "of")}
    changes = {name: value for name, value in own.items() if value is not None}
    inherited = (
        (since, {name: value for name, value in members.items() if name not in changes and name not in _OF_ONE_VERSION})
        for since, members in row.changes
    )
    subresources = {sub.name: sub for sub in (*row.subresources, *version.subresources)}
    changes.update(subresources=tuple(subresources.values()), changes=(*inherited, *version.changes))
    return replace(row, **{**_OF_ONE_VERSION, **changes})


def in_release(row: KindRow, release: Release) -> KindRow:
    """The row as it is in a release, which has it."""
    changes: dict[str, Any] = {}
    for since, members in row.changes:
        if release.includes(since):
            changes.update(members)
    subresources = tuple(sub for sub in row.subresources if release.includes(sub.since, sub.until))
    if len(subresources) < len(row.subresources):
        changes["subresources"] = subresources
    table: Table = changes.get("table", row.table)
    if (of_release := table.in_release(release)) is not table:
        changes["table"] = of_release
    return replace(row, **changes, changes=()) if changes else row


@cache
def resolve(name: str) -> Any:
    """The function of a row by its name."""
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(_FUNCTIONS + module), function)


def same_types(types: Types, names: str) -> Types:
    """The types of another version that are the same in this one; `names` is a text of words."""
    return {name: types[name] for name in names.split()}


#: The fields of a condition, in most groups.
CONDITION: Final[Lines] = (
    ("type", 1, "string", "required"),
    ("status", 2, "string", "required"),
    ("lastTransitionTime", 3, "time", "omit"),
    ("reason", 4, "string", "omit"),
    ("message", 5, "string", "omit"),
)


def object_types(names: str, *, spec: str = "omit", status: str = "omit") -> Types:
    """Types of kinds with metadata, spec and status; `names` is a text of words. `spec` and `status` are the words of
    these fields; "": the types do not have the field."""
    members = [(member, words) for member, words in (("spec", spec), ("status", status)) if words]
    return {
        name: (
            ("metadata", 1, "meta/v1.ObjectMeta", "omit"),
            *((member, i, name + member.title(), words) for i, (member, words) in enumerate(members, 2)),
        )
        for name in names.split()
    }
