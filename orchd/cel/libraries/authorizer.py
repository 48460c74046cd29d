"""Questions to an authorizer: ``authorizer.group('apps').resource('deployments').check('update').allowed()``.

The caller of an evaluation provides the authorizer as a function from `Question` to `AuthorizerDecision`, and may cache
decisions there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchd.cel.costs import FLAT, LIST, PER_CHARACTER, STRUCT, Cost, Estimate, Meter, Range, Sized, fixed, size_of
from orchd.cel.declare import Function, Library, function, member
from orchd.cel.types import BOOL, STRING, VENDOR, Type, struct
from orchd.cel.values import EvaluationError, Opaque, Value, no_overload

AUTHORIZER_TYPE = struct(f"{VENDOR}.authorization.Authorizer")
PATH_TYPE = struct(f"{VENDOR}.authorization.PathCheck")
GROUP_TYPE = struct(f"{VENDOR}.authorization.GroupCheck")
RESOURCE_TYPE = struct(f"{VENDOR}.authorization.ResourceCheck")
DECISION_TYPE = struct(f"{VENDOR}.authorization.Decision")
_CLASS_NAMES = {
    AUTHORIZER_TYPE: "authorizerVal",
    PATH_TYPE: "pathCheckVal",
    GROUP_TYPE: "groupCheckVal",
    RESOURCE_TYPE: "resourceCheckVal",
}
#: What one question costs.
QUESTION = 350_000
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to be authorized.

    ``path`` is None for resources; selectors are texts, empty for none. ``service_account`` is (namespace, name), or
    None for the user of the request.
    """

    verb: str = ""
    path: str | None = None
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerDecision:
    """The decision of an authorizer; ``error`` is None if it did not fail."""

    allowed: bool
    reason: str = ""
    error: str | None = None


class Check(Opaque):
    """An authorizer, and as much of a question as is known. The type says which part comes next."""

    __slots__ = ("ask", "cel_type", "question")

    def __init__(self, cel_type: Type, ask: Callable[[Question], AuthorizerDecision], question: Question) -> None:
        self.cel_type = cel_type
        self.ask = ask
        self.question = question

    @property
    def class_name(self) -> str:
        return f"library.{_CLASS_NAMES[self.cel_type]}"

    def equals(self, other: Value, meter: Meter) -> bool:
        raise no_overload()

    def content(self) -> Value:
        return no_overload()

    def with_parts(self, cel_type: Type, **parts: Any) -> Check:
        return Check(cel_type, self.ask, replace(self.question, **parts))


class Decision(Opaque):
    """The value of a decision in an expression."""

    __slots__ = ("decision",)
    cel_type: Type = DECISION_TYPE
    class_name = "library.decisionVal"

    def __init__(self, decision: AuthorizerDecision) -> None:
        self.decision = decision

    def content(self) -> Value:
        return no_overload()

    def equals(self, other: Value, meter: Meter) -> bool:
        raise no_overload()


def make_authorizer(ask: Callable[[Question], AuthorizerDecision]) -> Check:
    """Return the value of a variable of type `AUTHORIZER_TYPE`."""
    return Check(AUTHORIZER_TYPE, ask, Question())


def make_resource_check(ask: Callable[[Question], AuthorizerDecision], question: Question) -> Check:
    """Return the value of a variable of type `RESOURCE_TYPE`: everything of the question is known but the verb."""
    return Check(RESOURCE_TYPE, ask, question)


def _path(check: Check, path: str) -> Check:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return check.with_parts(PATH_TYPE, path=path)


def _resource(check: Check, resource: str) -> Check:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return check.with_parts(RESOURCE_TYPE, resource=resource)


def _service_account(check: Check, namespace: str, name: str) -> Check:
    if len(name) > 253 or not all(_LABEL.fullmatch(part) for part in name.split(".")):
        raise EvaluationError("Invalid service account name")
    if len(namespace) > 63 or not _LABEL.fullmatch(namespace):
        raise EvaluationError("Invalid service account namespace")
    return check.with_parts(AUTHORIZER_TYPE, service_account=(namespace, name))


def _ask(check: Check, verb: str) -> Decision:
    return Decision(check.ask(replace(check.question, verb=verb)))


def _selector_cost(length: Range) -> Range:
    requirements = length.scaled(0.5).scaled(LIST + STRUCT)
    return fixed(LIST).plus(length.scaled(PER_CHARACTER)).plus(requirements)


def _count_selector(args: Sequence[Value], result: Value) -> int:
    return _selector_cost(fixed(size_of(args[1]))).high


def _estimate_selector(target: Sized | None, args: Sequence[Sized]) -> Estimate:
    return Estimate(_selector_cost(args[0].size))


_QUESTION = Cost(lambda target, args: Estimate(fixed(QUESTION)), lambda args, result: QUESTION, True)
_SELECTOR = Cost(_estimate_selector, _count_selector, True)


def _refine(name: str, identifier: str, part: str, cost: Cost = FLAT) -> Function:
    def refined(check: Check, value: str) -> Check:
        return check.with_parts(RESOURCE_TYPE, **{part: value})

    return function(name, member(identifier, [RESOURCE_TYPE, STRING], RESOURCE_TYPE, refined, cost=cost))


LIBRARY = Library(
    name="authorizer",
    functions=(
        function("path", member("authorizer_path", [AUTHORIZER_TYPE, STRING], PATH_TYPE, _path, cost=FLAT)),
        function(
            "group",
            member(
                "authorizer_group",
                [AUTHORIZER_TYPE, STRING],
                GROUP_TYPE,
                lambda check, group: check.with_parts(GROUP_TYPE, group=group),
                cost=FLAT,
            ),
        ),
        function(
            "serviceAccount",
            member(
                "authorizer_serviceaccount",
                [AUTHORIZER_TYPE, STRING, STRING],
                AUTHORIZER_TYPE,
                _service_account,
                cost=FLAT,
            ),
        ),
        function("resource", member("groupcheck_resource", [GROUP_TYPE, STRING], RESOURCE_TYPE, _resource, cost=FLAT)),
        _refine("subresource", "resourcecheck_subresource", "subresource"),
        _refine("namespace", "resourcecheck_namespace", "namespace"),
        _refine("name", "resourcecheck_name", "name"),
        function(
            "check",
            member("pathcheck_check", [PATH_TYPE, STRING], DECISION_TYPE, _ask, cost=_QUESTION),
            member("resourcecheck_check", [RESOURCE_TYPE, STRING], DECISION_TYPE, _ask, cost=_QUESTION),
        ),
        function(
            "errored",
            member(
                "decision_errored", [DECISION_TYPE], BOOL, lambda value: value.decision.error is not None, cost=FLAT
            ),
        ),
        function(
            "error",
            member("decision_error", [DECISION_TYPE], STRING, lambda value: value.decision.error or "", cost=FLAT),
        ),
        function(
            "allowed",
            member("decision_allowed", [DECISION_TYPE], BOOL, lambda value: value.decision.allowed, cost=FLAT),
        ),
        function(
            "reason", member("decision_reason", [DECISION_TYPE], STRING, lambda value: value.decision.reason, cost=FLAT)
        ),
    ),
)
#: Selectors of questions, which came later.
SELECTORS = Library(
    name="authorizer selectors",
    functions=(
        _refine("fieldSelector", "authorizer_fieldselector", "field_selector", _SELECTOR),
        _refine("labelSelector", "authorizer_labelselector", "label_selector", _SELECTOR),
    ),
)
