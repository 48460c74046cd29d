"""``auth reconcile``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.ctl.commands.auth.reconcile import missing_rules, reconcile_role
from tests.ctl.ctl_runner import Ctl


def manifests(ctl: Ctl, verbs: str = "get", role: str = "Role/r", users: str = "bob") -> str:
    group = ctl.server.dialect("rbac.authorization.{abbr}.io")
    kind, _, name = role.partition("/")
    subjects = ", ".join(f"{{kind: User, apiGroup: {group}, name: {user}}}" for user in users.split())
    return f"""
apiVersion: {group}/v1
kind: Role
metadata: {{name: r, labels: {{a: b}}}}
rules: [{{apiGroups: [""], resources: [pods], verbs: [{verbs}]}}]
---
apiVersion: {group}/v1
kind: RoleBinding
metadata: {{name: r}}
roleRef: {{apiGroup: {group}, kind: {kind}, name: {name}}}
subjects: [{subjects}]
"""


def state(ctl: Ctl) -> tuple[list[Any], str, list[str]]:
    """Verbs of each rule, the name of the bound role, and the subjects."""
    role = json.loads(ctl("get", "role/r", "-o", "json").out)
    binding = json.loads(ctl("get", "rolebinding/r", "-o", "json").out)
    return (
        [rule["verbs"] for rule in role["rules"]],
        binding["roleRef"]["name"],
        [each["name"] for each in binding["subjects"]],
    )


def _rule(groups: str, resources: str, verbs: str, names: str = "") -> dict[str, Any]:
    rule = {"apiGroups": groups.split(","), "resources": resources.split(","), "verbs": verbs.split(",")}
    return {**rule, **({"resourceNames": names.split(",")} if names else {})}


def test_roles_and_bindings_are_reconciled(ctl: Ctl) -> None:
    """Missing objects, rules and subjects are added, extra ones removed on request, and a binding of another role is
    replaced."""
    reconcile = ("auth", "reconcile", "-f", "-")
    group = ctl.server.dialect("rbac.authorization.{abbr}.io")
    first = ctl(*reconcile, send=manifests(ctl))
    assert first.lines == [f"role.{group}/r reconciled", f"rolebinding.{group}/r reconciled"]
    assert first.error.splitlines().count("\treconciliation required create") == 2
    assert ctl(*reconcile, send=manifests(ctl)).lines == [
        f"role.{group}/r reconciled",
        f"rolebinding.{group}/r reconciled",
    ]

    ctl(*reconcile, "--dry-run=client", send=manifests(ctl, "list", users="carol"))
    ctl(*reconcile, "--dry-run=server", send=manifests(ctl, "list", users="carol"))
    assert state(ctl) == ([["get"]], "r", ["bob"])
    ctl(*reconcile, send=manifests(ctl, "list", users="carol"))
    assert state(ctl) == ([["get"], ["list"]], "r", ["bob", "carol"])
    remove = ("--remove-extra-permissions", "--remove-extra-subjects")
    removed = ctl(*reconcile, *remove, send=manifests(ctl, "watch", users="dora"))
    user = f"kind=User apiGroup={group} name="
    assert removed.error.splitlines() == [
        "\treconciliation required update",
        "\tmissing rules added:",
        "\t\tapiGroups= resources=pods verbs=watch",
        "\textra rules removed:",
        "\t\tverbs=get apiGroups= resources=pods",
        "\t\tverbs=list apiGroups= resources=pods",
        "\treconciliation required update",
        "\tmissing subjects added:",
        f"\t\t{user}dora",
        "\textra subjects removed:",
        f"\t\t{user}bob",
        f"\t\t{user}carol",
    ]
    assert state(ctl) == ([["watch"]], "r", ["dora"])
    again = ctl(*reconcile, send=manifests(ctl, "watch", role="ClusterRole/view", users="dora"))
    assert again.error.splitlines() == ["\treconciliation required recreate", "\troleRef changed from r to view"]
    assert state(ctl) == ([["watch"]], "view", ["dora"])


def test_reconciliation_creates_the_namespace_and_leaves_other_kinds_out(ctl: Ctl) -> None:
    """The namespace of a new role is created; other kinds are named in a warning."""
    ctl("auth", "reconcile", "-f", "-", "-n", "fresh", send=manifests(ctl))
    assert ctl("get", "ns/fresh", "-o", "name").out == "namespace/fresh\n"
    other = ctl("auth", "reconcile", "-f", "-", send="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n")
    assert (other.out, "ConfigMap is left out" in other.error) == ("", True)


def test_aggregated_cluster_roles(ctl: Ctl) -> None:
    """An aggregated cluster role is created and reconciled by its selectors."""
    group = ctl.server.dialect("rbac.authorization.{abbr}.io")
    ctl("create", "clusterrole", "sum", "--aggregation-rule=a=b,c=d")
    rule = json.loads(ctl("get", "clusterrole/sum", "-o", "json").out)["aggregationRule"]
    assert rule == {"clusterRoleSelectors": [{"matchLabels": {"a": "b", "c": "d"}}]}
    text = f"""
apiVersion: {group}/v1
kind: ClusterRole
metadata: {{name: sum}}
aggregationRule: {{clusterRoleSelectors: [{{matchLabels: {{e: f}}}}]}}
"""
    ctl("auth", "reconcile", "-f", "-", send=text)
    rule = json.loads(ctl("get", "clusterrole/sum", "-o", "json").out)["aggregationRule"]
    assert [each["matchLabels"] for each in rule["clusterRoleSelectors"]] == [{"a": "b", "c": "d"}, {"e": "f"}]
    assert (
        "leave out --verb" in ctl("create", "clusterrole", "x", "--aggregation-rule=a=b", "--verb=get", status=1).error
    )


@pytest.mark.parametrize(
    ("granted", "wanted", "missing"),
    [
        ([_rule("", "pods", "get")], _rule("", "pods", "get"), []),
        ([_rule("*", "*", "*")], _rule("apps", "deployments/scale", "patch", "web"), []),
        ([_rule("", "pods", "get")], _rule("", "pods", "get,list"), [_rule("", "pods", "list")]),
        ([_rule("", "pods", "get")], _rule("", "pods,nodes", "get"), [_rule("", "nodes", "get")]),
        ([_rule("", "pods", "get", "a")], _rule("", "pods", "get"), [_rule("", "pods", "get")]),
        ([_rule("", "pods", "get")], _rule("", "pods", "get", "a"), []),
        ([_rule("", "pods", "get", "a")], _rule("", "pods", "get", "a,b"), [_rule("", "pods", "get", "b")]),
        ([_rule("", "*/scale", "get")], _rule("", "x/scale,x", "get"), [_rule("", "x", "get")]),
        ([_rule("", "pods", "get")], _rule("", "*", "get"), [_rule("", "*", "get")]),
        ([{"nonResourceURLs": ["/a/*"], "verbs": ["get"]}], {"nonResourceURLs": ["/a/b", "/c"], "verbs": ["get"]},
         [{"nonResourceURLs": ["/c"], "verbs": ["get"]}]),
    ],
)  # fmt: skip
def test_permissions_that_rules_do_not_grant(granted: list[Any], wanted: Any, missing: list[Any]) -> None:
    """A rule is granted by one that has its groups, resources, names and verbs, or their wildcards."""
    assert missing_rules(granted, [wanted]) == missing


def test_labels_and_annotations_are_added() -> None:
    """Labels and annotations of the file are added to those of the role; a role that has all of them is left alone."""
    rules = [_rule("", "pods", "get")]
    present = {"metadata": {"name": "r", "labels": {"a": "b"}, "resourceVersion": "7"}, "rules": rules}
    same = reconcile_role(present, {"metadata": {"name": "r", "labels": {"a": "b"}}, "rules": rules}, remove_extra=True)
    assert (same.obj, same.operation, same.details) == (present, "", [])
    more = {"name": "r", "labels": {"c": "d"}, "annotations": {"x": "y"}}
    changed = reconcile_role(present, {"metadata": more, "rules": rules}, remove_extra=True)
    assert (changed.operation, changed.details) == ("update", [])
    metadata = {"name": "r", "labels": {"a": "b", "c": "d"}, "annotations": {"x": "y"}, "resourceVersion": "7"}
    assert changed.obj == {"metadata": metadata, "rules": rules}
