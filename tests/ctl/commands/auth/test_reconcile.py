"""``auth reconcile``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.ctl.commands.auth.reconcile import missing_rules, reconcile_binding, reconcile_role
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


def _subject(kind: str, name: str, **more: str) -> dict[str, Any]:
    return {"kind": kind, "name": name, **more}


@pytest.mark.parametrize(
    ("present", "declared", "remove", "subjects", "operation", "details"),
    [
        ([_subject("User", "a", apiGroup="g")], [_subject("User", "a")], True, [_subject("User", "a", apiGroup="g")], "", []),
        ([_subject("User", "a")], [_subject("User", "b")], False, [_subject("User", "a"), _subject("User", "b")], "update",
         ["\tmissing subjects added:", "\t\tkind=User name=b"]),
        ([_subject("User", "a")], [], True, [], "update", ["\textra subjects removed:", "\t\tkind=User name=a"]),
        ([_subject("User", "a")], [], False, [_subject("User", "a")], "", []),
        ([_subject("ServiceAccount", "a", namespace="n")], [_subject("ServiceAccount", "a", namespace="m"), _subject("ServiceAccount", "a", namespace="n", apiGroup="")],
         False, [_subject("ServiceAccount", "a", namespace="n"), _subject("ServiceAccount", "a", namespace="m")], "update",
         ["\tmissing subjects added:", "\t\tkind=ServiceAccount name=a namespace=m"]),
        ([_subject("Group", "a")], [_subject("User", "a")], False, [_subject("Group", "a"), _subject("User", "a")], "update",
         ["\tmissing subjects added:", "\t\tkind=User name=a"]),
    ],
)  # fmt: skip
def test_subjects_of_bindings(
    present: list[Any], declared: list[Any], remove: bool, subjects: list[Any], operation: str, details: list[str]
) -> None:
    """Subjects are the same with the group that is their default."""
    role = {"apiGroup": "g", "kind": "Role", "name": "r"}
    before, after = (
        {"apiVersion": "g/v1", "metadata": {"name": "b"}, "roleRef": role, "subjects": each}
        for each in (present, declared)
    )
    outcome = reconcile_binding(before, {**after, "roleRef": {"kind": "Role", "name": "r"}}, remove_extra=remove)
    assert (outcome.obj["subjects"], outcome.operation, outcome.details) == (subjects, operation, details)


def _aggregated(*labels: str, **more: Any) -> dict[str, Any]:
    selectors = [{"matchLabels": {"is": each}} for each in labels]
    return {"metadata": {"name": "r"}, "aggregationRule": {"clusterRoleSelectors": selectors}, **more}


@pytest.mark.parametrize(
    ("present", "declared", "remove", "labels", "operation"),
    [
        (_aggregated("a"), _aggregated("a"), True, ["a"], ""), (_aggregated("a"), _aggregated("b"), False, ["a", "b"], "update"),
        (_aggregated("a"), _aggregated("b"), True, ["b"], "update"), (_aggregated("a", "b"), _aggregated("a"), False, ["a", "b"], ""),
        (_aggregated("a", "b"), _aggregated("a"), True, ["a"], "update"), ({"metadata": {"name": "r"}, "rules": []}, _aggregated(), False, [], "update"),
    ],
)  # fmt: skip
def test_selectors_of_aggregated_roles(
    present: Any, declared: Any, remove: bool, labels: list[str], operation: str
) -> None:
    """Their rules come from the roles that they select."""
    outcome = reconcile_role(present, declared, remove_extra=remove)
    shown = [each["matchLabels"]["is"] for each in outcome.obj["aggregationRule"]["clusterRoleSelectors"]]
    assert (shown, outcome.operation, bool(outcome.details)) == (labels, operation, bool(operation) and bool(labels))


@pytest.mark.parametrize(
    ("present", "declared", "remove", "verbs", "operation"),
    [
        ("get", "get", True, ["get"], ""), ("get", "list", False, ["get", "list"], "update"), ("get", "list", True, ["list"], "update"),
        ("get,list", "get", False, ["get,list"], ""), ("get,list", "get", True, ["get"], "update"), ("", "get", False, ["get"], "update"), ("get", "", True, [], "update"),
    ],
)  # fmt: skip
def test_rules_of_roles(present: str, declared: str, remove: bool, verbs: list[str], operation: str) -> None:
    """Permissions are added, and extra ones removed only where that is wanted."""
    before, after = (
        {"metadata": {"name": "r"}, "rules": [_rule("", "pods", each)] if each else None}
        for each in (present, declared)
    )
    outcome = reconcile_role(before, after, remove_extra=remove)
    assert ([",".join(each["verbs"]) for each in outcome.obj["rules"]], outcome.operation) == (verbs, operation)


def test_reconciled_objects_are_printed(ctl: Ctl) -> None:
    """With -o nothing is said of what was done; a name is needed; a namespace that is not there is no error of a dry
    run."""
    text = manifests(ctl)
    ran = ctl("auth", "reconcile", "-f", "-", "-o", "name", send=text)
    assert ran.error == "" and len(ran.lines) == 2
    error = ctl(
        "auth", "reconcile", "-f", "-", send=text.replace("name: r, labels: {a: b}", "labels: {a: b}"), status=1
    ).error
    assert "Role: reconcile needs metadata.name" in error
    ctl("auth", "reconcile", "-f", "-", "-n", "gone", "--dry-run=client", send=text)
    assert 'namespaces "gone" not found' in ctl("get", "ns/gone", status=1).error
    recreated = ctl("auth", "reconcile", "-f", "-", "--dry-run=server", send=manifests(ctl, role="ClusterRole/view"))
    assert "\troleRef changed from r to view" in recreated.error.splitlines()
    assert state(ctl)[1] == "r"
