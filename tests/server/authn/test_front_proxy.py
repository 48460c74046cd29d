"""Request headers of a front proxy, and tokens in WebSocket subprotocols."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from orchd.dialect import ORCH
from orchd.kinds.users import User
from orchd.pki.certificates import CLIENT, chain_pem, issue_pair, new_authority, subject
from orchd.pki.verify import ClientVerifier
from orchd.server.authn.bearer import BearerTokens
from orchd.server.authn.frontproxy import FrontProxy, ProxyHeaders
from orchd.server.authn.interfaces import Authenticated, AuthenticationError, Credentials
from orchd.server.authn.tokenfile import TokenFile, parse_token_file
from orchd.server.authn.websockettoken import WebSocketTokens
from orchd.testing.doubles.results import result_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PROXIES, STRANGERS = new_authority("proxies", now=NOW), new_authority("others", now=NOW)
HEADERS = ProxyHeaders(
    username=("x-remote-user", "x-alt-user"),
    groups=("x-remote-group", "x-more-groups"),
    extra=("x-remote-extra-", "x-more-"),
    names=("proxy", "other-proxy"),
)


def certificate(name: str, authority: Any = PROXIES) -> tuple[bytes, ...]:
    pair = issue_pair(authority, subject(name), usages=(CLIENT,), now=NOW, lifetime=timedelta(hours=1))
    return (pair.certificate.public_bytes(Encoding.DER),)


PROXY = certificate("proxy")


def method(headers: ProxyHeaders = HEADERS) -> FrontProxy:
    return FrontProxy(ClientVerifier(chain_pem(PROXIES.certificate)), headers, wall=lambda: NOW.timestamp() + 60)


def ask(
    certificates: tuple[bytes, ...] = PROXY, by: FrontProxy | None = None, **headers: tuple[str, ...]
) -> Authenticated | None:
    named = {name.replace("_", "-"): values for name, values in headers.items()}
    return result_of((by or method()).authenticate(Credentials(headers=named, certificates=certificates)))


def test_user_comes_from_headers() -> None:
    """Name, groups and extra values come from headers, which are removed from the request."""
    found = ask(
        x_remote_user=("alice", "ignored"),
        x_alt_user=("alias",),
        x_remote_group=("a", "", "b"),
        x_more_groups=("c",),
        x_remote_extra_scopes=("one", "two"),
        x_other=("kept",),
    )
    assert found is not None
    assert found.user == User(name="alice", groups=("a", "b", "c"), extra={"scopes": ("one", "two"), "groups": ("c",)})
    assert set(found.consumed) == {
        "x-remote-user",
        "x-alt-user",
        "x-remote-group",
        "x-more-groups",
        "x-remote-extra-scopes",
    }


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("example.com%2fkey", "example.com/key"),
        ("a%2Fb%20c", "a/b c"),
        ("bad%zz", "bad%zz"),
        ("half%2fbad%", "half%2fbad%"),
        ("%e4%bd%a0", "你"),
        ("", ""),
    ],
)
def test_extra_header_names_are_unescaped(header: str, key: str) -> None:
    """Extra keys are percent-decoded; invalid escapes are kept literally."""
    headers = {"x-remote-user": ("alice",), f"x-remote-extra-{header}": ("v",)}
    identity = result_of(method().authenticate(Credentials(headers=headers, certificates=PROXY)))
    assert identity is not None and identity.user.extra == {key: ("v",)}


def test_extra_values_of_several_prefixes_are_joined() -> None:
    """Values of one key are joined in the order of the prefixes."""
    found = ask(x_remote_user=("alice",), x_more_k=("2",), x_remote_extra_k=("1",))
    assert found is not None and found.user.extra == {"k": ("1", "2")}


def test_first_non_empty_user_header_counts() -> None:
    """Headers without a value are skipped; without any value there is no opinion."""
    found = ask(x_remote_user=("",), x_alt_user=("alias",))
    assert found is not None and found.user.name == "alias"
    assert ask(x_remote_user=("",)) is None
    assert ask(x_remote_group=("system:masters",)) is None
    assert ask((), x_remote_user=("alice",)) is None


def test_only_allowed_proxies_are_trusted() -> None:
    """Only certificates of the proxy CA are accepted and, if names are configured, only those names."""
    assert ask(certificate("other-proxy"), x_remote_user=("alice",)) is not None
    with pytest.raises(AuthenticationError, match=r"^x509: subject with cn=someone is not in the allowed list$"):
        ask(certificate("someone"), x_remote_user=("alice",))
    with pytest.raises(AuthenticationError, match=r"^x509: "):
        ask(certificate("proxy", STRANGERS), x_remote_user=("alice",))
    anybody = method(ProxyHeaders(username=("x-remote-user",)))
    assert ask(certificate("someone"), by=anybody, x_remote_user=("alice",)) is not None


def test_proxy_of_a_removed_authority_is_refused() -> None:
    """A cached proxy certificate is rejected once its authority is removed."""
    proxy = method()
    assert ask(by=proxy, x_remote_user=("alice",)) is not None
    proxy.replace_authorities(ClientVerifier(chain_pem(STRANGERS.certificate)))
    with pytest.raises(AuthenticationError):
        ask(by=proxy, x_remote_user=("alice",))


PREFIX = ORCH("base64url.bearer.authorization.{abbr}.io.")


def protocol(token: str) -> str:
    return PREFIX + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


def upgrade(*protocols: str, **headers: tuple[str, ...]) -> Authenticated | None:
    bearer = BearerTokens(
        [TokenFile(parse_token_file("f", ["tokén,alice,1\n"]), audiences=("api",))], audiences=("api",)
    )
    shown = {
        "upgrade": ("WebSocket",),
        "connection": ("keep-alive, Upgrade",),
        **headers,
        "sec-websocket-protocol": protocols,
    }
    return result_of(WebSocketTokens(ORCH, bearer, audiences=("api",)).authenticate(Credentials(headers=shown)))


def test_websocket_protocol_token() -> None:
    """The token is removed from the list of subprotocols; the others stay."""
    found = upgrade(f"v4.channel, {protocol('tokén')}", "other")
    assert found is not None and found.user.name == "alice"
    assert "sec-websocket-protocol" in found.consumed
    assert found.instead == {"sec-websocket-protocol": ("v4.channel,other",)}
    assert upgrade("v4.channel") is None
    assert upgrade("a", protocol("tokén"), upgrade=("h2c",)) is None
    assert upgrade("a", protocol("tokén"), connection=("close",)) is None


@pytest.mark.parametrize(
    ("protocols", "why"),
    [
        ((protocol("tokén"),), "missing additional subprotocol"),
        (("a", protocol("x"), protocol("y")), "multiple base64.bearer.authorization tokens specified"),
        (("a", PREFIX + "%%"), "invalid base64.bearer.authorization token encoding"),
        (("a", PREFIX + "_w"), "invalid base64.bearer.authorization token"),
        (("a", protocol("wrong")), "invalid bearer token"),
        (("a," * 2000, protocol("token")), "too many subprotocols"),
    ],
)
def test_invalid_websocket_protocol_tokens(protocols: tuple[str, ...], why: str) -> None:
    """The request needs exactly one decodable and valid token, and another subprotocol."""
    with pytest.raises(AuthenticationError) as caught:
        upgrade(*protocols)
    assert str(caught.value) == why


def test_user_id_comes_from_its_header() -> None:
    """The first header of user IDs that has a value counts, and is removed from the request."""
    proxy = method(ProxyHeaders(username=("x-remote-user",), uid=("x-remote-uid", "x-alt-uid")))
    found = ask(by=proxy, x_remote_user=("alice",), x_alt_uid=("7",))
    assert found is not None and found.user.uid == "7" and "x-alt-uid" in found.consumed
    without = ask(x_remote_user=("alice",), x_remote_uid=("7",))
    assert without is not None and without.user.uid == ""
