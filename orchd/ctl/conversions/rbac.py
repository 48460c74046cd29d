"""Bindings of RBAC v1alpha1."""

from __future__ import annotations

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object


def alpha_binding(obj: Object, dialect: Dialect) -> Object:
    """Subjects have a group instead of a version, and the user ``*`` is every authenticated one."""
    group = dialect("rbac.authorization.{abbr}.io")
    subjects = [_subject(each, group) for each in obj.get("subjects") or ()]
    return {**obj, "subjects": subjects} if subjects else obj


def _subject(subject: Object, group: str) -> Object:
    out = {key: value for key, value in subject.items() if key != "apiVersion"}
    kind = str(subject.get("kind", ""))
    if kind == "ServiceAccount":
        return out
    if kind not in ("User", "Group"):
        own, _, version = str(subject.get("apiVersion") or "").partition("/")
        return {**out, "apiGroup": own} if version else out
    if kind == "User" and subject.get("name") == "*":
        out |= {"kind": "Group", "name": "system:authenticated"}
    return {**out, "apiGroup": group}
