"""Access reviews by an external service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock

from orchd.dialect import ORCH
from orchd.kinds.expressions.access import compile_review_condition
from orchd.kinds.objects.action_selectors import of_texts
from orchd.kinds.users import User
from orchd.server.authz.always import AlwaysAllow, AlwaysDeny
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.server.authz.union import AuthorizerUnion
from orchd.server.authz.webhook import WebhookAuthorizer, WebhookOptions
from orchd.server.outbound.webhooks import WebhookError
from orchd.testing.doubles.results import result_of
from orchd.txkit.compute_thread import ComputeThread

ALICE = User(name="alice", uid="u1", groups=("dev",), extra={"scopes": ("a", "b"), "a": ("x",)})
GET = Action(user=ALICE, verb="get", group="apps", version="v1", resource="deployments", namespace="n", name="d")


class Reviews:
    def __init__(self, *statuses: Any) -> None:
        self.statuses = list(statuses)
        self.asked: list[Mapping[str, Any]] = []

    async def ask(self, document: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(document)
        status = self.statuses.pop(0)
        if isinstance(status, Exception):
            raise status
        return {"status": status}


def make_authorizer(*statuses: Any, clock: Clock | None = None, **options: Any) -> tuple[WebhookAuthorizer, Reviews]:
    reviews = Reviews(*statuses)
    return WebhookAuthorizer(ORCH, reviews, WebhookOptions(**options), clock=(clock or Clock()).seconds), reviews


@pytest.mark.parametrize(("status", "verdict"), [
    ({"allowed": True, "reason": "r"}, Verdict(Decision.ALLOW, "r")),
    ({"allowed": False, "denied": True, "reason": "no"}, Verdict(Decision.DENY, "no")),
    ({"allowed": False, "reason": "dunno"}, Verdict(Decision.NO_OPINION, "dunno")),
    ({}, Verdict(Decision.NO_OPINION)),
    (None, Verdict(Decision.NO_OPINION)),
    ({"allowed": True, "denied": True, "reason": "both"},
     Verdict(Decision.DENY, "both", "webhook subject access review returned both allow and deny response")),
    ({"allowed": False, "evaluationError": "trouble"}, Verdict(Decision.NO_OPINION)),
    (WebhookError("broken", 500), Verdict(Decision.NO_OPINION, error="broken")),
    ({"allowed": "yes"}, Verdict(
        Decision.NO_OPINION,
        error="json: cannot unmarshal string into Go struct field SubjectAccessReviewStatus.status.allowed of type bool")),
])  # fmt: skip
def test_responses_become_decisions(status: Any, verdict: Verdict) -> None:
    """A response allows, denies or has no opinion; a failure is no opinion with an error."""
    authorizer, _ = make_authorizer(status)
    assert result_of(authorizer.authorize(GET)) == verdict


def test_failure_policy_deny() -> None:
    """With failurePolicy Deny a failure denies, regardless of later authorizers, and does not count as fail-open."""
    opened: list[str] = []
    closed, _ = make_authorizer(WebhookError("down", 500), on_failure=Decision.DENY, failed_open=opened.append)
    verdict = result_of(AuthorizerUnion([closed, AlwaysAllow()]).authorize(GET))
    assert verdict == Verdict(Decision.DENY, error="down") and opened == []
    lenient, _ = make_authorizer(WebhookError("down", timed_out=True), failed_open=opened.append)
    assert result_of(AuthorizerUnion([lenient, AlwaysAllow()]).authorize(GET)).decision is Decision.ALLOW
    assert opened == ["timeout"]


@pytest.mark.parametrize(("conditions", "action", "asked"), [
    (("request.user == 'alice'", "request.resourceAttributes.namespace == 'n'"), GET, True),
    (("request.user == 'bob'",), GET, False),
    (("request.resourceAttributes.subresource == ''",), GET, True),
    (("has(request.nonResourceAttributes)",), GET, False),
    (("request.nonResourceAttributes.path == '/x'",), Action(user=ALICE, verb="get", path="/x"), True),
    (("'dev' in request.groups && request.uid == 'u1' && request.extra['a'] == ['x']",), GET, True),
    # A false condition outweighs an error.
    (("request.nonResourceAttributes.path == '/x'", "false"), GET, False),
])  # fmt: skip
def test_conditions_decide_whether_the_service_is_asked(
    conditions: tuple[str, ...], action: Action, asked: bool
) -> None:
    """The service is asked about requests for which all conditions are true; about others there is no opinion."""
    observed: list[tuple[bool, bool]] = []
    authorizer, reviews = make_authorizer(
        {"allowed": True},
        conditions=tuple(compile_review_condition(text, ORCH) for text in conditions),
        observe_conditions=lambda seconds, failed, excluded: observed.append((failed, excluded)),
    )
    verdict = result_of(authorizer.authorize(action))
    assert verdict == (Verdict(Decision.ALLOW) if asked else Verdict(Decision.NO_OPINION))
    assert len(reviews.asked) == asked and observed == [("false" in conditions and len(conditions) > 1, not asked)]


def test_requirements_without_values_have_an_empty_list_of_them() -> None:
    """Conditions may look at the values of any requirement of a selector."""
    text = "request.resourceAttributes.labelSelector.requirements.all(r, has(r.values) && r.values.size() == 0)"
    authorizer, reviews = make_authorizer({"allowed": True}, conditions=(compile_review_condition(text, ORCH),))
    action = Action(user=ALICE, verb="list", version="v1", resource="pods", selectors=of_texts("", "a,!b"))
    assert result_of(authorizer.authorize(action)).decision is Decision.ALLOW
    requirements = reviews.asked[0]["spec"]["resourceAttributes"]["labelSelector"]["requirements"]
    assert requirements == [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]


@pytest.mark.parametrize("on_failure", [Decision.NO_OPINION, Decision.DENY])
def test_a_condition_with_an_error_is_a_failure(on_failure: Decision) -> None:
    """An error of a condition has the decision of a failed review, and names the expression."""
    text = "request.nonResourceAttributes.path == '/x'"
    authorizer, reviews = make_authorizer(
        {"allowed": True}, conditions=(compile_review_condition(text, ORCH),), on_failure=on_failure
    )
    why = f"cel evaluation error: expression '{text}' resulted in error: no such key: nonResourceAttributes"
    assert result_of(authorizer.authorize(GET)) == Verdict(on_failure, error=why)
    assert not reviews.asked


def test_long_conditions_are_evaluated_in_a_thread() -> None:
    """Conditions that cost more than some milliseconds leave the reactor's thread; their results count all the same."""
    calls: list[Any] = []

    async def in_thread(function: Any, *arguments: Any) -> Any:
        calls.append(function)
        return function(*arguments)

    text = "request.groups.all(a, request.groups.all(b, a == b)) && request.user == 'bob'"
    authorizer, reviews = make_authorizer(
        conditions=(compile_review_condition(text, ORCH),), compute=ComputeThread(in_thread)
    )
    for count, aside in ((3, 0), (100, 1)):
        action = Action(user=User(name="alice", groups=("dev",) * count), verb="get", path="/x")
        assert result_of(authorizer.authorize(action)) == Verdict(Decision.NO_OPINION)
        assert len(calls) == aside
    assert not reviews.asked


@pytest.mark.parametrize(("version", "groups"), [("v1", "groups"), ("v1beta1", "group")])
def test_review_holds_action_and_user(version: str, groups: str) -> None:
    """The review has all attributes of the action and the user; one field differs in spelling between the versions."""
    authorizer, reviews = make_authorizer({}, {}, version=version)
    result_of(authorizer.authorize(GET))
    result_of(authorizer.authorize(Action(user=User(name=""), verb="get", path="/x")))
    first, second = reviews.asked
    assert first == {
        "kind": "SubjectAccessReview",
        "apiVersion": ORCH("authorization.{abbr}.io/") + version,
        "metadata": {"creationTimestamp": None},
        "spec": {
            "resourceAttributes": {
                "namespace": "n", "verb": "get", "group": "apps", "version": "v1", "resource": "deployments", "name": "d",
            },
            "user": "alice", groups: ["dev"], "extra": {"a": ["x"], "scopes": ["a", "b"]}, "uid": "u1",
        },
        "status": {"allowed": False},
    }  # fmt: skip
    assert list(first["spec"]["extra"]) == ["a", "scopes"]
    assert second["spec"] == {"nonResourceAttributes": {"path": "/x", "verb": "get"}}


def test_decisions_are_cached() -> None:
    """Allowed and other decisions are cached for the times of the flags; failures and too long requests are not."""
    clock = Clock()
    authorizer, reviews = make_authorizer({"allowed": True}, {}, clock=clock, authorized_ttl=10, unauthorized_ttl=3)
    assert [result_of(authorizer.authorize(GET)).decision for _ in range(3)] == [Decision.ALLOW] * 3
    assert len(reviews.asked) == 1
    clock.advance(10)
    assert result_of(authorizer.authorize(GET)).decision is Decision.NO_OPINION
    clock.advance(2)
    assert result_of(authorizer.authorize(GET)).decision is Decision.NO_OPINION
    assert len(reviews.asked) == 2
    clock.advance(1)
    reviews.statuses += [WebhookError("x"), {"allowed": True}]
    assert result_of(authorizer.authorize(GET)).error == "x"
    assert result_of(authorizer.authorize(GET)).decision is Decision.ALLOW
    long = Action(user=ALICE, verb="get", path="/" + "x" * 10000)
    reviews.statuses += [{"allowed": True}] * 2
    result_of(authorizer.authorize(long))
    result_of(authorizer.authorize(long))
    assert reviews.statuses == []


def test_errors_count_only_without_a_decision() -> None:
    """Errors are reported only if no authorizer decides; a denial ends the evaluation."""
    failing, _ = make_authorizer(WebhookError("one"), WebhookError("one"), WebhookError("one"))
    other, _ = make_authorizer(WebhookError("two"), {"denied": True})
    assert result_of(AuthorizerUnion([failing, AlwaysAllow()]).authorize(GET)).decision is Decision.ALLOW
    both = result_of(AuthorizerUnion([failing, AlwaysDeny(), other]).authorize(GET))
    assert both == Verdict(Decision.NO_OPINION, "Everything is forbidden.", "[one, two]")
    assert result_of(AuthorizerUnion([failing, other, AlwaysAllow()]).authorize(GET)) == Verdict(Decision.DENY)


def test_rules_cannot_be_listed() -> None:
    """The rules of a webhook cannot be listed."""
    rules = make_authorizer()[0].rules(ALICE, "n")
    assert rules.incomplete and rules.error == "webhook authorizer does not support user rule resolution"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_STATUSES = st.dictionaries(st.sampled_from(["allowed", "denied", "reason", "evaluationError"]), _VALUES)


@given(_STATUSES | _VALUES)
def test_any_response_is_a_decision_or_an_error(status: Any) -> None:
    """Any response is a decision, or no opinion with an error; only `allowed: true` allows."""
    verdict = result_of(make_authorizer(status)[0].authorize(GET))
    assert (verdict.decision is Decision.ALLOW) <= (isinstance(status, dict) and status.get("allowed") is True)
    assert isinstance(verdict.reason, str) and isinstance(verdict.error, str)
