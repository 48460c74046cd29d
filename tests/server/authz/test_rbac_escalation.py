"""RBAC escalation check: users cannot grant permissions that they do not have."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.rule_coverage import uncovered
from orchd.kinds.users import User
from orchd.server.authz.escalation import EscalationCheck
from orchd.server.authz.rbac import RoleBasedAuthorizer
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of
from orchd.txkit.compute_thread import ComputeThread

GROUP = ORCH("rbac.authorization.{abbr}.io")
ALICE = User(name="alice", groups=("system:authenticated",))
CONFIGMAPS = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}
SECRETS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["secrets"]}


def ref(plural: str) -> ResourceRef:
    return ResourceRef(GROUP, "v1", plural)


def check(*held: Any, compute: ComputeThread | None = None) -> Any:
    informers = MemoryInformers()
    rbac = RoleBasedAuthorizer(ORCH, informers)
    informers.put(ref("clusterroles"), {"metadata": {"name": "held"}, "rules": list(held)})
    informers.put(ref("roles"), {"metadata": {"name": "strong", "namespace": "ns"}, "rules": [SECRETS]})
    informers.put(
        ref("clusterrolebindings"),
        {
            "metadata": {"name": "b"},
            "roleRef": {"kind": "ClusterRole", "name": "held"},
            "subjects": [{"kind": "User", "name": "alice"}],
        },
    )
    return EscalationCheck(ORCH, rbac, rbac.authorize, compute=compute)


def role(*rules: Any, **more: Any) -> Object:
    return {"metadata": {"name": "r", "namespace": "ns"}, "rules": list(rules), **more}


def binding(kind: str, name: str) -> Object:
    return {"metadata": {"name": "s", "namespace": "ns"}, "roleRef": {"kind": kind, "name": name}}


def error_of(coroutine: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        result_of(coroutine)
    return caught.value


def test_uncovered_role_is_refused() -> None:
    """The error lists the missing rules, with the verbs of one resource combined."""
    error = error_of(check(CONFIGMAPS).role(ALICE, "roles", role(CONFIGMAPS, SECRETS)))
    assert error.code == 403
    assert error.message == (
        f'roles.{GROUP} "r" is forbidden: user "alice" (groups=["system:authenticated"]) is attempting to grant RBAC '
        'permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'
    )
    for plural in ("roles", "clusterroles"):
        result_of(check(CONFIGMAPS, SECRETS).role(ALICE, plural, role(CONFIGMAPS, SECRETS)))


def test_missing_permissions_are_listed_in_order() -> None:
    """Each permission that is missing has a line of its own."""
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]} for resource in ("secrets", "pods")]
    message = error_of(check().role(ALICE, "roles", role(*rules))).message
    lines = [f'{{APIGroups:[""], Resources:["{resource}"], Verbs:["get"]}}' for resource in ("pods", "secrets")]
    assert message.endswith("not currently held:\n" + "\n".join(lines))


def test_escalate_permission_and_masters_bypass_the_check() -> None:
    """The escalate verb on the role, or the masters' group, bypasses the check."""
    escalate = {"verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["roles"], "resourceNames": ["r"]}
    result_of(check(escalate).role(ALICE, "roles", role(SECRETS)))
    result_of(check().role(User(name="x", groups=("system:masters",)), "roles", role(SECRETS)))


def test_owner_and_finalizer_updates_are_not_checked() -> None:
    """Updates of owner references and finalizers alone are not checked; all others are."""
    old = role(SECRETS)
    freed = {**old, "metadata": {**old["metadata"], "finalizers": ["x"]}}
    result_of(check().role(ALICE, "roles", freed, old))
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert error_of(check().role(ALICE, "roles", labelled, old)).code == 403
    bound = binding("Role", "strong")
    freed = {**bound, "metadata": {**bound["metadata"], "finalizers": ["x"]}}
    result_of(check().binding(ALICE, "rolebindings", freed, bound))
    labelled = {**bound, "metadata": {**bound["metadata"], "labels": {"a": "b"}}}
    assert error_of(check().binding(ALICE, "rolebindings", labelled, bound)).code == 403


def test_binding_needs_the_roles_rules_or_bind_permission() -> None:
    """A binding requires the rules of its role or the bind verb; a missing role is 404."""
    assert error_of(check(CONFIGMAPS).binding(ALICE, "rolebindings", binding("Role", "strong"))).code == 403
    missing = error_of(check().binding(ALICE, "rolebindings", binding("Role", "absent")))
    assert (missing.code, missing.message) == (404, f'roles.{GROUP} "absent" not found')
    bind = {"verbs": ["bind"], "apiGroups": [GROUP], "resources": ["roles"], "resourceNames": ["strong"]}
    result_of(check(bind).binding(ALICE, "rolebindings", binding("Role", "strong")))


def test_many_permissions_are_not_compared() -> None:
    """A rule of many names for many resources is refused before it is taken apart, except one that is held."""
    names = [f"n{number}" for number in range(100_000)]
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": names, "resourceNames": names}
    error = error_of(check(CONFIGMAPS).role(ALICE, "roles", role(rule)))
    assert (error.code, error.reason) == (413, "RequestEntityTooLarge")
    result_of(check(rule).role(ALICE, "roles", role(dict(reversed(rule.items())))))


def test_many_rules_are_compared_in_another_thread() -> None:
    """Other requests do not wait for the comparison of thousands of rules."""
    names: list[str] = []

    async def in_thread(function: Any, *arguments: Any) -> Any:
        names.append(function.__name__)
        return function(*arguments)

    aside = ComputeThread(in_thread)
    many = [{**CONFIGMAPS, "resourceNames": [str(number)]} for number in range(1000)]
    result_of(check(CONFIGMAPS, compute=aside).role(ALICE, "roles", role(*many)))
    assert names == ["escalation_message"]
    result_of(check(CONFIGMAPS, compute=aside).role(ALICE, "roles", role(*many[:2])))
    assert len(names) == 1


def test_aggregation_rule_needs_all_permissions() -> None:
    """An aggregation rule can collect any rule, so setting one requires all permissions."""
    obj = {"metadata": {"name": "r"}, "rules": [], "aggregationRule": {"clusterRoleSelectors": [{}]}}
    error = error_of(check(CONFIGMAPS).role(ALICE, "clusterroles", obj))
    assert error.message.endswith("must have cluster-admin privileges to use the aggregationRule")


@pytest.mark.parametrize(
    ("owner", "wanted", "missing"),
    [
        ({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, SECRETS, 0),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}, SECRETS, 1),
        (
            {"verbs": ["*"], "apiGroups": [""], "resources": ["*/log"]},
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"]},
            0,
        ),
        (
            {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]},
            {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]},
            1,
        ),
        (
            {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]},
            {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]},
            0,
        ),
        ({"verbs": ["get"], "nonResourceURLs": ["/a/*"]}, {"verbs": ["get"], "nonResourceURLs": ["/a/b", "/c"]}, 1),
    ],
)
def test_rule_coverage(owner: Any, wanted: Any, missing: Any) -> None:
    """Stars, subresources, names and path prefixes cover what they match."""
    assert len(uncovered([owner], [wanted])) == missing
