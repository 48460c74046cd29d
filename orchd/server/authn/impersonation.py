"""Impersonation: parses the Impersonate headers into required permissions and the effective user. Pure functions.

The pipeline authorizes every action of `Impersonation.actions` in order for the real user, responds 403 to the first
that is denied, and continues as `Impersonation.user` (specification, "User impersonation").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchd import errors
from orchd.dialect import Dialect
from orchd.kinds.users import (
    ANONYMOUS,
    AUTHENTICATED_GROUP,
    SERVICE_ACCOUNT_PREFIX,
    SERVICE_ACCOUNTS_GROUP,
    UNAUTHENTICATED_GROUP,
    User,
)
from orchd.server.authn.extrakeys import unescaped_key
from orchd.server.authz.interfaces import Action

USER, GROUP, UID, EXTRA = "impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-"


class ImpersonationError(Exception):
    """Inconsistent headers; the response is a plain-text 500 with this text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """The actions to authorize, in order, and the effective user. `consumed` names the headers."""

    actions: tuple[Action, ...]
    user: User
    consumed: tuple[str, ...]


def parse_impersonation(
    dialect: Dialect, headers: Mapping[str, tuple[str, ...]], requestor: User
) -> Impersonation | None:
    """Parse `headers` (lower-case names); None without impersonation. Raises ImpersonationError."""
    names = [h for h in headers if h.startswith("impersonate-")]
    if not names:
        return None
    group = dialect("authentication.{abbr}.io")
    name = (headers.get(USER) or ("",))[0]
    groups = tuple(headers.get(GROUP, ()))
    extra: dict[str, tuple[str, ...]] = {}
    for header in sorted(n for n in names if n.startswith(EXTRA)):
        key = unescaped_key(header[len(EXTRA) :])
        extra[key] = extra.get(key, ()) + tuple(headers[header])
    uid = (headers.get(UID) or ("",))[0]
    if not name:
        if groups or extra or uid:
            raise ImpersonationError(_without_user(group, groups, extra, uid))
        return None

    actions = [_user_action(requestor, name)]
    actions.extend(Action(user=requestor, verb="impersonate", resource="groups", name=g) for g in groups)
    for key, values in extra.items():
        actions.extend(
            Action(
                user=requestor,
                verb="impersonate",
                group=group,
                version="v1",
                resource="userextras",
                subresource=key,
                name=value,
            )
            for value in values
        )
    if uid:
        actions.append(Action(user=requestor, verb="impersonate", group=group, version="v1", resource="uids", name=uid))
    user = User(name=name, uid=uid, groups=_groups(name, groups), extra=extra)
    return Impersonation(actions=tuple(actions), user=user, consumed=tuple(names))


def split_service_account(name: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name, None for any other."""
    if not name.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, colon, account = name[len(SERVICE_ACCOUNT_PREFIX) :].partition(":")
    return (namespace, account) if colon and namespace and account and ":" not in account else None


def _user_action(requestor: User, name: str) -> Action:
    account = split_service_account(name)
    if account is None:
        return Action(user=requestor, verb="impersonate", resource="users", name=name)
    return Action(user=requestor, verb="impersonate", resource="serviceaccounts", namespace=account[0], name=account[1])


def _groups(name: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    account = split_service_account(name)
    groups = asked
    if account is not None and not asked:
        groups = (SERVICE_ACCOUNTS_GROUP, f"{SERVICE_ACCOUNTS_GROUP}:{account[0]}")
    if name == ANONYMOUS:
        return groups if UNAUTHENTICATED_GROUP in groups else (*groups, UNAUTHENTICATED_GROUP)
    if AUTHENTICATED_GROUP in groups or UNAUTHENTICATED_GROUP in groups:
        return groups
    return (*groups, AUTHENTICATED_GROUP)


def parse_or_refuse(dialect: Dialect, headers: Mapping[str, tuple[str, ...]], user: User) -> Impersonation | None:
    """As `parse_impersonation`; raises ApiError 400 instead of ImpersonationError."""
    try:
        return parse_impersonation(dialect, headers, user)
    except ImpersonationError as error:
        raise errors.bad_request(str(error)) from None


def _without_user(group: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]], uid: str) -> str:
    """The recorded text shows the requested references: kind, name, version and field, separated by spaces."""
    requested = [f"{{Group  {g}    }}" for g in groups]
    requested.extend(f"{{UserExtra  {v}  {group}/v1  {k}}}" for k, values in extra.items() for v in values)
    if uid:
        requested.append(f"{{UID  {uid}  {group}/v1  }}")
    return f"requested [{' '.join(requested)}] without impersonating a user"
