"""Fields that objects of all kinds have: readers, and copies with changes. Pure.

Readers take None for no object. An absent field, one that is null and one that is empty read alike. Where a local
variable has the name of a field, write ``fields.spec(obj)``.
"""

from __future__ import annotations

from typing import Any, Final

from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.kinds.release import Release

_NEVER_CREATED: Final[tuple[str, Object]] = "", {"creationTimestamp": None}


def unstored_metadata(release: Release) -> Object:
    """Metadata of an object that was never stored: releases before 1.34 write its missing time of creation as null."""
    return dict(release.choose((_NEVER_CREATED, ("1.34", {}))))


def metadata(obj: ObjectView | None) -> Object:
    return (obj or {}).get("metadata") or {}


def spec(obj: ObjectView | None) -> Object:
    return (obj or {}).get("spec") or {}


def status(obj: ObjectView | None) -> Object:
    return (obj or {}).get("status") or {}


def conditions(obj: ObjectView | None) -> list[Object]:
    """The conditions of the status. Must not be modified."""
    return status(obj).get("conditions") or []


def mapping(obj: ObjectView | None, *path: str) -> Object:
    """The mapping at `path`, such as ``mapping(pod, "spec", "securityContext")``."""
    value = obj or {}
    for member in path:
        value = value.get(member) or {}
    return value  # type: ignore[return-value]


def labels(obj: ObjectView | None) -> dict[str, str]:
    return metadata(obj).get("labels") or {}


def annotations_of(obj: ObjectView | None) -> dict[str, str]:
    return metadata(obj).get("annotations") or {}


def name(obj: ObjectView) -> str:
    """The name. Raises KeyError for an object that has none yet."""
    return str(obj["metadata"]["name"])


def namespace(obj: ObjectView) -> str:
    """The namespace, "" of an object of the cluster."""
    return str(obj["metadata"].get("namespace", ""))


def uid(obj: ObjectView) -> str:
    return str(obj["metadata"].get("uid", ""))


def generation(obj: ObjectView) -> int:
    """The number of the last change of spec; 0 of an object that has none."""
    return int(obj["metadata"].get("generation") or 0)


def deleting(obj: ObjectView) -> bool:
    """True if the object has a deletionTimestamp."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def owners(obj: ObjectView | None) -> list[Object]:
    """The owner references. Must not be modified."""
    return metadata(obj).get("ownerReferences") or []


def owner(obj: ObjectView) -> Object | None:
    """A copy of the owner reference with ``controller: true``; None without one."""
    for reference in owners(obj):
        if reference.get("controller"):
            return dict(reference)
    return None


def owner_reference(obj: ObjectView, api_version: str, kind: str) -> Object:
    """The reference to a controller `obj` in its dependents."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name(obj),
        "uid": uid(obj),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def with_metadata(obj: ObjectView, **changes: Any) -> Object:
    """A copy of `obj` with these members of metadata; None removes a member."""
    changed = {**metadata(obj), **changes}
    for member, value in changes.items():
        if value is None:
            del changed[member]
    return {**obj, "metadata": changed}


def with_spec(obj: ObjectView, **changes: Any) -> Object:
    """A copy of `obj` with these members of spec."""
    return {**obj, "spec": {**spec(obj), **changes}}


def with_status(obj: ObjectView, **changes: Any) -> Object:
    """A copy of `obj` with these members of status."""
    return {**obj, "status": {**status(obj), **changes}}
