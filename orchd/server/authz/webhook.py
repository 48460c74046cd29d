"""Authorization webhook: SubjectAccessReviews by an external service, with cached responses.

A service that neither allows nor denies has no opinion: the following authorizers decide. So does one that fails,
unless it is configured to deny then; if none allows, a failure is the error of the request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import orjson
from zope.interface import implementer

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.expressions.compiled import Expression
from orchd.kinds.expressions.stretches import LongEvaluationError, Stretch
from orchd.kinds.objects.action_selectors import attributes_of
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer, Rules, Verdict
from orchd.server.authz.messages import join_errors
from orchd.server.outbound.reviews import ReviewStatus
from orchd.server.outbound.webhooks import WebhookError
from orchd.txkit.compute_thread import LARGE, ComputeThread
from orchd.txkit.expiring_cache import ExpiringCache
from orchd.txkit.log import Logger

#: Maximum number of cached responses, and maximum total text length of cached actions: clients choose these texts.
_CAPACITY, _LONGEST_KEPT = 8192, 10000
#: Cost of the conditions of one request: about a second.
_BUDGET = 2_500_000
_BOTH = "webhook subject access review returned both allow and deny response"


class Reviews(Protocol):
    """Sends reviews (`orchd.server.outbound.reviews`)."""

    def ask(self, document: Mapping[str, Any]) -> Awaitable[dict[str, Any]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """`version` of the reviews (v1 or v1beta1), cache lifetimes in seconds, and the decision of a review that failed:
    NO_OPINION or DENY. `failed_open(result)` is called for each failure without an opinion."""

    version: str = "v1beta1"
    authorized_ttl: float = 300.0
    unauthorized_ttl: float = 30.0
    on_failure: Decision = Decision.NO_OPINION
    failed_open: Callable[[str], object] = lambda result: None
    #: What all must be true of a request to ask about it.
    conditions: tuple[Expression, ...] = ()
    #: `observe_conditions(seconds, failed, excluded)` after every evaluation of the conditions.
    observe_conditions: Callable[[float, bool, bool], object] = lambda *observed: None
    #: Evaluates long conditions.
    compute: ComputeThread = field(default_factory=ComputeThread)
    release: Release = SPECIFICATION


@implementer(IAuthorizer)
class WebhookAuthorizer:
    """Authorizes by `reviews`. `clock` is the cache's monotonic clock."""

    name = "Webhook"
    _log = Logger()

    def __init__(
        self, dialect: Dialect, reviews: Reviews, options: WebhookOptions, *, clock: Callable[[], float]
    ) -> None:
        self._api_version = dialect("authorization.{abbr}.io/") + options.version
        self._groups = "group" if options.version == "v1beta1" else "groups"
        self._metadata = fields.unstored_metadata(options.release)
        self._reviews = reviews
        self._options = options
        self._kept: ExpiringCache[bytes, Verdict] = ExpiringCache(_CAPACITY, clock)

    async def authorize(self, action: Action) -> Verdict:
        excluded = await self._excluded(action) if self._options.conditions else None
        if excluded is not None:
            return excluded
        spec = self._spec(action)
        key = orjson.dumps(spec)
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        review = {
            "kind": "SubjectAccessReview",
            "apiVersion": self._api_version,
            "metadata": self._metadata,
            "spec": spec,
            "status": {"allowed": False},
        }
        try:
            response = ReviewStatus(await self._reviews.ask(review), "SubjectAccessReviewStatus")
            allowed, denied, reason = response.flag("allowed"), response.flag("denied"), response.text("reason")
        except WebhookError as error:
            self._log.error("the authorization webhook failed: {error}", error=str(error))
            if self._options.on_failure is Decision.NO_OPINION:
                self._options.failed_open(error.outcome)
            return Verdict(self._options.on_failure, error=str(error))
        verdict = _verdict(allowed, denied, reason)
        if _size(action) < _LONGEST_KEPT:
            self._kept.put(key, verdict, self._options.authorized_ttl if allowed else self._options.unauthorized_ttl)
        return verdict

    async def _excluded(self, action: Action) -> Verdict | None:
        """The verdict on a request that the service is not asked about; None for others."""
        began = perf_counter()
        conditions, request = self._options.conditions, _seen(action)
        try:
            errors, excluded = _evaluate(conditions, request, Stretch(quick=True))
        except LongEvaluationError:
            errors, excluded = await self._options.compute(
                LARGE + 1, _evaluate, conditions, request, Stretch(quick=False)
            )
        self._options.observe_conditions(perf_counter() - began, bool(errors), excluded)
        if excluded:
            return Verdict(Decision.NO_OPINION)
        return Verdict(self._options.on_failure, error=join_errors(errors)) if errors else None

    def _spec(self, action: Action) -> dict[str, Any]:
        user = action.user
        asked: dict[str, Any]
        if action.is_resource:
            asked = {"resourceAttributes": {**_without_empty(
                namespace=action.namespace, verb=action.verb, group=action.group, version=action.version,
                resource=action.resource, subresource=action.subresource, name=action.name,
            ), **attributes_of(action.selectors)}}  # fmt: skip
        else:
            asked = {"nonResourceAttributes": _without_empty(path=action.path, verb=action.verb)}
        if user.name:
            asked["user"] = user.name
        if user.groups:
            asked[self._groups] = list(user.groups)
        if user.extra:
            asked["extra"] = {name: list(user.extra[name]) for name in sorted(user.extra)}
        if user.uid:
            asked["uid"] = user.uid
        return asked

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules(incomplete=True, error="webhook authorizer does not support user rule resolution")


def _evaluate(conditions: Sequence[Expression], request: Mapping[str, Any], stretch: Stretch) -> tuple[list[str], bool]:
    """The errors of conditions up to the first that is false, and whether there is one. Raises LongEvaluationError if
    `stretch` is a quick one."""
    left, errors = _BUDGET, []
    for condition in conditions:
        outcome = stretch.evaluate(condition, {"request": request}, left)
        left = max(left - outcome.cost, 0)
        if outcome.error is not None:
            errors.append(f"cel evaluation error: expression '{condition.text}' resulted in error: {outcome.error}")
        elif outcome.value is False:
            return errors, True
    return errors, False


def _seen(action: Action) -> dict[str, Any]:
    """The spec of a review as conditions see it: with all texts, also empty ones."""
    user = action.user
    spec: dict[str, Any] = {
        "user": user.name,
        "groups": list(user.groups),
        "uid": user.uid,
        "extra": {name: list(values) for name, values in user.extra.items()},
    }
    if action.is_resource:
        names = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
        spec["resourceAttributes"] = {
            **{name: getattr(action, name) for name in names},
            **attributes_of(action.selectors, complete=True),
        }
    else:
        spec["nonResourceAttributes"] = {"path": action.path, "verb": action.verb}
    return spec


def _verdict(allowed: bool, denied: bool, reason: str) -> Verdict:
    if denied:
        return Verdict(Decision.DENY, reason, _BOTH if allowed else "")
    return Verdict(Decision.ALLOW if allowed else Decision.NO_OPINION, reason)


def _without_empty(**members: str) -> dict[str, str]:
    return {name: value for name, value in members.items() if value}


def _size(action: Action) -> int:
    """Total length of the texts that the client chooses."""
    return sum(map(len, (
        action.namespace, action.verb, action.group, action.version, action.resource, action.subresource, action.name,
        action.path,
    )))  # fmt: skip
