"""Bearer tokens of all kinds, and the authentication chain."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from orchd.server.authn.anonymous import Anonymous
from orchd.server.authn.bearer import BearerTokens
from orchd.server.authn.bootstraptoken import BootstrapTokens
from orchd.server.authn.chain import AuthenticatorChain
from orchd.server.authn.interfaces import Authenticated, AuthenticationError, Credentials, ITokenAuthenticator
from orchd.server.authn.jwtissuers import JwtIssuers
from orchd.server.authn.loopback import Loopback
from orchd.server.authn.tokenfile import TokenFile, TokenFileError, parse_token_file
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of

API = ("api",)
FILE = ['alice-token,alice,alice-uid,"dev,qa"\n', "\n", "bob-token,bob,1\n"]


def bearer(*methods: Any) -> Any:
    return BearerTokens(methods or [TokenFile(parse_token_file("f", FILE), audiences=API)], audiences=API)


def chain(*methods: Any, anonymous: bool = True) -> Any:
    return AuthenticatorChain(methods or [bearer()], anonymous=Anonymous() if anonymous else None)


def credentials(*values: Any) -> Any:
    return Credentials(headers={"authorization": values} if values else {})


def test_a_token_file_names_users() -> None:
    """The file has token, name, uid and groups; empty lines are skipped."""
    users = parse_token_file("f", FILE)
    assert users["alice-token"] == User(name="alice", uid="alice-uid", groups=("dev", "qa"))
    assert users["bob-token"].groups == ()


@pytest.mark.parametrize("line", ["a,b\n", ",b,c\n", '"a,b,c\n'])
def test_invalid_line_is_named(line: str) -> None:
    """Too few columns, an empty token and unclosed quotes are errors with file and line."""
    with pytest.raises(TokenFileError, match=r"^tokens.csv:2"):
        parse_token_file("tokens.csv", ["x,y,z\n", line])


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Bearer alice-token", "alice"),
        ("bearer alice-token", "alice"),
        ("BeaRer alice-token", "alice"),
        ("Bearer alice-token more", "alice"),
        ("Bearer  alice-token", "system:anonymous"),
        ("Bearer", "system:anonymous"),
        ("Basic YWxpY2U6cGFzcw==", "system:anonymous"),
        ("alice-token", "system:anonymous"),
        ("", "system:anonymous"),
    ],
)
def test_bearer_header_forms(header: str, name: str) -> None:
    """One space precedes the token, the scheme is case-insensitive, and other values are anonymous."""
    assert result_of(chain().authenticate(credentials(header))).user.name == name


def test_authenticated_users_get_the_authenticated_group() -> None:
    """The chain adds the group of authenticated users, except to the anonymous user."""
    identity = result_of(chain().authenticate(credentials("Bearer alice-token")))
    assert identity.user.groups == ("dev", "qa", "system:authenticated")
    assert identity.consumed == ("authorization",)
    assert result_of(chain().authenticate(credentials())).user.groups == ("system:unauthenticated",)
    tokens = chain()
    alice = [result_of(tokens.authenticate(credentials("Bearer alice-token"))).user for _ in range(2)]
    assert alice[0] is alice[1], "made once"


@pytest.mark.parametrize(("header", "anonymous"), [("Bearer wrong", True), ("", False)])
def test_unauthenticated_requests_are_401(header: str, anonymous: Any) -> None:
    """An invalid token is never anonymous; with anonymous access disabled a request without credentials is rejected,
    too."""
    with pytest.raises(ApiError) as caught:
        result_of(chain(anonymous=anonymous).authenticate(credentials(header)))
    assert caught.value.code == 401


def test_audiences_of_static_tokens() -> None:
    """A static token is valid for this API server only."""
    identity = result_of(bearer().authenticate_token("alice-token", ["x", "api"]))
    assert identity.audiences == ("api",)
    with pytest.raises(AuthenticationError, match=r"^invalid bearer token$"):
        result_of(bearer().authenticate_token("alice-token", ["x"]))


def test_loopback_token_authenticates_the_server() -> None:
    """Only the exact token gives the server's own identity."""
    method = Loopback("secret", uid="u")
    identity = result_of(method.authenticate_token("secret", API))
    assert identity is not None and identity.user.groups == ("system:masters",)
    assert result_of(method.authenticate_token("other", API)) is None
    with pytest.raises(ValueError, match="empty"):
        Loopback("")


def bootstrap_secret(**data: Any) -> Object:
    values = {
        "description": b"\xfe",
        "token-id": "abc123",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        **data,
    }
    return {
        "metadata": {"name": "bootstrap-token-abc123", "namespace": ORCH.system_namespace},
        "type": ORCH("bootstrap.{long}.io/token"),
        "data": {k: base64.b64encode(v if isinstance(v, bytes) else v.encode()).decode() for k, v in values.items()},
    }


@pytest.mark.parametrize(
    ("data", "groups"),
    [
        ({}, ("system:bootstrappers",)),
        ({"auth-extra-groups": ""}, ("system:bootstrappers",)),
        (
            {"auth-extra-groups": "system:bootstrappers:two,system:bootstrappers:one"},
            ("system:bootstrappers", "system:bootstrappers:one", "system:bootstrappers:two"),
        ),
        ({"auth-extra-groups": "system:masters"}, None),
        ({"auth-extra-groups": "system:bootstrappers:a, system:bootstrappers:b"}, None),
        ({"expiration": "1970-01-01T00:16:39Z"}, None),
        ({"expiration": "1970-01-01T00:16:41Z"}, ("system:bootstrappers",)),
        ({"expiration": "1970-01-01T02:16:41+02:00"}, ("system:bootstrappers",)),
        ({"expiration": "soon"}, None),
        ({"expiration": "1970-01-01T00:16:41.5Z"}, ("system:bootstrappers",)),
        ({"expiration": "2030-01-01 00:00:00Z"}, None),
        ({"expiration": "2030-01-01T00:00:00"}, None),
        ({"expiration": "20300101T000000Z"}, None),
        ({"expiration": "2030-13-01T00:00:00Z"}, None),
        ({"usage-bootstrap-authentication": "false"}, None),
        ({"token-id": "abc124"}, None),
        ({"token-secret": ""}, None),
        ({"auth-extra-groups": b"\xff", "description": "x"}, ("system:bootstrappers",)),
    ],
)
def test_bootstrap_token_authentication(data: Any, groups: Any) -> None:
    """A secret of the right type, name, id, secret, use and time authenticates a bootstrap user; any defect rejects the
    token."""
    informers = MemoryInformers()
    method = BootstrapTokens(ORCH, informers, wall=lambda: 1000.0, audiences=API)
    informers.put(ResourceRef("", "v1", "secrets"), bootstrap_secret(**data))
    identity = result_of(method.authenticate_token("abc123.0123456789abcdef", API))
    assert (identity.user.groups if identity else None) == groups
    assert result_of(method.authenticate_token("ABC123.0123456789abcdef", API)) is None
    assert result_of(method.authenticate_token("abc123.0123456789abcdee", API)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "Opaque"},
        {"metadata": {"name": "bootstrap-token-abc123", "namespace": "default"}},
        {
            "metadata": {
                "name": "bootstrap-token-abc123",
                "namespace": ORCH.system_namespace,
                "deletionTimestamp": "1970-01-01T00:00:01Z",
            }
        },
    ],
)
def test_bootstrap_tokens_of_other_secrets(changes: Any) -> None:
    """A secret of another type or namespace, or one that is being deleted, authenticates nobody."""
    informers = MemoryInformers()
    method = BootstrapTokens(ORCH, informers, wall=lambda: 1000.0, audiences=API)
    informers.put(ResourceRef("", "v1", "secrets"), {**bootstrap_secret(), **changes})
    assert result_of(method.authenticate_token("abc123.0123456789abcdef", API)) is None


class Refusing:
    """A method that refuses all credentials."""

    name = "refusing"

    async def authenticate(self, credentials: Credentials) -> Any:
        raise AuthenticationError("refused", {"why": "because"})


def test_a_method_after_one_that_refuses_is_asked() -> None:
    """A refusal ends no request that another method authenticates."""
    identity = result_of(chain(Refusing(), bearer()).authenticate(credentials("Bearer alice-token")))
    assert identity.user.name == "alice"
    with pytest.raises(ApiError) as caught:
        result_of(chain(Refusing(), bearer()).authenticate(credentials("")))
    assert caught.value.code == 401


@implementer(ITokenAuthenticator)
class OfIssuer:
    """Authenticates a user of its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def authenticate_token(self, token: str, audiences: Any) -> Any:
        return Authenticated(user=User(name=self.name))


def test_a_token_is_left_to_its_issuer() -> None:
    """The issuer that a token claims is asked; a token without one, or of another, is no token of these."""
    issuers = JwtIssuers()

    def ask(claims: bytes) -> str | None:
        token = f"e30.{base64.urlsafe_b64encode(claims).rstrip(b'=').decode()}.x"
        identity = result_of(issuers.authenticate_token(token, API))
        return None if identity is None else identity.user.name

    assert ask(b'{"iss":"https://one"}') is None
    issuers.methods = {"https://one": OfIssuer("one"), "https://two": OfIssuer("two")}
    assert [ask(b'{"iss":"https://one"}'), ask(b'{"iss":"https://two"}')] == ["one", "two"]
    assert [ask(b'{"iss":"https://three"}'), ask(b"{}"), ask(b"x")] == [None, None, None]
    issuers.methods = {"": OfIssuer("nameless")}
    assert ask(b"x") == "nameless"
