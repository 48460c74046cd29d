"""The user of a request, as determined by authentication."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ANONYMOUS = "system:anonymous"
UNAUTHENTICATED_GROUP = "system:unauthenticated"
AUTHENTICATED_GROUP = "system:authenticated"
MASTERS_GROUP = "system:masters"
NODES_GROUP = "system:nodes"
NODE_PREFIX = "system:node:"
SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A name with groups and extra attributes (the API's UserInfo). `uid` may be ""."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The UserInfo object without empty members."""
        out: dict[str, Any] = {"username": self.name} if self.name else {}
        if self.uid:
            out["uid"] = self.uid
        if self.groups:
            out["groups"] = list(self.groups)
        if self.extra:
            out["extra"] = {k: list(v) for k, v in self.extra.items()}
        return out


def with_authenticated_group(user: User) -> User:
    """`user` as a member of the group of authenticated users; the anonymous user stays unchanged."""
    groups = user.groups
    if user.name == ANONYMOUS or AUTHENTICATED_GROUP in groups or UNAUTHENTICATED_GROUP in groups:
        return user
    return User(name=user.name, uid=user.uid, groups=(*groups, AUTHENTICATED_GROUP), extra=user.extra)


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user of a service account."""
    return User(
        name=f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}",
        uid=uid,
        groups=(SERVICE_ACCOUNTS_GROUP, f"{SERVICE_ACCOUNTS_GROUP}:{namespace}", AUTHENTICATED_GROUP),
    )


def node_name(user: User) -> str | None:
    """The node name of a node user; "" for a member of the nodes group without a node name, None for other users."""
    if not user.name.startswith(NODE_PREFIX) or NODES_GROUP not in user.groups:
        return None
    return user.name[len(NODE_PREFIX) :]
