"""Contracts of authorization: a union of authorizers in flag order; the first opinion decides (docs/decisions.md 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from zope.interface import Attribute, Interface

from orchd.kinds.objects.action_selectors import Selectors
from orchd.kinds.users import User
from orchd.values import value_class


@value_class(kw_only=True)
class Action:
    """The attributes of an authorization request. For a resource request `path` is "" and the resource members are set;
    `name`, `namespace` and `subresource` may be "", and `selectors` are those of a list, watch or deletion of a
    collection, None without any or where the release does not authorize by them. Otherwise `path` is the URL path and
    `verb` the lower-case HTTP method."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    selectors: Selectors | None = None

    @property
    def is_resource(self) -> bool:
        return not self.path


class Decision(Enum):
    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@value_class()
class Verdict:
    """A decision and its reason, which the client sees after ``... is forbidden: ...`` when it is not ALLOW.

    `error` is a failure of the evaluation: without ALLOW the response is then 500 instead of 403."""

    decision: Decision
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRule:
    """Permissions on resources, as SelfSubjectRulesReview returns them."""

    verbs: tuple[str, ...]
    api_groups: tuple[str, ...]
    resources: tuple[str, ...]
    resource_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NonResourceRule:
    verbs: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules of a user in a namespace; `incomplete` with `error` when an authorizer cannot enumerate its rules."""

    resource: Sequence[ResourceRule] = ()
    non_resource: Sequence[NonResourceRule] = ()
    incomplete: bool = False
    error: str = ""


class IAuthorizer(Interface):
    """One authorizer."""

    name: str = Attribute("The word of --authorization-mode.")

    async def authorize(action: Action) -> Verdict:
        """Decide. Called after authentication, before the body is read; must not mutate. Must not raise: an authorizer
        that cannot decide returns NO_OPINION with the reason or the error. Usually finishes without suspending; one
        that waits may be cancelled when the client disconnects."""

    def rules(user: User, namespace: str) -> Rules:
        """The rules that apply to `user` in `namespace`."""


class IAuthorizerFactory(Interface):
    """A drop-in authorizer, found in `orchd.plugins`."""

    name: str = Attribute("The word for --authorization-mode.")
    help: str = Attribute("One paragraph for the operator.")

    def make(configuration: Mapping[str, Any]) -> IAuthorizer:
        """An authorizer from the effective flags."""
