"""Impersonation headers."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.server.authn.impersonation import ImpersonationError, parse_impersonation, parse_or_refuse

ALICE = User(name="alice")
GROUP = ORCH("authentication.{abbr}.io")


def parse(**headers: Any) -> Any:
    return parse_impersonation(ORCH, {k.replace("_", "-"): v for k, v in headers.items()}, ALICE)


def test_no_headers_no_impersonation() -> None:
    """Other headers, and an empty user, do not impersonate."""
    assert parse(accept=("x",)) is None
    assert parse(impersonate_user=("",)) is None


def test_every_impersonated_attribute_is_authorized() -> None:
    """User, groups, extra values and uid are each authorized for the real user, in this order."""
    impersonation = parse(
        impersonate_user=("bob",),
        impersonate_group=("a", "b"),
        impersonate_uid=("u",),
        **{"impersonate_extra_acme.com%2Fproject": ("p", "q")},
    )
    assert [(a.group, a.resource, a.subresource, a.name, a.verb, a.user) for a in impersonation.actions] == [
        ("", "users", "", "bob", "impersonate", ALICE),
        ("", "groups", "", "a", "impersonate", ALICE),
        ("", "groups", "", "b", "impersonate", ALICE),
        (GROUP, "userextras", "acme.com/project", "p", "impersonate", ALICE),
        (GROUP, "userextras", "acme.com/project", "q", "impersonate", ALICE),
        (GROUP, "uids", "", "u", "impersonate", ALICE),
    ]
    assert impersonation.user == User(
        name="bob", uid="u", groups=("a", "b", "system:authenticated"), extra={"acme.com/project": ("p", "q")}
    )


@pytest.mark.parametrize(
    ("user", "groups", "expected"),
    [
        ("bob", (), ("system:authenticated",)),
        ("bob", ("system:unauthenticated",), ("system:unauthenticated",)),
        ("bob", ("system:authenticated", "x"), ("system:authenticated", "x")),
        ("system:anonymous", (), ("system:unauthenticated",)),
        (
            "system:serviceaccount:ns:sa",
            (),
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        ),
        ("system:serviceaccount:ns:sa", ("g",), ("g", "system:authenticated")),
    ],
)
def test_implicit_groups(user: Any, groups: Any, expected: Any) -> None:
    """Impersonated users are in the authenticated group, service accounts in their groups unless groups are given."""
    headers = {"impersonate_user": (user,), **({"impersonate_group": groups} if groups else {})}
    assert parse(**headers).user.groups == expected


def test_service_accounts_are_authorized_by_namespace() -> None:
    """Impersonating a service account requires the verb on that account."""
    (action,) = parse(impersonate_user=("system:serviceaccount:ns:sa",)).actions
    assert (action.resource, action.namespace, action.name) == ("serviceaccounts", "ns", "sa")


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"impersonate_group": ("g",)}, "requested [{Group  g    }] without impersonating a user"),
        ({"impersonate_extra_a": ("g",)}, f"requested [{{UserExtra  g  {GROUP}/v1  a}}] without impersonating a user"),
        ({"impersonate_uid": ("g",)}, f"requested [{{UID  g  {GROUP}/v1  }}] without impersonating a user"),
    ],
)
def test_attributes_without_a_user_are_refused(headers: Any, text: str) -> None:
    """The error has the recorded message."""
    with pytest.raises(ImpersonationError) as caught:
        parse(**headers)
    assert str(caught.value) == text


@pytest.mark.parametrize(("header", "key"), [
    ("acme.com%2fx", "acme.com/x"), ("%41b", "Ab"), ("half%2f%", "half%2f%"), ("bad%zz", "bad%zz"), ("plain", "plain"),
])  # fmt: skip
def test_extra_header_names_are_unescaped(header: str, key: Any) -> None:
    """The extra key is the rest of the header's name, percent-decoded if that is valid as a whole."""
    asked = parse(impersonate_user=("bob",), **{f"impersonate_extra_{header}": ("v",)})
    assert list(asked.user.extra) == [key] and asked.actions[-1].subresource == key


def test_api_versions_of_authorization_attributes() -> None:
    """Users, groups and accounts are authorized without an API version, extra values and uids with one."""
    asked = parse(
        impersonate_user=("system:serviceaccount:n:a",),
        impersonate_group=("g",),
        impersonate_uid=("u",),
        impersonate_extra_k=("v",),
    )
    assert [(action.resource, action.version) for action in asked.actions] == [
        ("serviceaccounts", ""), ("groups", ""), ("userextras", "v1"), ("uids", "v1"),
    ]  # fmt: skip


def test_headers_without_a_user_are_a_bad_request_later() -> None:
    """Later releases answer with status 400."""
    user = User(name="u")
    with pytest.raises(ApiError) as caught:
        parse_or_refuse(ORCH, {"impersonate-group": ("g",)}, user)
    assert (caught.value.code, caught.value.message) == (400, "requested [{Group  g    }] without impersonating a user")
    assert parse_or_refuse(ORCH, {}, user) is None
