"""Permission to read the parameters of admission policies and bindings."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.errors import Cause
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.server.authz.parameters import ParameterCheck
from orchd.testing.doubles.results import result_of

ALICE = User(name="alice", uid="u", groups=("g",))
MASTER = User(name="root", groups=(MASTERS_GROUP,))
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap"}


class Authorizer:
    """Responds with one verdict and records the questions."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.asked: list[tuple[str, str, str, str, str]] = []

    async def __call__(self, action: Action) -> Verdict:
        self.asked.append((action.verb, action.group, action.resource, action.namespace, action.name))
        return self.verdict


def check(authorizer: Authorizer, **policies: Any) -> ParameterCheck:
    catalog = builtin_catalog(ORCH)
    return ParameterCheck(authorizer, lambda: catalog, policies.get)


def policy(kind: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"paramKind": kind} if kind else {}}


def binding(reference: Any, name: str = "p") -> dict[str, Any]:
    return {"metadata": {"name": "b"}, "spec": {"policyName": name, **({"paramRef": reference} if reference else {})}}


def of_policy(verdict: Verdict, new: Any, old: Any = None, user: User = ALICE) -> tuple[Cause | None, Any]:
    authorizer = Authorizer(verdict)
    return result_of(check(authorizer).policy(user, policy(new), old and policy(old))), authorizer.asked


ALLOW, DENY = Verdict(Decision.ALLOW), Verdict(Decision.DENY)


def test_policy_without_new_parameters_needs_no_permission() -> None:
    """No question is asked without a paramKind, for masters, and for the paramKind that the policy has already."""
    assert of_policy(DENY, None) == (None, [])
    assert of_policy(DENY, SETTINGS, user=MASTER) == (None, [])
    assert of_policy(DENY, SETTINGS, SETTINGS) == (None, [])


@pytest.mark.parametrize("old", [None, {"apiVersion": "v1", "kind": "Secret"}])
def test_policy_with_parameters(old: Any) -> None:
    """A new paramKind needs permission to get every object of the kind."""
    assert of_policy(ALLOW, SETTINGS, old) == (None, [("get", "", "configmaps", "*", "*")])
    cause, _ = of_policy(DENY, SETTINGS, old)
    assert cause == Cause(
        "FieldValueForbidden",
        'Forbidden: user &{alice u [g] map[]} must have "get" permission on all objects of the referenced paramKind '
        "(kind=ConfigMap, apiVersion=v1)",
        "spec.paramKind",
    )


def test_failed_authorization() -> None:
    """The error of an authorizer is the reason."""
    cause, _ = of_policy(Verdict(Decision.NO_OPINION, error="no route"), SETTINGS)
    assert cause is not None and cause.message == "Forbidden: failed to authorize request: no route"


def of_binding(verdict: Verdict, new: Any, old: Any = None, user: User = ALICE) -> tuple[Cause | None, Any]:
    authorizer = Authorizer(verdict)
    policies = {"p": policy(SETTINGS), "any": policy(None), "odd": policy({"apiVersion": "x.io/v1", "kind": "Odd"})}
    return result_of(check(authorizer, **policies).binding(user, new, old)), authorizer.asked


def test_binding_without_new_parameters_needs_no_permission() -> None:
    """No question is asked without a paramRef, for masters, and for a paramRef and policy that the binding has
    already."""
    named = binding({"namespace": "n", "name": "c"})
    assert of_binding(DENY, binding(None)) == (None, [])
    assert of_binding(DENY, named, user=MASTER) == (None, [])
    assert of_binding(DENY, named, named) == (None, [])


def test_binding_with_parameters() -> None:
    """A paramRef needs permission to get its object, or to list those of a selector."""
    named = binding({"namespace": "n", "name": "c"})
    assert of_binding(ALLOW, named) == (None, [("get", "", "configmaps", "n", "c")])
    assert of_binding(ALLOW, named, binding({"namespace": "n", "name": "c"}, "any"))[1] != []
    assert of_binding(ALLOW, binding({"selector": {}}))[1] == [("list", "", "configmaps", "", "")]
    cause, _ = of_binding(DENY, named)
    assert cause is not None and cause.field == "spec.paramRef"
    assert cause.message == (
        'Forbidden: user &{alice u [g] map[]} does not have "get" permission on the object referenced by paramRef'
    )


@pytest.mark.parametrize(
    ("name", "resource", "why"),
    [
        ("any", ("*", "*"), ""),
        ("gone", ("*", "*"), "unable to get policy gone"),
        ("odd", ("x.io", "*"), "unable to resolve paramKind &ParamKind{APIVersion:x.io/v1,Kind:Odd,}"),
    ],
)
def test_binding_with_unknown_parameters(name: str, resource: tuple[str, str], why: str) -> None:
    """If the kind of the parameters is not known, the user needs permission for all that they may be."""
    cause, asked = of_binding(DENY, binding({"namespace": "n", "name": "c"}, name))
    assert [(group, plural) for _, group, plural, _, _ in asked] == [resource]
    assert cause is not None and (f"{why} to determine minimum required permissions" in cause.message) == bool(why)
