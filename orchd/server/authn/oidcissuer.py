"""An OpenID issuer: discovery, keys, and token verification (OpenID Connect Discovery 1.0, Core 1.0).

The issuer may be unreachable at start or later: discovery is retried until it succeeds. Keys are cached; a token with
an unknown key triggers a new fetch, unless the issuer declared a longer lifetime.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import responses
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

from twisted.internet.defer import DeferredSemaphore
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.errors import quoted
from orchd.kinds.gotext.values import json_name
from orchd.server.authn.jose import GOOGLE, GOOGLE_ALIAS, Key, Signed, TokenError, json_object, parse_signed, read_keys
from orchd.server.outbound.webhooks import WebhookClient, WebhookError, WebhookResponse
from orchd.txkit.log import Logger
from orchd.txkit.shared_call import SharedCall

#: Seconds between discovery attempts, and timeout of one request.
_AGAIN, _SECONDS = 10.0, 30.0
_MOST_BODY = 1024 * 1024
_MOST_REDIRECTS, _AT_ONCE = 10, 32
#: Keys that expire within this many seconds count as expired.
_EXPIRY_DELTA = 30.0
#: Tolerated clock skew in seconds for tokens that are not valid yet.
_LEEWAY = 60.0
#: A JSON number, which may be quoted in a claim.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MAX_AGE = re.compile(r"\bmax-age=(\d+)")


class Fetcher:
    """GETs from issuers, verified by `authority` (PEM; b"" uses the system's CAs)."""

    def __init__(self, calls: WebhookClient, authority: bytes) -> None:
        self._calls = calls
        self._authority = authority
        self._turns = DeferredSemaphore(_AT_ONCE)

    async def __call__(self, url: str, headers: Mapping[str, str] | None = None) -> WebhookResponse:
        """The response of any status, after redirects. Raises TokenError."""
        await self._turns.acquire()
        try:
            for _ in range(_MOST_REDIRECTS):
                response = await self._calls.call(
                    "GET", url, _SECONDS, authority=self._authority, headers=headers, limit=_MOST_BODY
                )
                to = response.headers.get("location", "")
                if response.code not in (301, 302, 303, 307, 308) or not to:
                    return response
                there = _redirect_target(url, to)
                if urlsplit(there).netloc != urlsplit(url).netloc:
                    # Credentials must not follow a redirect to another host.
                    headers = None
                url = there
            raise TokenError(f"Get {quoted(url)}: stopped after {_MOST_REDIRECTS} redirects")
        except WebhookError as error:
            raise TokenError(str(error)) from error
        finally:
            self._turns.release()


def _redirect_target(url: str, to: str) -> str:
    """The target of a redirect. Raises TokenError for an invalid URL, and for a downgrade from https."""
    try:
        there = urljoin(url, to)
        safe = urlsplit(there).scheme == "https" or urlsplit(url).scheme != "https"
    except ValueError as error:
        raise TokenError(f"Get {quoted(url)}: redirected to {quoted(to)}: {error}") from error
    if not safe:
        raise TokenError(f"Get {quoted(url)}: redirected to {quoted(there)}")
    return there


class IssuerMetrics(Protocol):
    """Metrics of token issuers."""

    def authenticated(self, issuer: str, ok: bool, seconds: float) -> None:
        """Record the authentication of a token of `issuer`."""

    def fetched(self, issuer: str, keys: bytes | None) -> None:
        """Record a fetch of the key set of `issuer`, None for one that failed."""


class NullIssuerMetrics:
    """Records nothing."""

    def authenticated(self, issuer: str, ok: bool, seconds: float) -> None:
        pass

    def fetched(self, issuer: str, keys: bytes | None) -> None:
        pass


NO_METRICS = NullIssuerMetrics()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Requirements of an issuer's tokens: for one of `audiences`, signed with one of `algorithms`."""

    audiences: tuple[str, ...]
    algorithms: tuple[str, ...] = ("RS256",)


class RemoteKeys:
    """The key set at a URL. `wall` returns epoch seconds; `fetched` is called with each key set, None for a failure."""

    def __init__(
        self,
        fetch: Fetcher,
        url: str,
        wall: Callable[[], float],
        fetched: Callable[[bytes | None], object] = lambda keys: None,
    ) -> None:
        self._told = fetched
        self._fetch = fetch
        self._url = url
        self._wall = wall
        self._keys: list[Key] = []
        self._expires = 0.0
        self._fetching: SharedCall[list[Key]] | None = None

    async def check(self, token: Signed) -> None:
        """Raises TokenError unless one of the keys signed `token`."""
        if _any_key_signed(self._keys, token):
            return
        if self._wall() + _EXPIRY_DELTA > self._expires:
            try:
                keys = await self._fetch_keys()
            except TokenError as error:
                raise TokenError(f"fetching keys {error}") from error
            if _any_key_signed(keys, token):
                return
        raise TokenError("failed to verify id token signature")

    async def _fetch_keys(self) -> list[Key]:
        if self._fetching is None:
            self._fetching = SharedCall(self._update, self._end)
        return await self._fetching.wait()

    def _end(self) -> None:
        self._fetching = None

    async def _update(self) -> list[Key]:
        try:
            data, keys = await self._read()
        except TokenError:
            self._told(None)
            raise
        self._told(data)
        return keys

    async def _read(self) -> tuple[bytes, list[Key]]:
        try:
            response = await self._fetch(self._url)
        except TokenError as error:
            raise TokenError(f"oidc: get keys failed {error}") from error
        if response.code != 200:
            raise TokenError(
                f"oidc: get keys failed: {status_line(response.code)} {response.data[:1024].decode('utf-8', 'replace')}"
            )
        try:
            keys = read_keys(json_object(response.data))
        except TokenError as error:
            raise TokenError(f"oidc: failed to decode keys: {error}") from error
        now = self._wall()
        self._keys, self._expires = keys, max(now, now + _fresh_for(response.headers, now))
        return response.data, keys


def _any_key_signed(keys: list[Key], token: Signed) -> bool:
    key_id = token.key_id
    return any(key.has_signed(token) for key in keys if not key_id or key.id == key_id)


def _fresh_for(headers: Mapping[str, str], now: float) -> float:
    """Freshness lifetime of a response in seconds (RFC 9111, 4.2.1); 0 if undeclared."""
    control = headers.get("cache-control", "").lower()
    if "no-store" in control or "no-cache" in control:
        return 0.0
    age = _MAX_AGE.search(control)
    if age is not None:
        return float(age.group(1))
    try:
        return parsedate_to_datetime(headers["expires"]).timestamp() - now
    except (KeyError, ValueError, TypeError, OverflowError):
        return 0.0


def status_line(code: int) -> str:
    """``404 Not Found``"""
    return f"{code} {responses.get(code, '')}".strip()


class Issuer:
    """One issuer. `discovery` is the URL of its discovery document, "" for the usual one; `wall` returns epoch seconds;
    `run` retries discovery until it succeeds."""

    _log = Logger()

    def __init__(
        self,
        fetch: Fetcher,
        url: str,
        rules: Rules,
        *,
        reactor: IReactorTime,
        wall: Callable[[], float],
        discovery: str = "",
        numbers: IssuerMetrics = NO_METRICS,
    ) -> None:
        self.url = url
        self._discovery = discovery or url.removesuffix("/") + "/.well-known/openid-configuration"
        self._fetch = fetch
        self._rules = rules
        self._reactor = reactor
        self._wall = wall
        self._numbers = numbers
        self._keys: RemoteKeys | None = None
        #: Why the last attempt of discovery failed, "" before it has.
        self.problem = ""

    @property
    def ready(self) -> bool:
        """True once discovery has succeeded."""
        return self._keys is not None

    async def run(self) -> None:
        """Returns when discovery has succeeded. Cancel to stop."""
        while True:
            try:
                self._keys = await self._discover()
                return
            except TokenError as error:
                self.problem = str(error)
                self._log.error("the OpenID issuer {url} is not ready: {error}", url=self.url, error=str(error))
            await deferLater(self._reactor, _AGAIN)

    async def _discover(self) -> RemoteKeys:
        response = await self._fetch(self._discovery)
        if response.code != 200:
            raise TokenError(f"{status_line(response.code)}: {response.data[:1024].decode('utf-8', 'replace')}")
        try:
            document = json_object(response.data)
        except TokenError as error:
            raise TokenError(f"oidc: failed to decode provider discovery object: {error}") from error
        named, keys = document.get("issuer"), document.get("jwks_uri")
        if named != self.url:
            raise TokenError(
                "oidc: issuer did not match the issuer returned by provider, "
                f"expected {quoted(self.url)} got {quoted(str(named or ''))}"
            )
        return RemoteKeys(self._fetch, str(keys or ""), self._wall, lambda data: self._numbers.fetched(self.url, data))

    async def verified(self, token: str) -> dict[str, Any]:
        """The claims of a token of this issuer. Raises TokenError."""
        assert self._keys is not None, "asked before it was ready"
        try:
            signed = parse_signed(token)
        except TokenError as error:
            raise TokenError(f"oidc: malformed jwt: {error}") from error
        try:
            claims = json_object(signed.payload)
            claimed = _mandatory_claims(claims)
        except TokenError as error:
            raise TokenError(f"oidc: failed to unmarshal claims: {error}") from error
        self._check_claims(claims, claimed)
        if signed.algorithm not in self._rules.algorithms:
            expected = _go_list(self._rules.algorithms)
            raise TokenError(
                f"oidc: id token signed with unsupported algorithm, expected {expected} got {quoted(signed.algorithm)}"
            )
        try:
            await self._keys.check(signed)
        except TokenError as error:
            raise TokenError(f"failed to verify signature: {error}") from error
        if len(self._rules.audiences) > 1:
            # In the reference several audiences are no business of the verifier.
            self._check_audience(claimed)
        return claims

    def _check_claims(self, claims: Mapping[str, Any], claimed: _Claimed) -> None:
        sources = claims.get("_claim_sources") or {}
        for source in (claims.get("_claim_names") or {}).values():
            if not source:
                raise TokenError("oidc: failed to obtain source from claim name")
            if source not in sources:
                raise TokenError("oidc: source does not exist")
        issuer = claimed.issuer
        if issuer != self.url and not (self.url == GOOGLE and issuer == GOOGLE_ALIAS):
            raise TokenError(
                f"oidc: id token issued by a different provider, expected {quoted(self.url)} got {quoted(issuer)}"
            )
        if len(self._rules.audiences) == 1:
            self._check_audience(claimed)
        now = self._wall()
        if claimed.expires is None or claimed.expires < now:
            raise TokenError(f"oidc: token is expired (Token Expiry: {_go_time(claimed.expires)})")
        if claimed.not_before is not None and now + _LEEWAY < claimed.not_before:
            raise TokenError(
                f"oidc: current time {_go_time(now)} before the nbf (not before) time: {_go_time(claimed.not_before)}"
            )

    def _check_audience(self, claimed: _Claimed) -> None:
        audiences = self._rules.audiences
        if not any(audience in claimed.audience for audience in audiences):
            expected = quoted(audiences[0]) if len(audiences) == 1 else f"in {_go_list(tuple(sorted(audiences)))}"
            raise TokenError(f"oidc: expected audience {expected} got {_go_list(claimed.audience)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claimed:
    issuer: str
    audience: tuple[str, ...]
    expires: float | None
    not_before: float | None


_TEXTS = ("iss", "sub", "nonce", "at_hash")


def _mandatory_claims(claims: Mapping[str, Any]) -> _Claimed:
    """The mandatory claims, with their types checked. Raises TokenError."""
    for name, value in claims.items():
        if name in _TEXTS and value is not None and not isinstance(value, str):
            raise TokenError(
                f"json: cannot unmarshal {json_name(value)} into Go struct field idToken.{name} of type string"
            )
        if name in ("_claim_names", "_claim_sources") and value is not None:
            _check_map(name, value)
        if name == "iat":
            _moment(value)
    return _Claimed(
        issuer=claims.get("iss") or "",
        audience=_audience(claims["aud"]) if "aud" in claims else (),
        expires=_moment(claims["exp"]) if "exp" in claims else None,
        not_before=_moment(claims["nbf"]) if claims.get("nbf") is not None else None,
    )


def _check_map(name: str, value: Any) -> None:
    """Check distributed claims: source by claim, and endpoint by source."""
    inner, go_type = (str, "map[string]string") if name == "_claim_names" else (dict, "map[string]oidc.claimSource")
    where = f"Go struct field idToken.{name} of type "
    if not isinstance(value, dict):
        raise TokenError(f"json: cannot unmarshal {json_name(value)} into {where}{go_type}")
    for each in value.values():
        if not isinstance(each, inner):
            type_name = "string" if inner is str else "oidc.claimSource"
            raise TokenError(f"json: cannot unmarshal {json_name(each)} into {where}{type_name}")


def _audience(value: Any) -> tuple[str, ...]:
    if value is None:
        return ("",)
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise TokenError(f"json: cannot unmarshal {json_name(value)} into Go value of type []string")
    for each in value:
        if each is not None and not isinstance(each, str):
            raise TokenError(f"json: cannot unmarshal {json_name(each)} into Go value of type string")
    return tuple(each or "" for each in value)


def _moment(value: Any) -> float:
    """Epoch seconds, as an integer."""
    if value is None:
        raise TokenError('strconv.ParseFloat: parsing "": invalid syntax')
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TokenError(f"json: cannot unmarshal {json_name(value)} into Go value of type json.Number")
    try:
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            raise ValueError
        seconds = float(value)
    except (ValueError, OverflowError):
        literal = quoted(str(value))
        raise TokenError(f"json: invalid number literal, trying to unmarshal {quoted(literal)} into Number") from None
    if seconds != seconds or seconds in (float("inf"), float("-inf")):
        raise TokenError(f"strconv.ParseFloat: parsing {quoted(str(value))}: value out of range")
    return float(int(seconds))


def _go_list(texts: tuple[str, ...]) -> str:
    return "[" + " ".join(quoted(text) for text in texts) + "]"


def _go_time(moment: float | None) -> str:
    if moment is None:
        return "0001-01-01 00:00:00 +0000 UTC"
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
    except (ValueError, OverflowError, OSError):
        return str(moment)
