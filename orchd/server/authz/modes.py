"""The authorizers of --authorization-mode, in its order, after the privileged group."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zope.interface.verify import verifyObject

import orchd.plugins
from orchd.client.interfaces import IInformers
from orchd.dialect import Dialect
from orchd.server.authz.always import AlwaysAllow, AlwaysDeny
from orchd.server.authz.interfaces import IAuthorizer, IAuthorizerFactory
from orchd.server.authz.node import NodeAuthorizer
from orchd.server.authz.privileged import PrivilegedGroups
from orchd.server.authz.rbac import RoleBasedAuthorizer
from orchd.server.authz.selfreview import SelfReviews
from orchd.server.authz.union import AuthorizerUnion, Label
from orchd.txkit import dropins

#: Every mode of release 1.23.
MODES = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")
#: Names in metrics of authorizers that are configured by flags, where they are not those of the modes in lower case.
_NAMES = {"Webhook": "default"}


def drop_ins() -> dict[str, Any]:
    """Factories found in `orchd.plugins`, by name. Raises ValueError naming an invalid one."""
    factories = {}
    for factory in dropins.drop_ins(IAuthorizerFactory, orchd.plugins):
        try:
            verifyObject(IAuthorizerFactory, factory)
        except Exception as error:
            # Any exception of a drop-in must name the drop-in.
            raise ValueError(f"authorizer {factory!r} cannot be used: {error}") from error
        factories[str(factory.name)] = factory
    return factories


def make_union(
    modes: Sequence[str],
    *,
    dialect: Dialect,
    informers: IInformers,
    flags: Mapping[str, Any],
    configured: Mapping[str, Callable[[], IAuthorizer]] | None = None,
    more: Mapping[str, Any] | None = None,
) -> AuthorizerUnion:
    """The union for `modes`; `configured` makes authorizers that depend on settings (ABAC, Webhook), `more` are
    drop-ins by mode.

    Raises ValueError without modes, for a duplicate mode, or for an unknown one (suggesting the nearest).
    """
    built: dict[str, Callable[[], IAuthorizer]] = {
        "AlwaysAllow": AlwaysAllow,
        "AlwaysDeny": AlwaysDeny,
        "RBAC": lambda: RoleBasedAuthorizer(dialect, informers),
        "Node": lambda: NodeAuthorizer(dialect, informers),
        **(configured or {}),
    }
    extra = more or {}
    if not modes:
        raise ValueError("--authorization-mode: at least one mode is needed")
    authorizers: list[IAuthorizer] = [PrivilegedGroups()]
    labels: list[Label | None] = [None]
    for i, mode in enumerate(modes):
        if mode in modes[:i]:
            raise ValueError(f"--authorization-mode: {mode} is named twice")
        if mode in built:
            authorizers.append(built[mode]())
        elif mode in extra:
            authorizers.append(extra[mode].make(flags))
        elif mode in MODES:
            raise ValueError(f"--authorization-mode: {mode} is not configured")
        else:
            near = difflib.get_close_matches(mode, [*MODES, *extra], 1, 0.0)[0]
            raise ValueError(f"--authorization-mode: unknown mode {mode!r}; the nearest is {near!r}")
        labels.append((mode, _NAMES.get(mode, mode.lower())))
    if "RBAC" in modes:
        authorizers.append(SelfReviews(dialect))
        labels.append(None)
    return AuthorizerUnion(authorizers, labels)
