"""Messages of rejected requests, and the authorizer union."""

from __future__ import annotations

import pytest

from orchd.kinds.users import User
from orchd.server.authz.always import AlwaysAllow, AlwaysDeny
from orchd.server.authz.interfaces import Action, Decision
from orchd.server.authz.messages import forbidden
from orchd.server.authz.privileged import PrivilegedGroups
from orchd.server.authz.union import AuthorizerUnion
from orchd.testing.doubles.results import result_of

ALICE = User(name="alice")


@pytest.mark.parametrize(
    ("action", "reason", "message"),
    [
        (
            Action(user=ALICE, verb="list", resource="pods"),
            "",
            'pods is forbidden: User "alice" cannot list resource "pods" in API group "" at the cluster scope',
        ),
        (
            Action(user=ALICE, verb="get", group="apps", resource="deployments", namespace="ns", name="x"),
            "why",
            'deployments.apps "x" is forbidden: User "alice" cannot get resource "deployments" in API group "apps" '
            'in the namespace "ns": why',
        ),
        (
            Action(user=ALICE, verb="get", resource="pods", subresource="log", namespace="ns", name='a"b'),
            "",
            'pods "a\\"b" is forbidden: User "alice" cannot get resource "pods/log" in API group "" '
            'in the namespace "ns"',
        ),
        (Action(user=ALICE, verb="get", path="/metrics"), "", 'forbidden: User "alice" cannot get path "/metrics"'),
        (
            Action(user=User(name='J\u00fcrgen"\\'), verb="post", path="/x"),
            "",
            'forbidden: User "J\u00fcrgen\\"\\\\" cannot post path "/x"',
        ),
    ],
)
def test_forbidden_messages_match_the_reference(action: Action, reason: str, message: str) -> None:
    """The message has resource, name, namespace and reason in the reference's form."""
    error = forbidden(action, reason)
    assert (error.code, error.reason, error.message) == (403, "Forbidden", message)


def test_forbidden_details_name_the_resource() -> None:
    """Details have name, group and resource; for a path there are none."""
    action = Action(user=ALICE, verb="get", group="apps", resource="deployments", namespace="ns", name="x")
    assert forbidden(action).details == {"name": "x", "group": "apps", "kind": "deployments"}
    assert forbidden(Action(user=ALICE, verb="get", path="/x")).details == {}


def test_first_allow_ends_the_union() -> None:
    """The union stops at the first authorizer that allows; otherwise the reasons are joined by line breaks."""
    action = Action(user=ALICE, verb="get", path="/x")
    assert result_of(AuthorizerUnion([AlwaysDeny(), AlwaysAllow()]).authorize(action)).decision is Decision.ALLOW
    verdict = result_of(AuthorizerUnion([AlwaysDeny(), AlwaysDeny(), PrivilegedGroups()]).authorize(action))
    assert verdict.decision is Decision.NO_OPINION
    assert verdict.reason == "Everything is forbidden.\nEverything is forbidden."


def test_privileged_group_is_allowed_everything() -> None:
    """The privileged group is allowed without any lookup."""
    action = Action(user=User(name="x", groups=("system:masters",)), verb="get", path="/x")
    assert result_of(PrivilegedGroups().authorize(action)).decision is Decision.ALLOW
