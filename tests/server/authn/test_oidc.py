"""OpenID Connect tokens, with an issuer that the test plays."""

from __future__ import annotations

import base64
import json
from collections.abc import Coroutine, Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.dialect import ORCH
from orchd.kinds.expressions.stretches import Stretch
from orchd.kinds.users import User
from orchd.server.authn.claimexpressions import ClaimTexts
from orchd.server.authn.interfaces import Authenticated, AuthenticationError
from orchd.server.authn.jose import TokenError, parse_signed, read_keys
from orchd.server.authn.oidc import OidcOptions, OpenIdTokens, TokenServices, user_of
from orchd.server.authn.oidcissuer import Fetcher
from orchd.server.outbound.webhooks import WebhookError, WebhookResponse
from orchd.testing.doubles.results import result_of
from orchd.txkit.compute_thread import ComputeThread, current_flow
from orchd.txkit.coroutines import start
from tests.server.authn.rsa_keys import OTHER_RSA as OTHER
from tests.server.authn.rsa_keys import RSA

ISSUER = "https://issuer.example"
API = ("api",)
#: Evaluations that need not be quick.
ASIDE = Stretch(quick=False)
NOW = 1_900_000_000
P256, P384 = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())
CLAIMS = {"iss": ISSUER, "aud": "client", "sub": "alice", "exp": NOW + 600}


def sign(claims: Mapping[str, Any], key: Any = RSA, algorithm: str = "RS256", **header: Any) -> str:
    return jwt.PyJWS().encode(json.dumps(claims).encode(), key, algorithm, {"kid": "one", **header})


def jwk(key: Any, **more: Any) -> dict[str, Any]:
    kind = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return {**kind.to_jwk(key.public_key(), as_dict=True), **more}


class Web:
    """Responses by URL. A missing URL is a failed connection; a Deferred responds when it fires."""

    def __init__(self) -> None:
        self.pages: dict[str, Any] = {
            ISSUER + "/.well-known/openid-configuration": {"issuer": ISSUER, "jwks_uri": ISSUER + "/keys"},
            ISSUER + "/keys": {"keys": [jwk(RSA, kid="one")]},
        }
        self.asked: list[tuple[str, Mapping[str, str]]] = []

    async def call(self, method: str, url: str, seconds: float, **more: Any) -> WebhookResponse:
        assert method == "GET" and more["authority"] == b"ca" and more["limit"] <= 1 << 20
        self.asked.append((url, more["headers"] or {}))
        page = self.pages.get(url)
        if isinstance(page, Deferred):
            page = await page
        if page is None:
            raise WebhookError(f'Get "{url}": dial tcp: connection refused')
        if isinstance(page, WebhookResponse):
            return page
        return WebhookResponse(code=200, data=page.encode() if isinstance(page, str) else json.dumps(page).encode())

    def count(self, url: str) -> int:
        return sum(asked == url for asked, _ in self.asked)


class OidcBench:
    def __init__(self, web: Web | None = None, *, in_thread: Any = None, **options: Any) -> None:
        self.web = web or Web()
        self.clock = Clock()
        self.now = float(NOW)
        self.background: list[Deferred[Any]] = []
        self.tokens = OpenIdTokens(
            OidcOptions(**{"issuer": ISSUER, "audiences": ("client",), **options}),
            Fetcher(self.web, b"ca"),  # type: ignore[arg-type]  # as much of a client as is used
            audiences=API,
            services=TokenServices(
                reactor=self.clock, wall=lambda: self.now, background=self._keep, compute=ComputeThread(in_thread)
            ),
        )
        self.tokens.begin()

    def _keep(self, coro: Coroutine[Any, Any, object], name: str) -> None:
        self.background.append(start(coro))

    def ask(self, token: str) -> Authenticated | None:
        return result_of(self.tokens.authenticate_token(token, API))

    def error_of(self, token: str) -> str:
        with pytest.raises(AuthenticationError) as caught:
            self.ask(token)
        return str(caught.value)


# -- tokens


def test_valid_token_names_the_user() -> None:
    """The user is the subject; a valid token is accepted for this server's audience."""
    identity = OidcBench().ask(sign(CLAIMS))
    assert identity == Authenticated(user=User(name="alice"), audiences=API)


@pytest.mark.parametrize("text", [b'"a\\ud800"', b'"a\xff"', b'"a\\uDFFF"'])
def test_user_names_are_valid_unicode(text: bytes) -> None:
    """A claim with a lone surrogate or invalid UTF-8 gives a user name that audit events and reviews can encode."""
    payload = b'{"iss": "%b", "aud": "client", "exp": %d, "sub": %b, "groups": [%b]}' % (
        ISSUER.encode(),
        NOW + 600,
        text,
        text,
    )
    token = jwt.PyJWS().encode(payload, RSA, "RS256", {"kid": "one"})
    identity = OidcBench(groups_claim="groups").ask(token)
    assert identity is not None and identity.user == User(name="a\ufffd", groups=("a\ufffd",))


def test_surrogate_pairs_are_decoded() -> None:
    """An escaped surrogate pair is one character."""
    identity = OidcBench().ask(sign({**CLAIMS, "sub": "a\U0001f600"}))
    assert identity is not None and identity.user.name == "a\U0001f600"


@pytest.mark.parametrize("token", ["a", "a.b.c", "a..c", "é.é.é", sign({**CLAIMS, "iss": "https://other"}), sign({})])
def test_tokens_of_other_issuers_are_no_opinion(token: str) -> None:
    """A token of another issuer is left to other authenticators, without a request."""
    bench = OidcBench()
    assert bench.ask(token) is None
    assert bench.web.count(ISSUER + "/keys") == 0
    assert result_of(bench.tokens.authenticate_token(sign(CLAIMS), ("elsewhere",))) is None


VERIFY = "oidc: verify token: "


@pytest.mark.parametrize(("claims", "why"), [
    ({"aud": "x"}, 'oidc: expected audience "client" got ["x"]'),
    ({"aud": ["x", "y"]}, 'oidc: expected audience "client" got ["x" "y"]'),
    ({"aud": None}, 'oidc: expected audience "client" got [""]'),
    ({"aud": 3}, "oidc: failed to unmarshal claims: json: cannot unmarshal number into Go value of type []string"),
    ({"exp": NOW - 1}, "oidc: token is expired (Token Expiry: 2030-03-17 17:46:39 +0000 UTC)"),
    ({"exp": None}, 'oidc: failed to unmarshal claims: strconv.ParseFloat: parsing "": invalid syntax'),
    ({"exp": True}, "oidc: failed to unmarshal claims: json: cannot unmarshal bool into Go value of type json.Number"),
    ({"nbf": NOW + 61}, "oidc: current time 2030-03-17 17:46:40 +0000 UTC before the nbf (not before) time: 2030-03-17 17:47:41 +0000 UTC"),
    ({"sub": 3}, "oidc: failed to unmarshal claims: json: cannot unmarshal number into Go struct field idToken.sub of type string"),
    ({"iat": {}}, "oidc: failed to unmarshal claims: json: cannot unmarshal object into Go value of type json.Number"),
    ({"_claim_names": {"x": "nowhere"}}, "oidc: source does not exist"),
    ({"_claim_names": {"x": ""}}, "oidc: failed to obtain source from claim name"),
    ({"_claim_names": 3},
     "oidc: failed to unmarshal claims: json: cannot unmarshal number into Go struct field idToken._claim_names of type map[string]string"),
])  # fmt: skip
def test_invalid_claims_are_named(claims: dict[str, Any], why: str) -> None:
    """Claims are checked before the signature; the error names the claim."""
    assert OidcBench().error_of(sign({**CLAIMS, **claims})) == VERIFY + why


@pytest.mark.parametrize("audience", ["b", ["x", "a"]])
def test_any_configured_audience_is_accepted(audience: Any) -> None:
    """With several audiences a token must be for one of them; the error lists all."""
    bench = OidcBench(audiences=("b", "a"))
    assert bench.ask(sign({**CLAIMS, "aud": audience}))
    assert bench.error_of(sign({**CLAIMS, "aud": ["x"]})) == VERIFY + 'oidc: expected audience in ["a" "b"] got ["x"]'
    # Several audiences are looked at last, a single one before the expiry.
    assert bench.error_of(sign({**CLAIMS, "aud": "x", "exp": 1})).startswith(VERIFY + "oidc: token is expired")
    assert OidcBench().error_of(sign({**CLAIMS, "aud": "x", "exp": 1})).startswith(VERIFY + "oidc: expected audience")


def test_discovery_url_override() -> None:
    """The document is fetched from the discovery URL instead of the issuer's; its issuer must match."""
    web = Web()
    usual = ISSUER + "/.well-known/openid-configuration"
    web.pages["https://inside/doc"] = web.pages.pop(usual)
    bench = OidcBench(web, discovery="https://inside/doc")
    assert bench.ask(sign(CLAIMS)) and not bench.tokens.problem
    assert web.count(usual) == 0
    web.pages["https://inside/doc"] = {"issuer": "https://inside", "jwks_uri": ISSUER + "/keys"}
    other = OidcBench(web, discovery="https://inside/doc")
    assert other.error_of(sign(CLAIMS)) == "oidc: authenticator not initialized"
    assert other.tokens.problem.startswith(
        f'oidc: authenticator for issuer "{ISSUER}" is not healthy: oidc: issuer did not match'
    )


@pytest.mark.parametrize("text", ["1_9000000000", " 1900009999 ", "+1900009999", "inf", "\u0661900009999", ""])
def test_quoted_times_are_numbers(text: str) -> None:
    """A quoted time must be a JSON number; other texts that Python parses are rejected."""
    with pytest.raises(AuthenticationError, match="invalid number literal"):
        OidcBench().ask(sign({**CLAIMS, "exp": text}))
    assert OidcBench().ask(sign({**CLAIMS, "exp": "1900009999"})) is not None


def test_expiry_is_needed_and_may_be_a_fraction() -> None:
    """A token without an expiry is expired; times may be fractions and quoted; "not before" has a minute of leeway."""
    without = {k: v for k, v in CLAIMS.items() if k != "exp"}
    assert "Token Expiry: 0001-01-01 00:00:00 +0000 UTC" in OidcBench().error_of(sign(without))
    for exp in (NOW + 0.5, str(NOW + 1), NOW + 1e3):
        assert OidcBench().ask(sign({**CLAIMS, "exp": exp, "nbf": NOW + 60}))


def unsigned(header: Any, signature: str = "") -> str:
    parts = [json.dumps(header) if isinstance(header, dict) else header, json.dumps(CLAIMS)]
    return ".".join([*(base64.urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in parts), signature])


@pytest.mark.parametrize(("token", "why"), [
    (sign(CLAIMS, OTHER), "failed to verify signature: failed to verify id token signature"),
    (sign(CLAIMS, kid="two"), "failed to verify signature: failed to verify id token signature"),
    (sign(CLAIMS, "s" * 32, "HS256"), 'oidc: id token signed with unsupported algorithm, expected ["RS256"] got "HS256"'),
    (sign(CLAIMS, algorithm="RS512"), 'oidc: id token signed with unsupported algorithm, expected ["RS256"] got "RS512"'),
    (unsigned({"alg": "none"}), 'oidc: id token signed with unsupported algorithm, expected ["RS256"] got "none"'),
    (unsigned({}), 'oidc: id token signed with unsupported algorithm, expected ["RS256"] got ""'),
    (sign(CLAIMS, crit=["x"], x=1), "failed to verify signature: failed to verify id token signature"),
    (unsigned({"alg": "RS256"}, "a"), "oidc: malformed jwt: illegal base64 data at input byte 0"),
    (unsigned({"alg": "RS256"}, "a b"), "oidc: malformed jwt: illegal base64 data at input byte 1"),
])  # fmt: skip
def test_bad_signatures(token: str, why: str) -> None:
    """A wrong key, a wrong algorithm, no signature and malformed signatures are rejected."""
    assert OidcBench().error_of(token) == VERIFY + why


def test_token_without_a_key_id_is_tried_with_every_key() -> None:
    """A token without a key id is verified with every key."""
    assert OidcBench().ask(sign(CLAIMS, kid=""))


@pytest.mark.parametrize(("key", "algorithm"), [
    (RSA, "RS384"), (RSA, "PS256"), (P256, "ES256"), (P384, "ES384"),
])  # fmt: skip
def test_algorithms(key: Any, algorithm: str) -> None:
    """Each allowed algorithm verifies with a key of its type."""
    web = Web()
    web.pages[ISSUER + "/keys"] = {"keys": [jwk(OTHER, kid="one"), jwk(key, kid="one")]}
    assert OidcBench(web, algorithms=("RS256", algorithm)).ask(sign(CLAIMS, key, algorithm))


def test_keys_must_fit_the_algorithm() -> None:
    """An algorithm is tried only with keys for it."""
    token = parse_signed(sign(CLAIMS, P256, "ES256"))
    keys = read_keys({"keys": [jwk(RSA), jwk(P384), jwk(P256)]})
    assert [key.has_signed(token) for key in keys] == [False, False, True]


def test_keys_that_cannot_be_used_are_left_out() -> None:
    """Keys of other types and malformed keys in a set are ignored."""
    odd = [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}, {"kty": "RSA", "n": "", "e": "AQAB"}, {"kty": "EC"}, "x", {}]
    assert [key.id for key in read_keys({"keys": [*odd, jwk(RSA, kid="k")]})] == ["k"]
    with pytest.raises(TokenError):
        read_keys({"keys": {}})


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    ["aud", "exp", "nbf", "iat", "sub", "nonce", "groups", "email", "email_verified", "_claim_names", "_claim_sources"]
)


@given(st.dictionaries(_NAMES, _VALUES, max_size=4))
def test_any_claims_are_a_user_or_an_error(claims: dict[str, Any]) -> None:
    """Any signed claims give a user or an error with a message."""
    bench = OidcBench(elsewhere(), groups_claim="groups")
    try:
        identity = bench.ask(sign({**CLAIMS, **claims}))
    except AuthenticationError as error:
        assert str(error).startswith("oidc: ")
    else:
        assert identity is not None


@given(st.text(max_size=60), st.dictionaries(st.sampled_from(["alg", "kid", "crit", "typ"]), _VALUES, max_size=3))
def test_any_text_is_a_token_or_no_opinion(text: str, header: dict[str, Any]) -> None:
    """Text that is not a token is no opinion; any header without a valid signature is rejected."""
    bench = OidcBench()
    assert bench.ask(text) is None
    assert bench.error_of(unsigned(header, "AA")).startswith("oidc: verify token: ")


# -- the issuer and its keys


def test_unreachable_issuer_is_retried() -> None:
    """Tokens are rejected until the issuer responds; it is retried every ten seconds."""
    web = Web()
    url = ISSUER + "/.well-known/openid-configuration"
    page = web.pages.pop(url)
    bench = OidcBench(web)
    assert bench.error_of(sign(CLAIMS)) == "oidc: authenticator not initialized"
    for wrong in (WebhookResponse(code=503, data=b"later"), "{", {"issuer": ISSUER + "/", "jwks_uri": "x"}):
        web.pages[url] = wrong
        bench.clock.advance(10)
        assert bench.error_of(sign(CLAIMS)) == "oidc: authenticator not initialized"
    web.pages[url] = page
    bench.clock.advance(9)
    assert web.count(url) == 4
    bench.clock.advance(1)
    assert bench.ask(sign(CLAIMS))
    bench.clock.advance(100)
    assert web.count(url) == 5 and not bench.clock.getDelayedCalls()


def test_stop_ends_the_attempts() -> None:
    """A stopped server sends no more requests."""
    gone = Web()
    gone.pages.clear()
    bench = OidcBench(gone)
    bench.background[0].addErrback(lambda failure: None)
    bench.background[0].cancel()
    assert not bench.clock.getDelayedCalls()


def test_keys_are_fetched_again_for_an_unknown_key() -> None:
    """Keys are cached; a token with an unknown key causes another fetch."""
    bench = OidcBench()
    keys = ISSUER + "/keys"
    bench.ask(sign(CLAIMS))
    bench.ask(sign({**CLAIMS, "sub": "bob"}))
    assert bench.web.count(keys) == 1
    bench.web.pages[keys] = {"keys": [jwk(OTHER, kid="two")]}
    assert bench.ask(sign(CLAIMS, OTHER, kid="two"))
    assert bench.web.count(keys) == 2
    bench.error_of(sign(CLAIMS))
    assert bench.web.count(keys) == 3


@pytest.mark.parametrize(("headers", "fetched"), [
    ({"cache-control": "public, max-age=3600"}, 1),
    ({"expires": "Sun, 17 Mar 2030 18:46:40 GMT"}, 1),
    ({"cache-control": "max-age=20"}, 2),
    ({"cache-control": "no-store, max-age=3600"}, 2),
    ({"expires": "0"}, 2),
    ({}, 2),
])  # fmt: skip
def test_keys_are_cached_for_their_max_age(headers: dict[str, str], fetched: int) -> None:
    """The keys of an issuer that sends max-age are not fetched again before that."""
    web = Web()
    web.pages[ISSUER + "/keys"] = WebhookResponse(
        code=200, data=json.dumps({"keys": [jwk(RSA, kid="one")]}).encode(), headers=headers
    )
    bench = OidcBench(web)
    bench.ask(sign(CLAIMS))
    assert bench.error_of(sign(CLAIMS, OTHER))
    assert web.count(ISSUER + "/keys") == fetched


def test_concurrent_requests_share_a_key_fetch() -> None:
    """Requests that need keys at the same time share one fetch."""
    web = Web()
    page, waits = web.pages[ISSUER + "/keys"], Deferred()  # type: ignore[var-annotated]  # of whatever a page is
    web.pages[ISSUER + "/keys"] = waits
    bench = OidcBench(web)
    results: list[Any] = []
    for _ in range(5):
        start(bench.tokens.authenticate_token(sign(CLAIMS), API)).addBoth(results.append)
    assert not results
    waits.callback(page)
    assert [result.user.name for result in results] == ["alice"] * 5 and web.count(ISSUER + "/keys") == 1


@pytest.mark.parametrize(("page", "why"), [
    (None, f'oidc: get keys failed Get "{ISSUER}/keys": dial tcp: connection refused'),
    (WebhookResponse(code=500, data=b"oops"), "oidc: get keys failed: 500 Internal Server Error oops"),
    ({"keys": 3}, "oidc: failed to decode keys: there is no list of keys"),
])  # fmt: skip
def test_failed_key_fetch_is_retried(page: Any, why: str) -> None:
    """A failed fetch is an error, and the next token retries it."""
    web = Web()
    good, web.pages[ISSUER + "/keys"] = web.pages[ISSUER + "/keys"], page
    bench = OidcBench(web)
    assert bench.error_of(sign(CLAIMS)) == f"{VERIFY}failed to verify signature: fetching keys {why}"
    web.pages[ISSUER + "/keys"] = good
    assert bench.ask(sign(CLAIMS))


def redirect(to: str, code: int = 302) -> WebhookResponse:
    return WebhookResponse(code=code, data=b"", headers={"location": to})


def test_redirects_are_limited() -> None:
    """Redirects are followed up to a limit, never from https to http, and credentials are not sent to another host."""
    web = Web()
    fetch = Fetcher(web, b"ca")  # type: ignore[arg-type]  # as above
    web.pages = {"https://a/1": redirect("/2"), "https://a/2": redirect("https://b/3", 307), "https://b/3": {"x": 1}}
    assert result_of(fetch("https://a/1", {"Authorization": "Bearer x"})).code == 200
    assert [bool(headers) for _, headers in web.asked] == [True, True, False]
    web.pages = {"https://a/1": redirect("/1")}
    with pytest.raises(TokenError, match="stopped after 10 redirects"):
        result_of(fetch("https://a/1"))
    for to in ("http://a/1", "https://[a/1", "ftp://a/1"):
        web.pages = {"https://a/1": redirect(to)}
        with pytest.raises(TokenError, match="redirected to"):
            result_of(fetch("https://a/1"))


# -- claims


def test_long_expressions_are_evaluated_in_a_thread() -> None:
    """Expressions that cost more than some milliseconds leave the reactor's thread, for the subject of the token."""
    flows: list[str] = []

    async def in_thread(function: Any, *arguments: Any) -> Any:
        flows.append(current_flow.get())
        return function(*arguments)

    rule = ("dyn(claims.l).all(a, dyn(claims.l).all(b, a == b)) && claims.n < 5", "many")
    bench = OidcBench(expressions=ClaimTexts(extra={}, claim_rules=(rule,)).compile(ORCH), in_thread=in_thread)
    assert bench.ask(sign({**CLAIMS, "n": 1, "l": [1] * 5})) and not flows
    assert bench.ask(sign({**CLAIMS, "n": 1, "l": [1] * 100})) and flows == [f"{ISSUER} alice"]
    assert bench.error_of(sign({**CLAIMS, "n": 9, "l": [1] * 100})).endswith("failed: many") and len(flows) == 2
    assert current_flow.get() == ""


def options(**changes: Any) -> OidcOptions:
    return OidcOptions(**{"issuer": ISSUER, "audiences": ("c",), "groups_claim": "groups", **changes})


@pytest.mark.parametrize(("claims", "changes", "name", "groups"), [
    ({"sub": "a"}, {}, "a", ()),
    ({"sub": "a"}, {"username_prefix": "p#"}, "p#a", ()),
    ({"sub": None}, {"username_prefix": "p#"}, "p#", ()),
    ({"sub": "a", "name": "b"}, {"username_claim": "name"}, "b", ()),
    ({"email": "a@b"}, {"username_claim": "email"}, "a@b", ()),
    ({"email": "a@b", "email_verified": True}, {"username_claim": "email"}, "a@b", ()),
    ({"sub": "a", "email": "x", "email_verified": False}, {}, "a", ()),
    ({"sub": "a", "groups": ["x", "y"]}, {}, "a", ("x", "y")),
    ({"sub": "a", "groups": ["x", None]}, {"groups_prefix": "g:"}, "a", ("g:x", "g:")),
    ({"sub": "a", "groups": "solo"}, {"groups_prefix": "g:"}, "a", ("g:solo",)),
    ({"sub": "a", "groups": None}, {}, "a", ()),
    ({"sub": "a", "groups": ["x"], "roles": ["y"]}, {"groups_claim": "roles"}, "a", ("y",)),
    ({"sub": "a", "groups": ["x"]}, {"groups_claim": ""}, "a", ()),
    ({"sub": "a", "hd": "x,y"}, {"required": {"hd": "x,y"}}, "a", ()),
])  # fmt: skip
def test_user_name_and_groups_from_claims(
    claims: dict[str, Any], changes: dict[str, Any], name: str, groups: tuple[str, ...]
) -> None:
    """The user name and groups are claims with prefixes."""
    assert user_of(claims, options(**changes), ASIDE) == User(name=name, groups=groups)


def test_uid_and_extra_from_claims() -> None:
    """The uid is a claim; the token's id becomes an extra value if a key is configured."""
    claims = {"sub": "a", "oid": "7", "jti": "t1"}
    assert user_of(claims, options(), ASIDE) == User(name="a")
    assert user_of(claims, options(uid_claim="oid", credential_key="id"), ASIDE) == User(
        name="a", uid="7", extra={"id": ("JTI=t1",)}
    )
    assert user_of({"sub": "a", "jti": 3}, options(credential_key="id"), ASIDE) == User(name="a")


@pytest.mark.parametrize(("claims", "changes", "why"), [
    ({"sub": "a", "oid": 7}, {"uid_claim": "oid"}, 'parse uid claim "oid": json: cannot unmarshal number into Go value of type string'),
    ({"sub": "a"}, {"uid_claim": "oid"}, 'parse uid claim "oid": claim not present'),
    ({}, {}, 'parse username claims "sub": claim not present'),
    ({"sub": 3}, {}, 'parse username claims "sub": json: cannot unmarshal number into Go value of type string'),
    ({"email": "a", "email_verified": False}, {"username_claim": "email"}, "email not verified"),
    ({"email": "a", "email_verified": None}, {"username_claim": "email"}, "email not verified"),
    ({"email": "a", "email_verified": "true"}, {"username_claim": "email"},
     "parse 'email_verified' claim: json: cannot unmarshal string into Go value of type bool"),
    ({"sub": "a", "groups": 7}, {}, 'parse groups claim "groups": json: cannot unmarshal number into Go value of type string'),
    ({"sub": "a", "groups": [7]}, {}, 'parse groups claim "groups": json: cannot unmarshal array into Go value of type string'),
    ({"sub": "a", "groups": {}}, {}, 'parse groups claim "groups": json: cannot unmarshal object into Go value of type string'),
    ({"sub": "a"}, {"required": {"hd": "x"}}, "required claim hd not present in ID token"),
    ({"sub": "a", "hd": ["x"]}, {"required": {"hd": "x"}}, "parse claim hd: json: cannot unmarshal array into Go value of type string"),
    ({"sub": "a", "hd": "y"}, {"required": {"hd": "x"}}, "required claim hd value does not match. Got = y, want = x"),
])  # fmt: skip
def test_missing_claims_are_named(claims: dict[str, Any], changes: dict[str, Any], why: str) -> None:
    """Missing claims and claims of the wrong type are errors that name the claim."""
    with pytest.raises(TokenError) as caught:
        user_of(claims, options(**changes), ASIDE)
    assert str(caught.value) == why


# -- distributed claims

CLAIMS_ISSUER = "https://claims.example"


def distributed(endpoint: Any = f"{CLAIMS_ISSUER}/groups", **more: Any) -> dict[str, Any]:
    source = {"endpoint": endpoint, "access_token": "secret", **more}
    return {**CLAIMS, "_claim_names": {"groups": "src"}, "_claim_sources": {"src": source}}


def elsewhere(**more: Any) -> Web:
    web = Web()
    web.pages |= {
        f"{CLAIMS_ISSUER}/.well-known/openid-configuration": {
            "issuer": CLAIMS_ISSUER,
            "jwks_uri": f"{CLAIMS_ISSUER}/keys",
        },
        f"{CLAIMS_ISSUER}/keys": {"keys": [jwk(OTHER, kid="one")]},
        f"{CLAIMS_ISSUER}/groups": sign({**CLAIMS, "iss": CLAIMS_ISSUER, "groups": ["far"], **more}, OTHER),
    }
    return web


def test_groups_from_distributed_claims() -> None:
    """Groups may be fetched from an endpoint that the token names, with the credentials that it has for it."""
    bench = OidcBench(elsewhere(), groups_claim="groups", groups_prefix="g:")
    identity = bench.ask(sign(distributed()))
    assert identity is not None and identity.user.groups == ("g:far",)
    assert (f"{CLAIMS_ISSUER}/groups", {"Authorization": "Bearer secret"}) in bench.web.asked


def test_distributed_claims_issuer_is_initialized_on_use() -> None:
    """The issuer of distributed claims is initialized by the first token, and ready for later ones."""
    web = elsewhere()
    url = f"{CLAIMS_ISSUER}/.well-known/openid-configuration"
    page = web.pages.pop(url)
    bench = OidcBench(web, groups_claim="groups")
    assert bench.error_of(sign(distributed())) == (
        f"oidc: could not expand distributed claims: verifying untrusted issuer {CLAIMS_ISSUER} failed: "
        f'verifier not initialized for issuer: "{CLAIMS_ISSUER}"'
    )
    web.pages[url] = page
    bench.clock.advance(10)
    assert bench.ask(sign(distributed()))


@pytest.mark.parametrize("claims", [
    {**distributed(), "groups": ["near"]},
    {**CLAIMS, "groups": ["near"]},
    {**CLAIMS, "groups": ["near"], "_claim_names": {"other": "src"}, "_claim_sources": {"src": {}}},
])  # fmt: skip
def test_embedded_claims_are_not_fetched(claims: dict[str, Any]) -> None:
    """A claim that the token contains is not fetched."""
    bench = OidcBench(elsewhere(), groups_claim="groups")
    identity = bench.ask(sign(claims))
    assert identity is not None and identity.user.groups == ("near",)
    assert not bench.web.count(f"{CLAIMS_ISSUER}/groups")


def test_missing_distributed_claims_are_no_groups() -> None:
    """A source without an endpoint, or a claim name without a source, gives no groups; without a groups claim nothing
    is resolved."""
    bench = OidcBench(elsewhere(), groups_claim="groups")
    for claims in (distributed(endpoint=""), {**CLAIMS, "_claim_names": {}, "_claim_sources": {}}):
        identity = bench.ask(sign(claims))
        assert identity is not None and identity.user.groups == ()
    assert OidcBench(elsewhere()).ask(sign(distributed())) is not None


@pytest.mark.parametrize(("page", "why"), [
    (None, f'while getting distributed claim "groups": Get "{CLAIMS_ISSUER}/groups": dial tcp: connection refused'),
    (WebhookResponse(code=404, data=b""), 'while getting distributed claim "groups": error while getting distributed claim JWT: 404 Not Found'),
    ("hello", f'getting untrusted issuer from endpoint {CLAIMS_ISSUER}/groups failed for claim "groups": malformed token'),
    (sign({**CLAIMS, "iss": CLAIMS_ISSUER}, OTHER),
     f'jwt returned by distributed claim endpoint "{CLAIMS_ISSUER}/groups" did not contain claim: groups'),
    (sign({**CLAIMS, "iss": CLAIMS_ISSUER, "groups": []}),
     "verify distributed claim token: failed to verify signature: failed to verify id token signature"),
])  # fmt: skip
def test_failed_distributed_claims_are_errors(page: Any, why: str) -> None:
    """A failing endpoint, and an invalid token from it, are errors."""
    web = elsewhere()
    web.pages[f"{CLAIMS_ISSUER}/groups"] = page
    assert (
        OidcBench(web, groups_claim="groups").error_of(sign(distributed()))
        == f"oidc: could not expand distributed claims: {why}"
    )


def test_number_of_claims_issuers_is_bounded() -> None:
    """The number of issuers that claims can make the server contact is bounded."""
    web = elsewhere()
    bench = OidcBench(web, groups_claim="groups")
    for number in range(40):
        web.pages[f"{CLAIMS_ISSUER}/groups"] = sign({**CLAIMS, "iss": f"https://i{number}", "groups": []}, OTHER)
        assert "not initialized" in bench.error_of(sign(distributed()))
    assert len(bench.background) == 1 + 16


def _number(value: int) -> str:
    return base64.urlsafe_b64encode(value.to_bytes((value.bit_length() + 7) // 8, "big")).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("modulus", "exponent", "usable"),
    [(2048, 17, True), (8192, 32, True), (8200, 17, False), (3072, 33, False), (3072, 3000, False)],
)
def test_slow_keys_are_not_used(modulus: int, exponent: int, usable: bool) -> None:
    """Verification with a large modulus or exponent takes milliseconds for each key, with tokens of anybody."""
    n, e = 1 << (modulus - 1) | 1, 1 << (exponent - 1) | 1
    assert bool(read_keys({"keys": [{"kty": "RSA", "n": _number(n), "e": _number(e)}]})) is usable


def test_number_of_keys_is_bounded() -> None:
    """A token without a key id is compared with all keys of a set."""
    assert len(read_keys({"keys": [jwk(RSA)] * 1000})) == 100
