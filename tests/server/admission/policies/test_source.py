"""Which policies apply, what they annotate, and when they are compiled."""

from __future__ import annotations

from typing import Any

import pytest

from orchd import errors
from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import NEWEST
from orchd.server.admission.policies import plugin, source
from orchd.server.admission.policies.decisions import compile_policy
from tests.server.admission.conftest import World

GROUP = "admissionregistration.{abbr}.io"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
MAP: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}}


class Policed(World):
    """A world with the plugin of policies. `compiled` are the specs of policies that were compiled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(only=["ValidatingAdmissionPolicy"], release=NEWEST)
        self.compiled: list[Any] = []

        def compiling(spec: Any, *more: Any) -> Any:
            self.compiled.append(spec)
            return compile_policy(spec, *more)

        monkeypatch.setattr(source, "compile_policy", compiling)

    def policy(self, name: str, *expressions: str, **spec: Any) -> None:
        constraints = {"resourceRules": [RULE]}
        validations = [{"expression": each, "message": f"{name}: {each}"} for each in expressions]
        spec = {"matchConstraints": constraints, "validations": validations, **spec}
        self.put("validatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec}, GROUP)

    def bind(self, policy: str, name: str = "b", **spec: Any) -> None:
        spec = {"policyName": policy, "validationActions": ["Deny"], **spec}
        self.put("validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": spec}, GROUP)


@pytest.fixture
def policed(monkeypatch: pytest.MonkeyPatch) -> Policed:
    return Policed(monkeypatch)


def test_policies_are_compiled_when_their_spec_changes(policed: Policed) -> None:
    """Once, when a write first matches, however many bindings change; and again after a change of the spec."""
    policed.policy("p", "true")
    policed.bind("p")
    assert not policed.compiled
    for action in ("Deny", "Warn"):
        policed.bind("p", "other", validationActions=[action])
        policed.run("configmaps", MAP)
    assert len(policed.compiled) == 1
    policed.policy("p", "1 > 2")
    assert "p: 1 > 2" in policed.refusal("configmaps", MAP).message
    assert len(policed.compiled) == 2


def test_policies_without_bindings_do_nothing(policed: Policed) -> None:
    """A policy applies as long as a binding names it."""
    policed.policy("p", "false")
    policed.bind("q")
    policed.run("configmaps", MAP)
    policed.bind("p", "c")
    assert "policy 'p' with binding 'c'" in policed.refusal("configmaps", MAP).message.lower()
    policed.bind("q", "c")
    policed.run("configmaps", MAP)


def test_policies_and_bindings_apply_by_name(policed: Policed) -> None:
    """The first denial is that of the first policy and its first binding by name."""
    for name in ("q", "p"):
        policed.policy(name, "false")
        for binding in ("z", "a"):
            policed.bind(name, f"{binding}-{name}")
    assert "'p' with binding 'a-p'" in policed.refusal("configmaps", MAP).message


@pytest.mark.parametrize(
    ("annotations", "notes"),
    [
        ([("k", "'v'")], {"p/k": "v"}),
        ([("k", "string(object.metadata.name)"), ("l", "'w'")], {"p/k": "a", "p/l": "w"}),
        ([("k", "null")], {}),
        ([("k", "' '")], {}),
    ],
)
def test_audit_annotations_of_a_policy(policed: Policed, annotations: Any, notes: Object) -> None:
    """The values of its expressions, below the name of the policy; null and blanks are none."""
    listed = [{"key": key, "valueExpression": expression} for key, expression in annotations]
    policed.policy("p", auditAnnotations=listed)
    policed.bind("p")
    policed.run("configmaps", MAP)
    assert policed.notes == notes


def test_audit_annotations_of_several_bindings(policed: Policed) -> None:
    """Different values are joined, equal ones stand once."""
    policed.policy("p", auditAnnotations=[{"key": "k", "valueExpression": "'v'"}])
    policed.policy("q", auditAnnotations=[{"key": "k", "valueExpression": "'w'"}])
    for name in ("a", "b"):
        policed.bind("p", f"{name}-p")
        policed.bind("q", f"{name}-q")
    policed.run("configmaps", MAP)
    assert policed.notes == {"p/k": "v", "q/k": "w"}


def test_failures_that_are_audited(policed: Policed) -> None:
    """The first failure of a request is an annotation that names the policy, the binding and the validation."""
    policed.policy("p", "true", "false")
    policed.bind("p", validationActions=["Audit", "Warn"])
    policed.policy("q", "false")
    policed.bind("q", "c", validationActions=["Audit"])
    policed.run("configmaps", MAP)
    assert policed.notes == {
        ORCH("validation.policy.admission.{abbr}.io/validation_failure"): (
            '[{"message":"p: false","policy":"p","binding":"b","expressionIndex":1,"validationActions":["Audit","Warn"]}]'
        )
    }
    assert policed.warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': p: false"]


def test_annotations_that_cannot_be_evaluated(policed: Policed) -> None:
    """They reject the write, and are counted as errors."""
    policed.policy("p", auditAnnotations=[{"key": "k", "valueExpression": "string(object.data.x)"}])
    policed.bind("p")
    message = policed.refusal("configmaps", MAP).message
    assert message.endswith("resulted in error: no such key: data")
    (total, _) = (each.values for each in policed.chain.plugins[0].instruments)  # type: ignore[attr-defined]
    assert total == {("p", "b", "invalid_error", "deny"): 1}


@pytest.mark.parametrize(
    ("expression", "actions", "counted"),
    [
        ("true", ["Deny"], {}),
        ("false", ["Deny"], {("p", "b", "invalid_error", "deny"): 1}),
        ("false", ["Warn", "Audit"], {("p", "b", "invalid_error", "warn"): 1, ("p", "b", "invalid_error", "audit"): 1}),
        ("object.data.x == ''", ["Deny"], {("p", "b", "invalid_error", "deny"): 1}),
    ],
)
def test_decisions_are_counted(policed: Policed, expression: str, actions: list[str], counted: Any) -> None:
    """Those that did more than admit the write, by what followed."""
    policed.policy("p", expression)
    policed.bind("p", validationActions=actions)
    if "Deny" in actions and counted:
        policed.refusal("configmaps", MAP)
    else:
        policed.run("configmaps", MAP)
    (total, _) = (each.values for each in policed.chain.plugins[0].instruments)  # type: ignore[attr-defined]
    assert total == counted


@pytest.mark.parametrize(
    ("expression", "counted"), [("object.data.x == ''", "invalid_error"), ("1 +", "compile_error")]
)
def test_ignored_failures_are_counted(policed: Policed, expression: str, counted: str) -> None:
    """The write is allowed."""
    policed.policy("p", expression, failurePolicy="Ignore")
    policed.bind("p")
    policed.run("configmaps", MAP)
    (total, _) = (each.values for each in policed.chain.plugins[0].instruments)  # type: ignore[attr-defined]
    assert total == {("p", "b", counted, "allow"): 1}


def test_bindings_of_other_writes(policed: Policed) -> None:
    """A binding may be about fewer writes than its policy; those behind it apply."""
    policed.namespace("other", labels={"a": "b"})
    policed.policy("p", "false")
    policed.bind("p", "a", matchResources={"namespaceSelector": {"matchLabels": {"a": "b"}}})
    policed.run("configmaps", MAP)
    assert "binding 'a'" in policed.refusal("configmaps", MAP, namespace="other").message
    policed.bind("p", "b")
    assert "binding 'b'" in policed.refusal("configmaps", MAP).message


@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
def test_objects_that_cannot_be_converted(policed: Policed, monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    """The write is refused for each binding, unless the policy ignores failures."""

    async def broken(*arguments: Any) -> Any:
        raise errors.internal("no webhook")

    monkeypatch.setattr(plugin, "view_of", broken)
    policed.policy("p", "true", failurePolicy=failure)
    for name in ("a", "b"):
        policed.bind("p", name)
    if failure == "Ignore":
        policed.run("configmaps", MAP)
    else:
        message = policed.refusal("configmaps", MAP).message
        assert "binding 'a' denied request: failed to configure binding: failed to convert object version" in message
        assert message.endswith("no webhook")


def test_policies_that_cannot_be_selected(policed: Policed) -> None:
    """A write in a namespace that is not there is refused by policies that look at namespaces."""
    constraints = {"resourceRules": [RULE], "namespaceSelector": {"matchLabels": {"a": "b"}}}
    policed.policy("p", "true", matchConstraints=constraints)
    policed.bind("p")
    message = policed.refusal("configmaps", MAP, namespace="gone").message
    assert "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: " in message
    policed.policy("p", "true", matchConstraints=constraints, failurePolicy="Ignore")
    policed.run("configmaps", MAP, namespace="gone")


def test_policies_without_bindings_do_not_hide_others(policed: Policed) -> None:
    policed.policy("a", "false")
    policed.policy("p", "false")
    policed.bind("p")
    assert "'p' with binding 'b'" in policed.refusal("configmaps", MAP).message
