"""The default RBAC roles and bindings, and their reconciliation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds.jsonvalues import Object
from orchd.server.authz.bootstrap_policy import bootstrap_objects, reconcile


def by_kind(objects: Iterable[Object], kind: str) -> dict[tuple[str, str], Object]:
    return {(o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects if o["kind"] == kind}


def test_default_objects_are_the_recorded_ones(reference: Callable[[str], Any]) -> None:
    """Every role and binding has the recorded labels, annotations, rules, subjects and role."""
    facts = reference("rbac")
    objects = bootstrap_objects(ORCH)
    for key, kind in (
        ("clusterRoles", "ClusterRole"),
        ("clusterRoleBindings", "ClusterRoleBinding"),
        ("roles", "Role"),
        ("roleBindings", "RoleBinding"),
    ):
        by_name = by_kind(objects, kind)
        recorded = {(o.get("namespace", ""), o["name"]): o for o in facts[key]}
        assert by_name.keys() == recorded.keys()
        for name, fact in recorded.items():
            obj = by_name[name]
            assert obj["metadata"]["labels"] == fact["labels"], name
            assert obj["metadata"]["annotations"] == fact["annotations"], name
            for member in ("rules", "aggregationRule", "roleRef"):
                assert obj.get(member) == fact.get(member), (name, member)
            assert (obj.get("subjects") or []) == (fact.get("subjects") or []), name


def test_names_follow_the_dialect() -> None:
    """Names and groups are spelled in the dialect."""
    names = {o["metadata"]["name"] for o in bootstrap_objects(KUBERNETES)}
    assert KUBERNETES("system:{short}-scheduler") in names and not any(ORCH.long in n for n in names)


def expected(name: str = "cluster-admin") -> Object:
    return by_kind(bootstrap_objects(ORCH), "ClusterRole")[("", name)]


def test_reconciling_adds_and_never_removes() -> None:
    """Missing rules are added, extra rules and labels stay, and a role with all rules is not written."""
    want = expected("system:public-info-viewer")
    assert reconcile(None, want).action == "create"
    assert reconcile(want, want).action == ""
    extra = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    have = {**want, "metadata": {**want["metadata"], "labels": {"a": "b"}}, "rules": [extra]}
    change = reconcile(have, want)
    assert change.action == "update"
    assert change.object["rules"][0] == extra and len(change.object["rules"]) > 1
    assert change.object["metadata"]["labels"] == {**want["metadata"]["labels"], "a": "b"}
    assert reconcile(change.object, want).action == ""


def test_autoupdate_false_prevents_reconciling() -> None:
    """With the autoupdate annotation set to false nothing is changed."""
    want = expected()
    have = {**want, "metadata": {**want["metadata"], "annotations": {ORCH.autoupdate: "false"}}, "rules": []}
    assert reconcile(have, want).action == ""


def test_rules_of_aggregated_roles_are_kept() -> None:
    """Rules of an aggregated role belong to its controller; only a missing selector is added."""
    want = expected("admin")
    have = {**want, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]}
    assert reconcile(have, want).action == ""
    change = reconcile({**have, "aggregationRule": None}, want)
    assert change.action == "update" and change.object["aggregationRule"] == want["aggregationRule"]
    assert change.object["rules"] == have["rules"]


def test_changed_role_reference_recreates_the_binding() -> None:
    """roleRef is immutable, so the binding is deleted and created; missing subjects alone are an update."""
    want = by_kind(bootstrap_objects(ORCH), "ClusterRoleBinding")[("", "cluster-admin")]
    other = {**want, "roleRef": {**want["roleRef"], "name": "x"}}
    assert reconcile(other, want).action == "recreate"
    change = reconcile({**want, "subjects": [{"kind": "User", "name": "u"}]}, want)
    assert change.action == "update" and len(change.object["subjects"]) == 2
