"""ValidatingAdmissionPolicy: rejects writes, warns and annotates, as the policies that are bound to them say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final
from unicodedata import category

import orjson
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.kinds.catalog import Resource
from orchd.kinds.codec import json_
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.expressions.evaluation import Evaluator, View
from orchd.server.admission.expressions.questions import asking
from orchd.server.admission.expressions.views import view_of
from orchd.server.admission.interfaces import CONNECT, CREATE, DELETE, UPDATE, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.admission.policies.decisions import Annotation, Decision, Judgement
from orchd.server.admission.policies.metrics import PolicyMetrics
from orchd.server.admission.policies.parameters import ParameterError, Parameters
from orchd.server.admission.policies.source import Binding, Policies, Policy
from orchd.server.admission.selection import Namespaces

_GROUP: Final = "admissionregistration.{abbr}.io"
_POLICIES: Final = "validatingadmissionpolicies"
_BINDINGS: Final = "validatingadmissionpolicybindings"
#: Resources that no policy is about, by group: those of policies, and those that requests depend on.
_EXEMPT: Final = {
    _GROUP: frozenset((_POLICIES, _BINDINGS)),
    "authentication.{abbr}.io": frozenset(("selfsubjectreviews", "tokenreviews")),
    "authorization.{abbr}.io": frozenset(
        ("localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews")
    ),
}
_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
#: Maximum length of the value of an audit annotation in bytes.
_LONGEST_ANNOTATION: Final = 10 * 1024


@dataclass(slots=True, eq=False)
class _Findings:
    """The result of policies for one write: why it is rejected, and audit annotations."""

    denials: list[tuple[str, Decision]] = field(default_factory=list)
    annotations: dict[str, list[str]] = field(default_factory=dict)
    #: A failure was published as an annotation: the first one of a request is.
    published: bool = False


@implementer(IValidatingPlugin)
class ValidatingAdmissionPolicy(Plugin):
    """Evaluates the policies that are bound to a write."""

    name = "ValidatingAdmissionPolicy"
    help = "Rejects writes that violate a ValidatingAdmissionPolicy which a binding applies to them, or warns of them."
    operations = (CREATE, UPDATE, DELETE, CONNECT)
    informers = ((_GROUP, "v1", _POLICIES), (_GROUP, "v1", _BINDINGS), ("", "v1", "namespaces"))

    def setup(self) -> None:
        self._policies = Policies()
        self._changed = True
        self._parameters = Parameters(self.context, self.turn)
        self._namespaces = Namespaces(self.context, self.informer("namespaces"))
        self._metrics = PolicyMetrics()
        self.instruments = self._metrics.instruments
        for plural in (_POLICIES, _BINDINGS):
            self.informer(plural).add_listener(self._on_change)
        self._exempt = {self.dialect(group): names for group, names in _EXEMPT.items()}

    def _on_change(self, *_: Any) -> None:
        self._changed = True

    def handles_resource(self, resource: Resource, subresource: str) -> bool:
        """Policies themselves are exempt, so that broken ones can be repaired."""
        return resource.plural not in self._exempt.get(resource.group, ())

    async def validate(self, review: Review) -> None:
        await self.wait_ready(review)
        if self._changed:
            self._refresh()
        if not self._policies:
            return
        policies = self._policies.about(review, self.context.api.catalog())
        if policies:
            await self._validate(policies, review)

    def _refresh(self) -> None:
        """Take over changed policies and bindings, and begin to follow their parameters."""
        self._changed = False
        self._policies.replace(self.informer(_POLICIES).list(), self.informer(_BINDINGS).list())
        for policy in self._policies:
            kind = policy.spec.get("paramKind")
            if kind is not None:
                try:
                    self._parameters.informer(self._parameters.resource(kind))
                except ParameterError:
                    # Reported to the writes that the policy is about.
                    continue

    async def _validate(self, policies: Sequence[Policy], review: Review) -> None:
        ask = asking(self.context.authorize, review.user)
        evaluator = Evaluator(ask, self.context.runtime.compute, size=review.size)
        findings = _Findings()
        for policy in policies:
            findings.annotations.clear()
            await self._apply(policy, review, evaluator, findings)
            for key, values in findings.annotations.items():
                review.annotate(f"{policy.name}/{key}", ", ".join(values))
        if findings.denials:
            raise _rejection(review, *findings.denials[0])

    async def _apply(self, policy: Policy, review: Review, evaluator: Evaluator, findings: _Findings) -> None:
        """Apply one policy to a write."""
        try:
            target = await policy.match.match(review, self._namespaces, self.context.api.catalog())
            if target is None:
                return
            kind = policy.spec.get("paramKind")
            if kind is not None:
                self._parameters.resource(kind)
        except (ApiError, ParameterError) as error:
            _misconfigured(policy, None, error, findings)
            return
        view: View | None = None
        for binding in policy.bindings:
            try:
                if not await self._bound(binding, review):
                    continue
                # A namespace is in itself.
                where = review.namespace or (review.name if review.resource.plural == "namespaces" else "")
                params = await self._parameters.collect(kind, binding.spec.get("paramRef"), where)
            except (ApiError, ParameterError) as error:
                _misconfigured(policy, binding, error, findings)
                continue
            if view is None and params:
                namespace = await self._namespaces.get(review.namespace) if review.namespace else None
                try:
                    view = await view_of(self.context, review, target, namespace)
                except ApiError as error:
                    failure = ParameterError(f"failed to convert object version: {error.message}")
                    _misconfigured(policy, binding, failure, findings)
                    continue
            for value in params:
                assert view is not None
                await self.turn()
                judgement = await self._judge(policy, review, evaluator, view.with_params(value))
                self._enforce(policy, binding, judgement, review, findings)

    async def _bound(self, binding: Binding, review: Review) -> bool:
        if binding.match is None:
            return True
        return await binding.match.match(review, self._namespaces, self.context.api.catalog()) is not None

    async def _judge(self, policy: Policy, review: Review, evaluator: Evaluator, view: View) -> Judgement:
        program = await policy.program(self.dialect, self.context.runtime.compute)
        began = perf_counter()
        judgement = await evaluator.run(lambda run: program.judge(run, view))
        if judgement.match is not None and not judgement.match.matches:
            labels = (policy.name, "policy", "validate", review.operation)
            self.context.observe_conditions(judgement.match.errors, perf_counter() - began, False, labels)
        return judgement

    def _enforce(
        self, policy: Policy, binding: Binding, judgement: Judgement, review: Review, findings: _Findings
    ) -> None:
        """Do what the binding says about the decisions of its policy."""
        observe = self._metrics.observe
        actions = binding.spec.get("validationActions") or ()
        where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
        for index, decision in enumerate(judgement.decisions):
            if not decision.denied:
                if decision.failed:
                    observe(policy.name, binding.name, decision, "allow")
                continue
            for action in actions:
                if action == "Deny":
                    findings.denials.append((where, decision))
                elif action == "Warn":
                    _warn(review, f"Validation failed for {where}: {decision.message}")
                elif not findings.published:
                    findings.published = True
                    key = self.dialect("validation.policy.admission.{abbr}.io/validation_failure")
                    review.annotate(key, _failure_text(policy, binding, index, decision))
                observe(policy.name, binding.name, decision, action.lower())
        for annotation in judgement.annotations:
            if not annotation.error:
                _collect(annotation, findings)
                continue
            failed = Decision(denied=True, message=annotation.error, seconds=annotation.seconds)
            findings.denials.append((where, failed))
            observe(policy.name, binding.name, failed, "deny")


def _misconfigured(
    policy: Policy, binding: Binding | None, error: ApiError | ParameterError, findings: _Findings
) -> None:
    """Reject a write because of a policy or binding that cannot be applied, unless the policy ignores errors."""
    if policy.ignores:
        return
    cause = error.message if isinstance(error, ApiError) else str(error)
    where = f"ValidatingAdmissionPolicy '{policy.name}'"
    what = "policy"
    if binding is not None:
        where, what = f"{where} with binding '{binding.name}'", "binding"
    message = f"failed to configure {what}: {cause}"
    findings.denials.append((where, Decision(denied=True, message=message)))


def _collect(annotation: Annotation, findings: _Findings) -> None:
    values = findings.annotations.setdefault(annotation.key, [])
    value = annotation.value.encode()[:_LONGEST_ANNOTATION].decode(errors="replace")
    if value not in values:
        values.append(value)


def _warn(review: Review, text: str) -> None:
    # Warnings that a header cannot carry are dropped, as in the reference.
    if not any(category(each) == "Cc" for each in text):
        review.warn(text)


def _failure_text(policy: Policy, binding: Binding, index: int, decision: Decision) -> str:
    """The value of the annotation about a validation that does not hold."""
    value: Object = {
        "message": decision.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": index,
        "validationActions": list(binding.spec.get("validationActions") or ()),
    }
    return json_.escape(orjson.dumps([value])).decode()


def _rejection(review: Review, where: str, decision: Decision) -> ApiError:
    """The error for a decision. Its reason is that of the validation."""
    message = f"{where} denied request: {decision.message}"
    error = refuse(review, message)
    error.reason = decision.reason or "Invalid"
    error.code = _CODES.get(error.reason, 422)
    if error.details is not None:
        error.details["causes"] = [{"message": message}]
    return error
