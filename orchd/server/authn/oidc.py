"""OpenID tokens as bearer tokens: claims become a user (specification, "OpenID Connect Tokens")."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from orchd.errors import quoted
from orchd.kinds.expressions.stretches import LongEvaluationError, Stretch
from orchd.kinds.gotext.values import json_name
from orchd.kinds.users import User
from orchd.server.authn.claimexpressions import ClaimExpressions, TokenEvaluation
from orchd.server.authn.distributedclaims import DistributedClaims
from orchd.server.authn.interfaces import Authenticated, AuthenticationError, ITokenAuthenticator
from orchd.server.authn.jose import TokenError, claimed_issuer
from orchd.server.authn.oidcissuer import NO_METRICS, Fetcher, Issuer, IssuerMetrics, Rules
from orchd.txkit.compute_thread import LARGE, ComputeThread, current_flow


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """Claim mapping. Prefixes are prepended to claim values; `groups_claim` "" means no groups, `uid_claim` "" no uid.
    `discovery` is the URL of the issuer's discovery document, "" for the usual one. With `credential_key`, the id of a
    token is an extra attribute of the user under this key."""

    issuer: str
    audiences: tuple[str, ...]
    discovery: str = ""
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    uid_claim: str = ""
    credential_key: str = ""
    required: Mapping[str, str] = field(default_factory=dict)
    #: Instead of claims, and besides them.
    expressions: ClaimExpressions = field(default_factory=ClaimExpressions)
    algorithms: tuple[str, ...] = ("RS256",)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenServices:
    """`wall` returns epoch seconds; `background` runs issuer discovery between requests; `compute` evaluates long
    expressions."""

    reactor: IReactorTime
    wall: Callable[[], float]
    background: Callable[[Coroutine[Any, Any, object], str], object]
    compute: ComputeThread


@implementer(ITokenAuthenticator)
class OpenIdTokens:
    """Tokens of one issuer, valid for `audiences` (those of this API server) whatever their own."""

    name = "oidc"

    def __init__(
        self,
        options: OidcOptions,
        fetch: Fetcher,
        *,
        audiences: Sequence[str],
        services: TokenServices,
        numbers: IssuerMetrics = NO_METRICS,
    ) -> None:
        reactor, wall = services.reactor, services.wall
        self._numbers, self._clock = numbers, reactor.seconds
        self._options, self._compute = options, services.compute
        self._audiences = frozenset(audiences)
        rules = Rules(audiences=options.audiences, algorithms=options.algorithms)

        def issuer(url: str, discovery: str = "") -> Issuer:
            # Issuers of distributed claims are named in tokens.
            counted = numbers if url == options.issuer else NO_METRICS
            issuer_ = Issuer(fetch, url, rules, reactor=reactor, wall=wall, discovery=discovery, numbers=counted)
            services.background(issuer_.run(), f"reaching for {url}")
            return issuer_

        self._make_issuer = issuer
        self._issuer: Issuer | None = None
        self._distributed = DistributedClaims(options.groups_claim, fetch, issuer) if options.groups_claim else None

    @property
    def url(self) -> str:
        """The issuer."""
        return self._options.issuer

    def begin(self) -> None:
        """Begin issuer discovery."""
        self._issuer = self._make_issuer(self._options.issuer, self._options.discovery)

    @property
    def problem(self) -> str:
        """Why no token can be verified yet, "" once issuer discovery has succeeded."""
        issuer = self._issuer
        if issuer is not None and issuer.ready:
            return ""
        why = "is not initialized" if issuer is None or not issuer.problem else f"is not healthy: {issuer.problem}"
        return f"oidc: authenticator for issuer {quoted(self._options.issuer)} {why}"

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        good = tuple(a for a in audiences if a in self._audiences)
        if (audiences and not good) or claimed_issuer(token) != self._options.issuer:
            return None
        began = self._clock()
        ok = False
        try:
            user = await self._user(token)
            ok = True
        finally:
            self._numbers.authenticated(self._options.issuer, ok, self._clock() - began)
        return Authenticated(user=user, audiences=good)

    async def _user(self, token: str) -> User:
        """The user of a token of this issuer. Raises AuthenticationError."""
        issuer = self._issuer
        if issuer is None or not issuer.ready:
            raise AuthenticationError("oidc: authenticator not initialized")
        try:
            claims = await issuer.verified(token)
        except TokenError as error:
            raise AuthenticationError(f"oidc: verify token: {error}") from error
        if self._distributed is not None:
            try:
                claims = await self._distributed.resolve(claims)
            except TokenError as error:
                raise AuthenticationError(f"oidc: could not expand distributed claims: {error}") from error
        try:
            return await self._mapped(claims)
        except TokenError as error:
            raise AuthenticationError(f"oidc: {error}") from error

    async def _mapped(self, claims: Mapping[str, Any]) -> User:
        """The user in verified claims. Long expressions of several subjects take turns. Raises TokenError."""
        try:
            return user_of(claims, self._options, Stretch(quick=True))
        except LongEvaluationError:
            outer = current_flow.get()
            current_flow.set(f"{self.url} {claims.get('sub')}")
            try:
                return await self._compute(LARGE + 1, user_of, claims, self._options, Stretch(quick=False))
            finally:
                current_flow.set(outer)


def user_of(claims: Mapping[str, Any], options: OidcOptions, stretch: Stretch) -> User:
    """The user in verified claims. Raises TokenError, and LongEvaluationError if `stretch` is a quick one."""
    evaluation = TokenEvaluation(options.expressions, claims, stretch)
    name = _username(claims, options, evaluation)
    groups = _groups(claims, options, evaluation)
    uid = _uid(claims, options, evaluation)
    token_id = claims.get("jti") if options.credential_key else None
    extra: dict[str, tuple[str, ...]] = {}
    if isinstance(token_id, str) and token_id:
        extra[options.credential_key] = (f"JTI={token_id}",)
    extra |= evaluation.extra()
    _check_required(claims, options)
    evaluation.check_claims()
    user = User(name=name, uid=uid, groups=groups, extra=extra)
    evaluation.check_user(user)
    return user


def _username(claims: Mapping[str, Any], options: OidcOptions, evaluation: TokenEvaluation) -> str:
    if options.expressions.username is not None:
        return evaluation.username(options.expressions.username)
    claim = options.username_claim
    try:
        name = _text(claims, claim)
    except TokenError as error:
        raise TokenError(f"parse username claims {quoted(claim)}: {error}") from error
    if claim == "email" and "email_verified" in claims:
        verified = claims["email_verified"]
        if verified is not None and not isinstance(verified, bool):
            why = f"json: cannot unmarshal {json_name(verified)} into Go value of type bool"
            raise TokenError(f"parse 'email_verified' claim: {why}")
        if not verified:
            raise TokenError("email not verified")
    return options.username_prefix + name


def _groups(claims: Mapping[str, Any], options: OidcOptions, evaluation: TokenEvaluation) -> tuple[str, ...]:
    if options.groups_claim and options.groups_claim in claims:
        try:
            groups = _texts(claims[options.groups_claim])
        except TokenError as error:
            raise TokenError(f"parse groups claim {quoted(options.groups_claim)}: {error}") from error
        return tuple(options.groups_prefix + group for group in groups)
    expression = options.expressions.groups
    return () if expression is None else evaluation.groups(expression)


def _uid(claims: Mapping[str, Any], options: OidcOptions, evaluation: TokenEvaluation) -> str:
    if options.uid_claim:
        try:
            return _text(claims, options.uid_claim)
        except TokenError as error:
            raise TokenError(f"parse uid claim {quoted(options.uid_claim)}: {error}") from error
    expression = options.expressions.uid
    return "" if expression is None else evaluation.uid(expression)


def _check_required(claims: Mapping[str, Any], options: OidcOptions) -> None:
    for required, value in options.required.items():
        if required not in claims:
            raise TokenError(f"required claim {required} not present in ID token")
        try:
            actual = _text(claims, required)
        except TokenError as error:
            raise TokenError(f"parse claim {required}: {error}") from error
        if actual != value:
            raise TokenError(f"required claim {required} value does not match. Got = {actual}, want = {value}")


def _text(claims: Mapping[str, Any], name: str) -> str:
    if name not in claims:
        raise TokenError("claim not present")
    value = claims[name]
    if value is None or isinstance(value, str):
        return value or ""
    raise TokenError(f"json: cannot unmarshal {json_name(value)} into Go value of type string")


def _texts(value: Any) -> tuple[str, ...]:
    """A list of strings, or a single one."""
    if value is None:
        return ()
    if isinstance(value, list) and all(each is None or isinstance(each, str) for each in value):
        return tuple(each or "" for each in value)
    if isinstance(value, str):
        return (value,)
    raise TokenError(f"json: cannot unmarshal {json_name(value)} into Go value of type string")
