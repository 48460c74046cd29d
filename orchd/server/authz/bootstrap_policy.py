"""Default roles and bindings as objects, and their reconciliation.

The tables are in `bootstrap_roles`, `bootstrap_controller_roles` and `bootstrap_bindings`. Reconciliation adds missing
rules and subjects and removes none; an object whose autoupdate annotation is ``"false"`` is skipped (specification,
"RBAC", "Default roles and role bindings").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.gates import enabled
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.rule_coverage import uncovered
from orchd.kinds.release import SPECIFICATION, Release
from orchd.server.authz import bootstrap_bindings, bootstrap_controller_roles, bootstrap_roles
from orchd.server.authz.bootstrap_rules import Rule
from orchd.txkit.for_each import for_each

RBAC_GROUP = "rbac.authorization.{abbr}.io"
_CONTROLLER = "system:controller:"
_ATTEMPTS = 3
#: Default objects that are ensured at a time.
_AT_ONCE = 64


def policy_rule(dialect: Dialect, row: Rule) -> Object:
    """A table row as a PolicyRule."""

    def words(text: str) -> list[str]:
        return ["" if w == "core" else dialect(w) for w in text.split()]

    if row.paths:
        return {"verbs": words(row.verbs), "nonResourceURLs": words(row.paths)}
    rule: Object = {"verbs": words(row.verbs), "apiGroups": words(row.groups), "resources": words(row.resources)}
    if row.names:
        rule["resourceNames"] = words(row.names)
    return rule


def _object(
    dialect: Dialect, kind: str, name: str, namespace: str = "", labels: dict[str, str] | None = None
) -> Object:
    meta: Object = {"name": dialect(name)}
    if namespace:
        meta["namespace"] = dialect(namespace)
    meta["labels"] = {dialect("{long}.io/bootstrapping"): "rbac-defaults", **(labels or {})}
    meta["annotations"] = {dialect.autoupdate: "true"}
    return {"apiVersion": dialect(RBAC_GROUP + "/v1"), "kind": kind, "metadata": meta}


def _role(dialect: Dialect, kind: str, name: str, rows: Iterable[Rule], namespace: str = "") -> Object:
    to = bootstrap_roles.AGGREGATES_TO.get(name) if kind == "ClusterRole" else None
    labels = {dialect(RBAC_GROUP + "/aggregate-to-") + to: "true"} if to else None
    obj = _object(dialect, kind, name, namespace, labels)
    if kind == "ClusterRole" and name in bootstrap_roles.AGGREGATED:
        label = dialect(RBAC_GROUP + "/aggregate-to-") + name
        return {**obj, "rules": None, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}}
    return {**obj, "rules": [policy_rule(dialect, row) for row in rows]}


def _subject(dialect: Dialect, text: str) -> Object:
    word, name = dialect(text).split(" ", 1)
    if word == "sa":
        namespace, name = name.split("/")
        return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return {"kind": word.capitalize(), "apiGroup": dialect(RBAC_GROUP), "name": name}


def _binding(
    dialect: Dialect, kind: str, name: str, role_kind: str, role: str, subjects: Iterable[str], namespace: str = ""
) -> Object:
    obj = _object(dialect, kind, name, namespace)
    listed = [_subject(dialect, s) for s in subjects]
    if listed:
        obj["subjects"] = listed
    obj["roleRef"] = {"apiGroup": dialect(RBAC_GROUP), "kind": role_kind, "name": dialect(role)}
    return obj


def cluster_role_rules(dialect: Dialect, name: str, release: Release) -> list[Object]:
    """The rules of a default cluster role that is no controller's, in a release."""
    return [policy_rule(dialect, row) for row in _rows_of(bootstrap_roles.CLUSTER_ROLES[name], {}, release)]


def _rows_of(rows: Iterable[Rule], features: Mapping[str, bool], release: Release) -> list[Rule]:
    """The rows that hold in a release with feature gates."""
    return [
        row
        for row in rows
        if release.includes(row.since, row.until) and (not row.gate or enabled(features, row.gate, release))
    ]


def bootstrap_objects(
    dialect: Dialect, features: Mapping[str, bool] = MappingProxyType({}), release: Release = SPECIFICATION
) -> list[Object]:
    """Every default object of a release: cluster roles, their bindings, roles, their bindings. `features` are the
    feature gates that were given."""
    cluster_roles = dict(bootstrap_roles.CLUSTER_ROLES)
    bindings = dict(bootstrap_bindings.CLUSTER_ROLE_BINDINGS)
    for controller, rows in bootstrap_controller_roles.CONTROLLER_ROLES.items():
        if release.includes(bootstrap_controller_roles.SINCE.get(controller, "")):
            name = _CONTROLLER + controller
            cluster_roles[name] = rows
            bindings[name] = (name, (f"sa {{short}}-system/{controller}",))
    objects = [
        _role(dialect, "ClusterRole", name, _rows_of(rows, features, release)) for name, rows in cluster_roles.items()
    ]
    for name, (role, subjects) in bindings.items():
        objects.append(_binding(dialect, "ClusterRoleBinding", name, "ClusterRole", role, subjects))
    for (namespace, name), rows in bootstrap_bindings.ROLES.items():
        objects.append(_role(dialect, "Role", name, _rows_of(rows, features, release), namespace))
    for (namespace, name), (role, subjects) in bootstrap_bindings.ROLE_BINDINGS.items():
        later = bootstrap_bindings.LATER_SUBJECTS.get((namespace, name), ())
        subjects += tuple(subject for since, subject in later if release.includes(since))
        objects.append(_binding(dialect, "RoleBinding", name, "Role", role, subjects, namespace))
    return objects


@dataclass(frozen=True, slots=True)
class Change:
    """A pending write: `action` is "", "create", "update" or "recreate" (delete first), with the object."""

    action: str
    object: Object


def reconcile(existing: Object | None, expected: Object) -> Change:
    """The change that makes `existing` (None when missing) include everything in `expected`."""
    if existing is None:
        return Change("create", expected)
    if ((existing["metadata"].get("annotations")) or {}).get(_autoupdate_key(expected)) == "false":
        return Change("", existing)
    if "roleRef" in expected:
        if existing.get("roleRef") != expected["roleRef"]:
            return Change("recreate", _with_metadata(expected, existing))
        result = _with_subjects(existing, expected)
    else:
        result = _with_rules(existing, expected)
    result = _with_metadata(result, existing, expected)
    return Change("update" if result != existing else "", result)


def _autoupdate_key(expected: Object) -> str:
    key: str = next(iter(expected["metadata"]["annotations"]))
    return key


def _with_metadata(obj: Object, existing: Object, expected: Object | None = None) -> Object:
    """`obj` with the metadata of `existing`, and missing labels and annotations from `expected`."""
    old = existing["metadata"]
    expected_metadata = (expected or obj)["metadata"]
    meta = {k: v for k, v in old.items() if expected is not None or k not in ("uid", "resourceVersion")}
    for key in ("labels", "annotations"):
        if expected_metadata.get(key):
            meta[key] = {**expected_metadata[key], **(old.get(key) or {})}
    return {**obj, "metadata": meta}


def _with_subjects(existing: Object, expected: Object) -> Object:
    have = existing.get("subjects") or []
    missing = [s for s in expected.get("subjects") or () if s not in have]
    return {**existing, "subjects": [*have, *missing]} if missing else existing


def _with_rules(existing: Object, expected: Object) -> Object:
    aggregation = expected.get("aggregationRule")
    have = existing.get("aggregationRule")
    if aggregation is None:
        result = {k: v for k, v in existing.items() if k != "aggregationRule"}
        rules = existing.get("rules") or []
        missing = uncovered(rules, expected.get("rules") or ())
        return {**result, "rules": [*rules, *missing]} if missing else result
    selectors = (have or {}).get("clusterRoleSelectors") or []
    absent = [s for s in aggregation["clusterRoleSelectors"] if s not in selectors]
    if not absent:
        return existing
    return {**existing, "aggregationRule": {**(have or {}), "clusterRoleSelectors": [*selectors, *absent]}}


async def ensure(
    client: IClient,
    dialect: Dialect,
    features: Mapping[str, bool] = MappingProxyType({}),
    release: Release = SPECIFICATION,
) -> int:
    """Create or reconcile every default object, many at a time so that their writes share commits; returns the number
    of writes. Raises the first ApiError.

    Several servers may do this concurrently, so lost races are retried. Roles in missing namespaces raise the
    namespace's 404: create the system namespaces first.
    """
    writes = 0
    objects = bootstrap_objects(dialect, features, release)
    present = await _list_existing(client, dialect, objects)

    async def one(expected: Object) -> None:
        nonlocal writes
        existing = present.get(_key(expected, dialect))
        for attempt in range(_ATTEMPTS):
            try:
                if attempt > 0:
                    # Another server was faster since the lists.
                    existing = await _current(client, _key(expected, dialect))
                written = await _write(client, _key(expected, dialect), reconcile(existing, expected))
            except ApiError as error:
                if error.code != 409 or attempt == _ATTEMPTS - 1:
                    raise
            else:
                writes += written
                return

    await for_each(objects, one, at_once=_AT_ONCE)
    return writes


#: A resource, a namespace ("" for none) and a name.
_Key = tuple[ResourceRef, str, str]


def _key(expected: Object, dialect: Dialect) -> _Key:
    ref = ResourceRef(dialect(RBAC_GROUP), "v1", expected["kind"].lower() + "s")
    metadata = expected["metadata"]
    return ref, metadata.get("namespace", ""), metadata["name"]


async def _list_existing(client: IClient, dialect: Dialect, objects: Iterable[Object]) -> dict[_Key, Object]:
    """The current state of those `objects` that exist. Four lists cost less than a request for each object."""
    expected = {_key(each, dialect): None for each in objects}
    existing: dict[_Key, Object] = {}
    for ref in {ref: None for ref, _, _ in expected}:
        for item in (await client.list(ref)).get("items") or ():
            metadata = item["metadata"]
            key = ref, metadata.get("namespace", ""), metadata["name"]
            if key in expected:
                existing[key] = item
    return existing


async def _current(client: IClient, key: _Key) -> Object | None:
    """The object, or None. Raises ApiError."""
    try:
        return await client.get(*key)
    except ApiError as error:
        if error.code != 404:
            raise
        return None


async def _write(client: IClient, key: _Key, change: Change) -> int:
    """The number of writes. Raises ApiError."""
    ref, namespace, name = key
    if change.action == "create":
        await client.create(ref, namespace, change.object, need_response=False)
    elif change.action == "update":
        await client.update(ref, namespace, name, change.object)
    elif change.action == "recreate":
        await client.delete(ref, namespace, name)
        await client.create(ref, namespace, change.object)
    return 1 if change.action else 0
