"""Access reviews: evaluate permissions of a user, or of the requester."""

from __future__ import annotations

from typing import Any

from orchd import errors
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import action_selectors
from orchd.kinds.users import User
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer
from orchd.server.pipeline.interfaces import Request
from orchd.server.pipeline.verbs.context import ResourceTarget
from orchd.server.pipeline.verbs.reviews.posted import Decide


def action(user: User, spec: Object) -> Action:
    """The action in the attributes of a review."""
    asked = spec.get("resourceAttributes")
    if asked is None:
        asked = spec.get("nonResourceAttributes") or {}
        return Action(user=user, verb=asked.get("verb", ""), path=asked.get("path", ""))
    return Action(
        user=user,
        verb=asked.get("verb", ""),
        group=asked.get("group", ""),
        version=asked.get("version") or "*",
        resource=asked.get("resource", ""),
        subresource=asked.get("subresource", ""),
        namespace=asked.get("namespace", ""),
        name=asked.get("name", ""),
        selectors=action_selectors.of_review(asked),
    )


def subject(spec: Object) -> User:
    """The user in a review."""
    return User(
        name=spec.get("user") or "",
        uid=spec.get("uid") or "",
        groups=tuple(spec.get("groups") or ()),
        extra={k: tuple(v or ()) for k, v in (spec.get("extra") or {}).items()},
    )


async def _decide(authorizer: IAuthorizer, asked: Action) -> Object:
    verdict = await authorizer.authorize(asked)
    status: Object = {"allowed": verdict.decision is Decision.ALLOW}
    if verdict.decision is Decision.DENY:
        status["denied"] = True
    if verdict.reason:
        status["reason"] = verdict.reason
    wrong = asked.selectors.errors() if asked.selectors is not None else ()
    if evaluation := "; ".join(filter(None, (verdict.error, *wrong))):
        status["evaluationError"] = evaluation
    return status


def access_review(authorizer: IAuthorizer) -> Decide:
    """SubjectAccessReview: any user, in any namespace."""

    async def decide(request: Request, target: ResourceTarget, posted: Object) -> Object:
        spec = fields.spec(posted)
        return await _decide(authorizer, action(subject(spec), spec))

    return decide


def local_access_review(authorizer: IAuthorizer) -> Decide:
    """LocalSubjectAccessReview: any user, in one namespace."""

    async def decide(request: Request, target: ResourceTarget, posted: Object) -> Object:
        spec = fields.spec(posted)
        if (fields.metadata(posted).get("namespace") or "") != target.namespace:
            raise errors.bad_request(f"spec.resourceAttributes.namespace must match namespace: {target.namespace}")
        return await _decide(authorizer, action(subject(spec), spec))

    return decide


def self_access_review(authorizer: IAuthorizer) -> Decide:
    """SelfSubjectAccessReview: the requesting user."""

    async def decide(request: Request, target: ResourceTarget, posted: Object) -> Object:
        assert request.user is not None
        return await _decide(authorizer, action(request.user, fields.spec(posted)))

    return decide


def self_rules_review(authorizer: IAuthorizer) -> Decide:
    """SelfSubjectRulesReview: all permissions of the requesting user in a namespace."""

    async def decide(request: Request, target: ResourceTarget, posted: Object) -> Object:
        namespace = fields.spec(posted).get("namespace")
        if not namespace:
            raise errors.bad_request("no namespace on request")
        assert request.user is not None
        rules = authorizer.rules(request.user, namespace)
        status: Object = {
            "resourceRules": [
                _without_empty(
                    verbs=rule.verbs,
                    apiGroups=rule.api_groups,
                    resources=rule.resources,
                    resourceNames=rule.resource_names,
                )
                for rule in rules.resource
            ],
            "nonResourceRules": [
                _without_empty(verbs=rule.verbs, nonResourceURLs=rule.paths) for rule in rules.non_resource
            ],
            "incomplete": rules.incomplete,
        }
        if rules.error:
            status["evaluationError"] = rules.error
        return status

    return decide


def _without_empty(**members: tuple[str, ...]) -> dict[str, Any]:
    return {name: list(values) for name, values in members.items() if values}
