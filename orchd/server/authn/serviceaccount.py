"""Service account tokens: authentication and issuing.

A token is valid while its account, and the pod or secret to which it is bound, exist with the uid in the token;
deleting one of them revokes the token immediately. Legacy tokens are stored in a secret of the account's namespace.
Error texts are recorded facts: TokenReview shows them.
"""

from __future__ import annotations

import base64
import hmac
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from zope.interface import implementer

from orchd.client.interfaces import IClient, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.times import seconds_of
from orchd.kinds.users import SERVICE_ACCOUNT_PREFIX, SERVICE_ACCOUNTS_GROUP, User
from orchd.server.authn.extrakeys import credential_key
from orchd.server.authn.interfaces import Authenticated, AuthenticationError, ITokenAuthenticator
from orchd.server.authn.signedtokens import Signer, Verifier, unverified_claims
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Counter

_log = Logger()
ACCOUNTS = ResourceRef("", "v1", "serviceaccounts")
SECRETS = ResourceRef("", "v1", "secrets")
PODS = ResourceRef("", "v1", "pods")
NODES = ResourceRef("", "v1", "nodes")
#: Tolerated clock skew in seconds.
LEEWAY = 60
#: Default lifetime of projected tokens; it is extended, see `TokenIssuer`.
PROJECTED_SECONDS = 3607
EXTENDED_SECONDS = 365 * 24 * 3600
_INVALIDATED = "service account token has been invalidated"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """Rules of tokens. All but `lookup`, which False accepts legacy tokens without reading their secret
    (--service-account-lookup), differ between releases:

    `tracked`: the use of legacy tokens is recorded in labels of their secrets, and those that a label marks are
    refused. `identified`: tokens have an ID (claim ``jti``), which is the credential ID of their users. `located`:
    tokens are bound to nodes, and those of pods name the pod's node. `perpetual`: a token without expiration does not
    expire; otherwise it is rejected. `expired` and `early` are the errors for a token outside of its time, `future`
    that for one that was issued later ("": it is accepted), and `nameless` that for one without an account.
    `uid_first`: of a deleted object with another uid, the uid is the error. `any_audience`: the lifetime of a pod's
    token is extended whatever its audience."""

    lookup: bool = True
    identified: bool = False
    located: bool = False
    perpetual: bool = False
    tracked: bool = False
    expired: str = "token has expired"
    early: str = "token is not valid yet"
    future: str = ""
    nameless: str = "service account claims are missing"
    uid_first: bool = False
    any_audience: bool = True

    @classmethod
    def of(cls, release: Release) -> TokenRules:
        """The rules of a release."""
        return release.choose(
            (
                ("", TokenRules()),
                (
                    "1.30",
                    TokenRules(
                        identified=True,
                        located=True,
                        any_audience=False,
                        perpetual=True,
                        tracked=True,
                        expired="service account token has expired",
                        early="service account token is not valid yet",
                        future="service account token is issued in the future",
                        nameless="resource name may not be empty",
                        uid_first=True,
                    ),
                ),
            )
        )


_GENERATED: Final = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of "
    "auto-generated secret-based tokens."
)
#: The rules of the specification's release.
_SPECIFIED = TokenRules.of(SPECIFICATION)


def credential_of(identifier: str) -> str:
    """The credential ID of the user of a token with this ID."""
    return f"JTI={identifier}"


def _list_audiences(audiences: Sequence[str]) -> str:
    return "[" + " ".join(f'"{a}"' for a in audiences) + "]"


def _number(value: Any) -> float | None:
    """A finite number, None for any other JSON value."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _deleted_before(obj: Object, moment: float) -> bool:
    since = seconds_of(obj["metadata"].get("deletionTimestamp"))
    return since is not None and since < moment


class AccountObjects:
    """The objects that tokens are bound to: accounts, secrets, pods and nodes. `client` reads those that the informers
    lack, so that a new account's token is valid at once; None uses informers only."""

    def __init__(self, informers: IInformers, client: IClient | None = None) -> None:
        self._informers = {ref: informers.informer(ref) for ref in (ACCOUNTS, SECRETS, PODS, NODES)}
        self._client = client

    async def find(self, ref: ResourceRef, namespace: str, name: str) -> Object | None:
        """The object; None if it does not exist. Raises AuthenticationError if it cannot be read."""
        obj = self._informers[ref].get(namespace, name)
        if obj is not None or self._client is None:
            return obj
        try:
            current: Object = await self._client.get(ref, namespace, name)
        except ApiError as error:
            if error.code != 404:
                raise AuthenticationError(error.message) from error
            return None
        return current

    async def label(self, secret: Object, labels: Mapping[str, str]) -> None:
        """Add labels to a secret. Failures are logged; nothing happens without a client."""
        if self._client is None:
            return
        metadata = {"uid": secret["metadata"].get("uid"), "labels": dict(labels)}
        namespace, name = fields.namespace(secret), fields.name(secret)
        try:
            await self._client.patch(
                SECRETS, namespace, name, {"metadata": metadata}, content_type="application/merge-patch+json"
            )
        except ApiError as error:
            _log.warn(
                "failed to record the use of the token in secret {namespace}/{name}: {why}",
                namespace=namespace, name=name, why=error.message,
            )  # fmt: skip


@implementer(ITokenAuthenticator)
class ServiceAccountTokens:
    """`issuers`: the first issues tokens, all are accepted. `audiences` are those of this API server.

    `wall` returns epoch seconds.
    """

    name = "serviceaccount"

    def __init__(
        self,
        dialect: Dialect,
        verifier: Verifier,
        objects: AccountObjects,
        *,
        issuers: Sequence[str],
        audiences: Sequence[str],
        wall: Callable[[], float],
        rules: TokenRules = _SPECIFIED,
    ) -> None:
        self._rules = rules
        self._verifier = verifier
        self._issuers = frozenset(issuers)
        self._audiences = tuple(audiences)
        self._wall = wall
        self._objects = objects
        self._private = dialect("{long}.io")
        self._legacy_issuer = dialect("{long}/serviceaccount")
        self._legacy = dialect("{long}.io/serviceaccount/")
        self._pod_extra = dialect("authentication.{long}.io/pod-name"), dialect("authentication.{long}.io/pod-uid")
        self._node_extra = dialect("authentication.{long}.io/node-name"), dialect("authentication.{long}.io/node-uid")
        self._credential = credential_key(dialect)
        self._legacy_uses = Counter(
            "serviceaccount_legacy_tokens_total", "Uses of service account tokens from secrets."
        )
        self._stale_uses = Counter(
            "serviceaccount_stale_tokens_total", "Uses of projected service account tokens after their renewal time."
        )
        self._valid_uses = Counter(
            "serviceaccount_valid_tokens_total", "Uses of projected service account tokens before their renewal time."
        )
        self._generated_uses = Counter(
            "serviceaccount_legacy_auto_token_uses_total", "Uses of service account tokens from generated secrets."
        )
        self._manual_uses = Counter(
            "serviceaccount_legacy_manual_token_uses_total", "Uses of service account tokens from secrets made by hand."
        )
        self._invalid_uses = Counter(
            "serviceaccount_invalid_legacy_auto_token_uses_total",
            "Attempts to use service account tokens from generated secrets that were marked as invalid.",
        )
        tracked = (self._generated_uses, self._manual_uses, self._invalid_uses) if rules.tracked else ()
        #: Metrics.
        self.instruments = (self._legacy_uses, self._stale_uses, self._valid_uses, *tracked)
        self._stale = dialect("authentication.{abbr}.io/stale-token")
        self._last_used = dialect("{long}.io/legacy-token-last-used")
        self._invalid_since = dialect("{long}.io/legacy-token-invalid-since")
        self._refused = dialect("authentication.{abbr}.io/legacy-token-invalidated")
        self._used = dialect("authentication.{abbr}.io/legacy-token")
        self._generated = dialect("authentication.{abbr}.io/legacy-token-autogenerated-secret")
        self._manual = dialect("authentication.{abbr}.io/legacy-token-manual-secret")

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        claims = self._verifier.cached_claims(token)
        if claims is None:
            unverified = unverified_claims(token)
            issuer = unverified.get("iss") if unverified else None
            if not isinstance(issuer, str) or (issuer not in self._issuers and issuer != self._legacy_issuer):
                return None
            claims = self._verifier.verify(token)
        issuer = claims.get("iss")
        good = self._good_audiences(claims, audiences or self._audiences)
        if issuer == self._legacy_issuer:
            legacy = await self._validate_legacy(token, claims)
            self._legacy_uses.add()
            return replace(legacy, audiences=good)
        user = await self._validate(claims)
        return Authenticated(user=user, audiences=good, annotations=self._annotations(claims))

    def _good_audiences(self, claims: Mapping[str, Any], asked: Sequence[str]) -> tuple[str, ...]:
        held = claims.get("aud") or ()
        held = [held] if isinstance(held, str) else list(held)
        held = held or list(self._audiences)
        good = tuple(a for a in asked if a in held)
        if not good and self._audiences:
            raise AuthenticationError(
                f"token audiences {_list_audiences(held)} is invalid for the target audiences {_list_audiences(asked)}"
            )
        return good

    async def _validate(self, claims: Mapping[str, Any]) -> User:
        now = self._wall()
        self._check_times(claims, now)
        private = claims.get(self._private)
        if not isinstance(private, dict) or not isinstance(private.get("serviceaccount"), dict):
            raise AuthenticationError(self._rules.nameless)
        namespace = str(private.get("namespace", ""))
        account = private["serviceaccount"]
        name, uid = str(account.get("name", "")), str(account.get("uid", ""))
        current = await self._objects.find(ACCOUNTS, namespace, name)
        if current is None:
            raise AuthenticationError(f'serviceaccounts "{name}" not found')
        has = current["metadata"].get("uid", "")
        deleted = f"service account {namespace}/{name} has been deleted"
        self._check_named(current, uid, now, deleted, f"service account UID ({has}) does not match claim ({uid})")
        await self._check_bound(SECRETS, "secret", private.get("secret"), namespace, now)
        pod = private.get("pod")
        await self._check_bound(PODS, "pod", pod, namespace, now)
        extra: dict[str, tuple[str, ...]] = {}
        if isinstance(pod, dict):
            extra = dict(zip(self._pod_extra, ((str(pod.get("name", "")),), (str(pod.get("uid", "")),)), strict=True))
        if self._rules.identified and claims.get("jti"):
            extra[self._credential] = (credential_of(str(claims["jti"])),)
        if self._rules.located:
            node = private.get("node")
            if pod is None:
                await self._check_bound(NODES, "node", node, "", now)
            if isinstance(node, dict):
                named = zip(self._node_extra, (node.get("name"), node.get("uid")), strict=True)
                extra.update((key, (str(value),)) for key, value in named if value)
        return _user(namespace, name, uid, extra)

    def _check_times(self, claims: Mapping[str, Any], now: float) -> None:
        """Raises AuthenticationError for a token that is not valid now."""
        expires, begins = _number(claims.get("exp")), _number(claims.get("nbf") or 0)
        if begins is None or now + LEEWAY < begins:
            raise AuthenticationError(self._rules.early)
        unlimited = self._rules.perpetual and claims.get("exp") is None
        if not unlimited and (expires is None or now - LEEWAY > expires):
            raise AuthenticationError(self._rules.expired)
        issued = _number(claims.get("iat") or 0)
        if self._rules.future and (issued is None or now + LEEWAY < issued):
            raise AuthenticationError(self._rules.future)

    async def _check_bound(self, ref: ResourceRef, what: str, claim: Any, namespace: str, now: float) -> None:
        if not isinstance(claim, dict):
            return
        obj = await self._objects.find(ref, namespace, str(claim.get("name", "")))
        if obj is None:
            raise AuthenticationError(_INVALIDATED)
        has, claimed = obj["metadata"].get("uid", ""), claim.get("uid", "")
        mismatch = f"{what} UID ({has}) does not match service account {what} ref claim ({claimed})"
        self._check_named(obj, claimed, now, _INVALIDATED, mismatch)

    def _check_named(self, obj: Object, uid: Any, now: float, deleted: str, mismatch: str) -> None:
        """Raises AuthenticationError with one of the two texts unless an object that a token names exists and has its
        uid."""
        faults = [(deleted, _deleted_before(obj, now - LEEWAY)), (mismatch, obj["metadata"].get("uid", "") != uid)]
        if self._rules.uid_first:
            faults.reverse()
        for why, wrong in faults:
            if wrong:
                raise AuthenticationError(why)

    async def _validate_legacy(self, token: str, claims: Mapping[str, Any]) -> Authenticated:
        subject = claims.get("sub")
        if not subject:
            raise AuthenticationError("sub claim is missing")
        values = []
        for key, claim_name in (
            ("namespace", "namespace"),
            ("secret.name", "secretName"),
            ("service-account.name", "serviceAccountName"),
            ("service-account.uid", "serviceAccountUID"),
        ):
            value = claims.get(self._legacy + key)
            if not value or not isinstance(value, str):
                raise AuthenticationError(f"{claim_name} claim is missing")
            values.append(value)
        namespace, secret_name, name, uid = values
        if subject != f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}":
            raise AuthenticationError("sub claim is invalid")
        if self._rules.lookup:
            secret = await self._objects.find(SECRETS, namespace, secret_name)
            if secret is None or secret["metadata"].get("deletionTimestamp"):
                raise AuthenticationError("Token has been invalidated")
            held = base64.b64decode((secret.get("data") or {}).get("token", ""))
            if not hmac.compare_digest(held, token.encode()):
                raise AuthenticationError("Token does not match server's copy")
            account = await self._objects.find(ACCOUNTS, namespace, name)
            if account is None:
                raise AuthenticationError(f'serviceaccounts "{name}" not found')
            if account["metadata"].get("deletionTimestamp"):
                raise AuthenticationError(f"ServiceAccount {namespace}/{name} has been deleted")
            has = account["metadata"].get("uid", "")
            if has != uid:
                raise AuthenticationError(f"ServiceAccount UID ({has}) does not match claim ({uid})")
            if self._rules.tracked:
                return await self._track(_user(namespace, name, uid, {}), secret, account)
        return Authenticated(user=_user(namespace, name, uid, {}))

    async def _track(self, user: User, secret: Object, account: Object) -> Authenticated:
        """The user of a token from a secret, whose use is recorded in a label. Raises AuthenticationError for one that
        the cleaner has marked."""
        called, key = secret["metadata"]["name"], self._invalid_since
        await self._record_use(secret)
        if fields.labels(secret).get(key):
            self._invalid_uses.add()
            place = f"{fields.namespace(secret)}/{called}"
            whose = f"{fields.namespace(account)}/{fields.name(account)}"
            raise AuthenticationError(
                f"the token in secret {place} for service account {whose} has been marked invalid. Use tokens from the "
                f"TokenRequest API or manually created secret-based tokens, or remove the '{key}' label from the "
                "secret to temporarily allow use of this token",
                {self._refused: f"{called}/{fields.namespace(secret)}"},
            )
        annotations = {self._used: user.name}
        if any(each.get("name") == called for each in account.get("secrets") or ()):
            self._generated_uses.add()
            return Authenticated(
                user=user, warnings=(_GENERATED,), annotations={**annotations, self._generated: called}
            )
        self._manual_uses.add()
        return Authenticated(user=user, annotations={**annotations, self._manual: called})

    async def _record_use(self, secret: Object) -> None:
        """Label a secret with the date of today, unless it has that or the next one: clocks of servers differ."""
        today = datetime.fromtimestamp(self._wall(), UTC).date()
        if fields.labels(secret).get(self._last_used) not in (str(today), str(today + timedelta(days=1))):
            await self._objects.label(secret, {self._last_used: str(today)})

    def _annotations(self, claims: Mapping[str, Any]) -> Mapping[str, str] | None:
        """Audit annotations for a projected token used after its requested lifetime."""
        warn = _number((claims.get(self._private) or {}).get("warnafter"))
        if not warn:
            return None
        late = self._wall() - warn
        if late <= 0:
            self._valid_uses.add()
            return None
        self._stale_uses.add()
        return {self._stale: f"subject: {claims.get('sub', '')}, seconds after warning threshold: {int(late)}"}


def _user(namespace: str, name: str, uid: str, extra: Mapping[str, tuple[str, ...]]) -> User:
    return User(
        name=f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}",
        uid=uid,
        groups=(SERVICE_ACCOUNTS_GROUP, f"{SERVICE_ACCOUNTS_GROUP}:{namespace}"),
        extra=extra,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A token, the expiration time reported to the client (epoch seconds), and the credential ID of its user (""
    without)."""

    token: str
    expires: int
    credential: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """`extend`: projected tokens of pods live a year, of `any_audience` or only those for this API server;
    `max_seconds` 0 means no limit."""

    extend: bool = True
    any_audience: bool = False
    max_seconds: int = 0


_USUAL_LIFETIMES = Lifetimes()


class TokenIssuer:
    """Issues bound tokens for the TokenRequest API.

    A pod's token with exactly the projected lifetime, in later releases for this API server alone, lives a year
    instead, and warns after the requested time: clients that read their token only once keep working
    (`Lifetimes.extend`; specification, "--service-account-extend-token-expiration").
    """

    def __init__(
        self,
        dialect: Dialect,
        signer: Signer,
        *,
        issuer: str,
        audiences: Sequence[str],
        wall: Callable[[], float],
        lifetimes: Lifetimes = _USUAL_LIFETIMES,
        identifiers: Callable[[], str] | None = None,
    ) -> None:
        """`identifiers` makes the IDs of tokens; None if tokens of the release have none."""
        self._identifiers = identifiers
        self._signer = signer
        self._issuer = issuer
        self._audiences = tuple(audiences)
        self._wall = wall
        self._lifetimes = lifetimes
        self._max_seconds = lifetimes.max_seconds
        self._private = dialect("{long}.io")
        self._legacy = dialect("{long}.io/serviceaccount/")
        self._legacy_issuer = dialect("{long}/serviceaccount")

    def issue(
        self,
        account: Object,
        *,
        audiences: Sequence[str] = (),
        seconds: int = 3600,
        pod: Object | None = None,
        secret: Object | None = None,
        node: Object | None = None,
    ) -> IssuedToken:
        """A token for a ServiceAccount, bound to a Pod, Secret or Node object if given, or to a pod whose node is
        `node`; `audiences` default to those of this API server. The registry validates `seconds`."""
        meta = account["metadata"]
        namespace, name = meta["namespace"], meta["name"]
        now = int(self._wall())
        if self._max_seconds:
            seconds = min(seconds, self._max_seconds)
        asked = list(audiences or self._audiences)
        private: dict[str, Any] = {"namespace": namespace, "serviceaccount": {"name": name, "uid": meta.get("uid", "")}}
        for key, bound in (("pod", pod), ("secret", secret), ("node", node)):
            if bound is not None:
                held = bound["metadata"]
                private[key] = {"name": held["name"], **({"uid": held["uid"]} if held.get("uid") else {})}
        lifetime = seconds
        extends = self._lifetimes.extend and pod is not None and seconds == PROJECTED_SECONDS
        if extends and (self._lifetimes.any_audience or set(asked) <= set(self._audiences)):
            private["warnafter"] = now + seconds
            lifetime = EXTENDED_SECONDS
        claims = {
            "aud": asked,
            "exp": now + lifetime,
            "iat": now,
            "iss": self._issuer,
            "nbf": now,
            "sub": f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}",
            self._private: private,
        }
        credential = ""
        if self._identifiers is not None:
            identifier = self._identifiers()
            claims["jti"] = identifier
            credential = credential_of(identifier)
        return IssuedToken(token=self._signer.sign(claims), expires=now + seconds, credential=credential)

    def issue_legacy(self, account: Object, secret_name: str) -> str:
        """The token of a secret of type service-account-token; it does not expire."""
        meta = account["metadata"]
        return self._signer.sign(
            {
                "iss": self._legacy_issuer,
                "sub": f"{SERVICE_ACCOUNT_PREFIX}{meta['namespace']}:{meta['name']}",
                self._legacy + "namespace": meta["namespace"],
                self._legacy + "secret.name": secret_name,
                self._legacy + "service-account.name": meta["name"],
                self._legacy + "service-account.uid": meta.get("uid", ""),
            }
        )
