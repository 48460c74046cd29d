"""Validation of roles and role bindings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core.field_rules import is_subdomain
from orchd.kinds.objects.validate.names import path_segment
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import label_selector, usable

Update = Callable[[Object, Object, Report], None]

GROUP: Final = "rbac.authorization.{abbr}.io"


def create_role(value: Object, report: Report) -> None:
    _role(value, report, namespaced=True)


def create_cluster_role(value: Object, report: Report) -> None:
    _role(value, report, namespaced=False)
    rule = value.get("aggregationRule")
    if rule is None:
        return
    at = root("aggregationRule") / "clusterRoleSelectors"
    selectors = rule.get("clusterRoleSelectors") or []
    if not selectors:
        report.required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for i, selector in enumerate(selectors):
        label_selector(selector, at[i], report)
        if not usable(selector):
            report.invalid(at[i], None, "invalid label selector.")


def _role(value: Object, report: Report, *, namespaced: bool) -> None:
    meta.create(value, report, namespaced=namespaced, name_rule=path_segment)
    for i, rule in enumerate(value.get("rules") or ()):
        _rule(rule, namespaced, root("rules")[i], report)


def _rule(rule: Object, namespaced: bool, at: Path, report: Report) -> None:
    urls = rule.get("nonResourceURLs") or []
    if not rule.get("verbs"):
        report.required(at / "verbs", "verbs must contain at least one value")
    if urls:
        if namespaced:
            report.invalid(at / "nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            report.invalid(at / "nonResourceURLs", urls, why)
        return
    if not rule.get("apiGroups"):
        report.required(at / "apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        report.required(at / "resources", "resource rules must supply at least one resource")


def create_binding(value: Object, report: Report) -> None:
    _binding(value, ("Role", "ClusterRole"), report, namespaced=True)


def create_cluster_binding(value: Object, report: Report) -> None:
    _binding(value, ("ClusterRole",), report, namespaced=False)


def _binding(value: Object, kinds: tuple[str, ...], report: Report, *, namespaced: bool) -> None:
    meta.create(value, report, namespaced=namespaced, name_rule=path_segment)
    group, reference, at = report.dialect(GROUP), value.get("roleRef") or {}, root("roleRef")
    if reference.get("apiGroup") != group:
        report.unsupported(at / "apiGroup", reference.get("apiGroup") or "", (group,))
    if reference.get("kind") not in kinds:
        report.unsupported(at / "kind", reference.get("kind") or "", kinds)
    name = reference.get("name") or ""
    if not name:
        report.required(at / "name")
    else:
        report.invalids(at / "name", name, path_segment(name))
    for i, subject in enumerate(value.get("subjects") or ()):
        _subject(subject, namespaced, root("subjects")[i], report)


def _subject(subject: Object, namespaced: bool, at: Path, report: Report) -> None:
    name, kind, group = subject.get("name") or "", subject.get("kind") or "", subject.get("apiGroup") or ""
    ours = report.dialect(GROUP)
    if not name:
        report.required(at / "name")
    if kind == "ServiceAccount":
        if name:
            is_subdomain(name, at / "name", report)
        if group:
            report.unsupported(at / "apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            report.required(at / "namespace")
    elif kind in ("User", "Group"):
        if group != ours:
            report.unsupported(at / "apiGroup", group, (ours,))
    else:
        report.unsupported(at / "kind", kind, ("ServiceAccount", "User", "Group"))


def _binding_change(value: Object, old: Object, report: Report) -> None:
    meta.update(value, old, report)
    if value.get("roleRef") != old.get("roleRef"):
        report.invalid(root("roleRef"), dump("rbac.RoleRef", value.get("roleRef")), "cannot change roleRef")


def _change(create: Callable[[Object, Report], None], change: Update) -> Update:
    """The rules for an update: those for a new object and `change`. In earlier releases the former are applied twice,
    and every error is reported twice."""

    def twice(value: Object, old: Object, report: Report) -> None:
        create(value, report)
        once(value, old, report)

    def once(value: Object, old: Object, report: Report) -> None:
        create(value, report)
        change(value, old, report)

    return by_release(twice, ("1.24", once))


update_role: Final = _change(create_role, meta.update)
update_cluster_role: Final = _change(create_cluster_role, meta.update)
update_binding: Final = _change(create_binding, _binding_change)
update_cluster_binding: Final = _change(create_cluster_binding, _binding_change)
