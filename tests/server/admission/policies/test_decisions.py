"""The decisions of a policy about one write."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.cel.libraries.authorizer import Question
from orchd.dialect import ORCH
from orchd.server.admission.expressions.evaluation import Run, View
from orchd.server.admission.policies import decisions
from orchd.server.admission.policies.decisions import Decision, Judgement, compile_policy, size_of
from orchd.server.admission.policies.metrics import PolicyMetrics

VIEW = View(
    variables={
        "object": {"metadata": {"name": "a"}},
        "oldObject": None,
        "request": {"resource": {}, "requestResource": {}},
        "namespaceObject": None,
        "params": None,
    },
    request_resource=Question(),
)


def judge(**spec: Any) -> Judgement:
    return compile_policy(spec, ORCH).judge(Run({}, quick=False), VIEW)


@pytest.mark.parametrize(
    ("decision", "error_type"),
    [
        (Decision(), "no_error"),
        (Decision(denied=True, message="no"), "invalid_error"),
        (Decision(failed=True, message="compilation error: x"), "compile_error"),
        (Decision(denied=True, failed=True, message="compilation error: x"), "compile_error"),
        (Decision(denied=True, message="validation failed due to running out of cost budget, x"), "out_of_budget"),
        (Decision(failed=True, message="no such key"), "invalid_error"),
    ],
)
def test_error_types(decision: Decision, error_type: str) -> None:
    assert decision.error_type == error_type


#: Costs some hundreds; its result is a boolean or a text.
COSTLY = "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, a + b < 100))"
LIMIT = 5 * 1024
SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ({"expression": " 1 > 2 "}, "failed expression: 1 > 2"),
        ({"expression": "false", "message": " no "}, "no"),
        ({"expression": "false", "message": " "}, "failed expression: false"),
        ({"expression": "false", "messageExpression": "' it '", "message": "no"}, "it"),
        ({"expression": "false", "messageExpression": "' '", "message": "no"}, "no"),
        ({"expression": "false", "messageExpression": "'a\\nb'", "message": "no"}, "no"),
        ({"expression": "false", "messageExpression": "'a\\n'", "message": "no"}, "a"),
        ({"expression": "false", "messageExpression": "string(object.x)", "message": "no"}, "no"),
        ({"expression": "false", "messageExpression": f"'{'m' * LIMIT}'", "message": "no"}, "m" * LIMIT),
        ({"expression": "false", "messageExpression": f"'{'m' * LIMIT}m'", "message": "no"}, "no"),
        ({"expression": "false", "messageExpression": f"'{'é' * (LIMIT // 2)}'", "message": "no"}, "é" * (LIMIT // 2)),
        ({"expression": "false", "messageExpression": f"'{'é' * (LIMIT // 2)}m'", "message": "no"}, "no"),
    ],
)  # fmt: skip
def test_message_of_a_denial(validation: Any, message: str) -> None:
    """The message expression, if it is one line of at most 5 KiB, or the message, or the expression."""
    (decision,) = judge(validations=[validation]).decisions
    assert decision.denied and not decision.failed
    assert decision.message == message


@pytest.mark.parametrize(
    ("validation", "ignores", "denied", "failed", "reason"),
    [
        ({"expression": "true"}, False, False, False, ""),
        ({"expression": "false"}, False, True, False, "Invalid"),
        ({"expression": "false"}, True, True, False, "Invalid"),
        ({"expression": "false", "reason": "Forbidden"}, False, True, False, "Forbidden"),
        ({"expression": "object.x == 1"}, False, True, True, ""),
        ({"expression": "object.x == 1"}, True, False, True, ""),
        ({"expression": "1 +"}, False, True, True, ""),
    ],
)
def test_decision_of_a_validation(validation: Any, ignores: bool, denied: bool, failed: bool, reason: str) -> None:
    """Errors are denials unless the policy ignores failures."""
    (decision,) = judge(validations=[validation], failurePolicy="Ignore" if ignores else "Fail").decisions
    assert (decision.denied, decision.failed, decision.reason) == (denied, failed, reason)


@pytest.mark.parametrize(
    ("spec", "budget", "messages"),
    [
        ({"validations": [{"expression": COSTLY}]}, 10_000, [""]),
        ({"validations": [{"expression": COSTLY}]}, 100, [SPENT]),
        ({"validations": [{"expression": "true"}, {"expression": COSTLY}]}, 100, [SPENT]),
        # Messages have what validations left, and are then the problem of all validations.
        (
            {
                "validations": [
                    {"expression": "true"},
                    {"expression": "false", "messageExpression": f"string({COSTLY})"},
                ]
            },
            10_000,
            ["", "true"],
        ),
        (
            {
                "validations": [
                    {"expression": "true"},
                    {"expression": "false", "messageExpression": f"string({COSTLY})"},
                ]
            },
            100,
            [f"failed messageExpression: {SPENT}"] * 2,
        ),
        (
            {"validations": [{"expression": f"!{COSTLY}", "messageExpression": f"string({COSTLY})"}]},
            1_000,
            [f"failed messageExpression: {SPENT}"],
        ),
        # Annotations have a budget of their own.
        (
            {
                "validations": [{"expression": COSTLY}],
                "auditAnnotations": [{"key": "k", "valueExpression": f"string({COSTLY})"}],
            },
            1_000,
            [""],
        ),
        ({"auditAnnotations": [{"key": "k", "valueExpression": f"string({COSTLY})"}]}, 100, [SPENT]),
    ],
)
def test_budget_of_a_policy(monkeypatch: pytest.MonkeyPatch, spec: Any, budget: int, messages: list[str]) -> None:
    """Once it is spent, nothing more is evaluated."""
    monkeypatch.setattr(decisions, "BUDGET", budget)
    decided = judge(**spec).decisions
    assert [each.message for each in decided] == messages
    assert [each.denied for each in decided] == [bool(message) for message in messages]


@pytest.mark.parametrize(
    ("conditions", "ignores", "matches", "errors"),
    [
        ([], False, None, [""]),
        (["true", "true"], False, True, [""]),
        (["true", "false"], False, False, []),
        (["object.x == 1"], False, False, ["expression 'object.x == 1' resulted in error: no such key: x"]),
        (["object.x == 1"], True, False, []),
        (["object.x == 1", "false"], False, False, []),
    ],
)
def test_match_conditions(conditions: list[str], ignores: bool, matches: bool | None, errors: list[str]) -> None:
    """Without a match nothing is decided. One that is false outweighs an error."""
    listed = [{"name": "c", "expression": each} for each in conditions]
    judgement = judge(
        validations=[{"expression": "true"}], matchConditions=listed, failurePolicy="Ignore" if ignores else "Fail"
    )
    assert (None if judgement.match is None else judgement.match.matches) == matches
    assert [each.message for each in judgement.decisions] == errors
    # The time of conditions is measured elsewhere.
    assert all(each.seconds == 0 for each in judgement.decisions if each.failed)


@pytest.mark.parametrize(
    ("expression", "ignores", "value", "error"),
    [
        ("'v'", False, "v", ""),
        ("' v '", False, "v", ""),
        ("' '", False, None, ""),
        ("null", False, None, ""),
        ("string(object.x)", False, "", "expression 'string(object.x)' resulted in error: no such key: x"),
        ("string(object.x)", True, None, ""),
        ("object.metadata", False, "", "compilation error: must evaluate to one of [string null_type] but got dyn"),
    ],
)
def test_audit_annotations(expression: str, ignores: bool, value: str | None, error: str) -> None:
    """A text, or an error that rejects the write; no annotation for null, blanks and ignored errors."""
    listed = [{"key": "k", "valueExpression": expression}]
    annotations = judge(auditAnnotations=listed, failurePolicy="Ignore" if ignores else "Fail").annotations
    assert [(each.key, each.value, each.error) for each in annotations] == (
        [] if value is None else [("k", value, error)]
    )


def test_size_of_a_policy() -> None:
    """The characters of all texts of its lists."""
    spec = {
        "variables": [{"name": "n", "expression": "12"}],
        "matchConditions": [{"name": "m", "expression": "345"}],
        "validations": [{"expression": "6789", "messageExpression": "0"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "12345"}],
        "failurePolicy": "Fail",
    }
    assert size_of(spec) == 1 + 2 + 1 + 3 + 4 + 1 + 1 + 5


def test_sizes_of_policies() -> None:
    """The characters of all texts of its expressions."""
    spec = {
        "validations": [{"expression": "12345", "message": "67"}, {"expression": "8"}],
        "variables": [{"name": "a", "expression": "bc"}],
        "matchConditions": [{"name": "x", "expression": "y", "other": 5}],
        "paramKind": {"kind": "ignored"},
    }
    assert size_of(spec) == 13 and size_of({}) == 0


def test_metrics_of_decisions() -> None:
    """A decision is counted and timed."""
    metrics = PolicyMetrics()
    metrics.observe("p", "b", Decision(denied=True, message="no", seconds=0.5), "deny")
    labels = ("p", "b", "invalid_error", "deny")
    total, seconds = metrics.instruments
    assert total.values == {labels: 1}
    assert (seconds.values[labels].count, seconds.values[labels].sum) == (1, 0.5)
