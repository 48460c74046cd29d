"""Service account tokens: issuing, validation, and invalidation with their bound objects."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.pki.keys import PrivateKey
from orchd.server.authn.bearer import BearerTokens
from orchd.server.authn.chain import AuthenticatorChain
from orchd.server.authn.interfaces import AuthenticationError, Credentials, UnauthenticatedError
from orchd.server.authn.serviceaccount import (
    ACCOUNTS,
    NODES,
    PODS,
    SECRETS,
    AccountObjects,
    ServiceAccountTokens,
    TokenIssuer,
    TokenRules,
)
from orchd.server.authn.signedtokens import Signer, Verifier
from orchd.server.authn.signedtokens import unverified_claims as readable_claims
from orchd.testing.doubles.informers import MemoryInformers
from orchd.testing.doubles.results import result_of
from tests.server.authn.rsa_keys import RSA

EC = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
ACCOUNT = {"metadata": {"name": "robot", "namespace": "ns", "uid": "u1"}}
POD = {"metadata": {"name": "p", "namespace": "ns", "uid": "p1"}, "spec": {}}
SECRET = {"metadata": {"name": "s", "namespace": "ns", "uid": "s1"}}


def unverified_claims(token: str) -> dict[str, Any]:
    claims = readable_claims(token)
    assert claims is not None
    return claims


class World:
    """An issuer, its authenticator, and the objects that tokens refer to."""

    def __init__(
        self, dialect: Dialect = ORCH, key: PrivateKey = EC, release: Release = SPECIFICATION, client: Any = None
    ) -> None:
        self.now = 1_000_000.0
        self.informers = MemoryInformers()
        self.informers.put(ACCOUNTS, ACCOUNT)
        self.informers.put(PODS, POD)
        self.informers.put(SECRETS, SECRET)
        self.issuer = TokenIssuer(dialect, Signer(key), issuer="https://me", audiences=("api",), wall=lambda: self.now)
        self.tokens = ServiceAccountTokens(
            dialect,
            Verifier([RSA.public_key(), EC.public_key()]),
            AccountObjects(self.informers, client),
            issuers=("https://me",),
            audiences=("api",),
            wall=lambda: self.now,
            rules=TokenRules.of(release),
        )

    def ask(self, token: str, audiences: Sequence[str] = ()) -> Any:
        return result_of(self.tokens.authenticate_token(token, audiences))

    def problem(self, token: str, audiences: Sequence[str] = ()) -> Any:
        with pytest.raises(AuthenticationError) as caught:
            self.ask(token, audiences)
        return str(caught.value)


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES])
@pytest.mark.parametrize("key", [RSA, EC])
def test_bound_token_names_account_and_pod(dialect: Any, key: Any) -> None:
    """A token gives name, uid, groups, and the pod as extra values under the dialect's keys."""
    world = World(dialect, key)
    identity = world.ask(world.issuer.issue(ACCOUNT, pod=POD).token)
    assert (identity.user.name, identity.user.uid) == ("system:serviceaccount:ns:robot", "u1")
    assert identity.user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns")
    assert identity.user.extra == {
        dialect("authentication.{long}.io/pod-name"): ("p",),
        dialect("authentication.{long}.io/pod-uid"): ("p1",),
    }
    assert identity.audiences == ("api",)


def test_claims_and_header_of_a_token() -> None:
    """Claims are in alphabetical order with times in seconds; the header has the algorithm and the key id only."""
    world = World(ORCH, RSA)
    issued = world.issuer.issue(ACCOUNT, seconds=600, audiences=("vault", "other"))
    assert issued.expires == 1_000_600
    claims = unverified_claims(issued.token)
    assert list(claims) == ["aud", "exp", "iat", "iss", "nbf", ORCH("{long}.io"), "sub"]
    assert claims["aud"] == ["vault", "other"] and claims["exp"] - claims["iat"] == 600
    assert set(jwt.get_unverified_header(issued.token)) == {"alg", "kid"}


def test_projected_token_lifetime_is_extended() -> None:
    """The lifetime of a projected token becomes a year; use after the requested lifetime is annotated in the audit
    log."""
    world = World()
    issued = world.issuer.issue(ACCOUNT, pod=POD, seconds=3607)
    assert issued.expires == 1_003_607
    assert unverified_claims(issued.token)["exp"] == 1_000_000 + 365 * 24 * 3600
    assert world.ask(issued.token).annotations is None
    world.now += 4000
    (text,) = world.ask(issued.token).annotations.values()
    assert text == "subject: system:serviceaccount:ns:robot, seconds after warning threshold: 393"


def test_token_audiences() -> None:
    """The audiences are those of both the token and the request, in the requested order."""
    world = World()
    token = world.issuer.issue(ACCOUNT, audiences=("vault", "other")).token
    assert world.ask(token, ("other", "vault", "x")).audiences == ("other", "vault")
    assert world.problem(token) == ('token audiences ["vault" "other"] is invalid for the target audiences ["api"]')


def test_validity_has_a_minute_of_leeway() -> None:
    """With a minute of leeway on either side, a token is not yet valid or expired."""
    world = World()
    token = world.issuer.issue(ACCOUNT, seconds=600).token
    world.now += 659
    world.ask(token)
    world.now += 2
    assert world.problem(token) == "token has expired"
    world.now -= 800
    assert world.problem(token) == "token is not valid yet"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": None}, "token has expired"),
        ({"exp": "9999999999"}, "token has expired"),
        ({"exp": True}, "token has expired"),
        ({"exp": float("inf")}, "token has expired"),
        ({"exp": float("nan")}, "token has expired"),
        ({"exp": 10**400}, "token has expired"),
        ({"exp": []}, "token has expired"),
        ({"exp": 0}, "token has expired"),
        ({"nbf": "0"}, "token is not valid yet"),
        ({"nbf": 10**400}, "token is not valid yet"),
    ],
)
def test_token_without_a_numeric_expiry_is_refused(changes: Any, why: str) -> None:
    """A token without a numeric expiry is rejected, whatever key has signed it."""
    world = World()
    claims = {**unverified_claims(world.issuer.issue(ACCOUNT).token), **changes}
    token = Signer(EC).sign({name: value for name, value in claims.items() if value is not None})
    assert world.problem(token) == why


def test_token_is_invalid_after_its_bound_object_is_deleted() -> None:
    """Pod, secret and account must exist with the token's uid, also if the token was accepted a moment ago."""
    world = World()
    pod_token = world.issuer.issue(ACCOUNT, pod=POD).token
    secret_token = world.issuer.issue(ACCOUNT, secret=SECRET).token
    plain = world.issuer.issue(ACCOUNT).token
    for token in (pod_token, secret_token, plain):
        world.ask(token)
    world.informers.informer(PODS).remove("ns", "p")
    world.informers.informer(SECRETS).remove("ns", "s")
    assert world.problem(pod_token) == world.problem(secret_token) == "service account token has been invalidated"
    world.informers.put(ACCOUNTS, {"metadata": {**ACCOUNT["metadata"], "uid": "u2"}})
    assert world.problem(plain) == "service account UID (u2) does not match claim (u1)"
    world.informers.informer(ACCOUNTS).remove("ns", "robot")
    assert world.problem(plain) == 'serviceaccounts "robot" not found'


def test_tokens_of_other_issuers_are_no_opinion() -> None:
    """A token of another issuer is no opinion; one of ours with a wrong key or a changed body is rejected."""
    world = World()
    foreign = TokenIssuer(ORCH, Signer(EC), issuer="https://x", audiences=("api",), wall=lambda: world.now)
    assert world.ask(foreign.issue(ACCOUNT).token) is None
    assert world.ask("a.b.c") is None and world.ask("abc") is None
    forged = TokenIssuer(ORCH, Signer(OTHER), issuer="https://me", audiences=("api",), wall=lambda: world.now)
    assert world.problem(forged.issue(ACCOUNT).token)
    head, _, signature = world.issuer.issue(ACCOUNT).token.split(".")
    body = base64.urlsafe_b64encode(b'{"iss":"https://me","sub":"x"}').rstrip(b"=").decode()
    assert world.problem(f"{head}.{body}.{signature}")


def test_hmac_and_unsigned_tokens_are_refused() -> None:
    """A token signed with HMAC, or unsigned, is rejected whatever its claims."""
    world = World()
    keys: list[tuple[str, Any]] = [("HS256", "x" * 40), ("none", None)]
    for algorithm, key in keys:
        token = jwt.encode({"iss": "https://me", "sub": "x"}, key, algorithm=algorithm)
        assert world.problem(token)


def test_legacy_token_is_valid_while_its_secret_holds_it() -> None:
    """A token without expiry is valid as long as its secret contains it."""
    world = World()
    token = world.issuer.issue_legacy(ACCOUNT, "s")
    assert world.problem(token) == "Token does not match server's copy"
    held = {**SECRET, "data": {"token": base64.b64encode(token.encode()).decode()}}
    world.informers.put(SECRETS, held)
    assert world.ask(token).user.name == "system:serviceaccount:ns:robot"
    world.informers.informer(SECRETS).remove("ns", "s")
    assert world.problem(token) == "Token has been invalidated"


class _Patches:
    """A client that records the labels of patches."""

    def __init__(self) -> None:
        self.labels: list[dict[str, str]] = []

    async def patch(self, ref: Any, namespace: str, name: str, patch: Any, **_: Any) -> dict[str, Any]:
        assert (ref, namespace, name, patch["metadata"]["uid"]) == (SECRETS, "ns", "s", "s1")
        self.labels.append(patch["metadata"]["labels"])
        return {}


@pytest.mark.parametrize(
    ("release", "labels", "recorded"),
    [
        (NEWEST, {}, ["1970-01-12"]),
        (NEWEST, {"legacy-token-last-used": "1970-01-11"}, ["1970-01-12"]),
        (NEWEST, {"legacy-token-last-used": "1970-01-12"}, []),
        (NEWEST, {"legacy-token-last-used": "1970-01-13"}, []),
        (SPECIFICATION, {}, []),
    ],
)
def test_use_of_a_legacy_token_is_recorded_once_a_day(
    release: Release, labels: dict[str, str], recorded: list[str]
) -> None:
    """From release 1.30 on the secret gets a label with the date, unless it has the one of today or of tomorrow."""
    client = _Patches()
    world = World(release=release, client=client)
    token = world.issuer.issue_legacy(ACCOUNT, "s")
    metadata = {**SECRET["metadata"], "labels": {ORCH(f"{{long}}.io/{name}"): day for name, day in labels.items()}}
    world.informers.put(SECRETS, {"metadata": metadata, "data": {"token": base64.b64encode(token.encode()).decode()}})
    world.ask(token)
    assert client.labels == [{ORCH("{long}.io/legacy-token-last-used"): day} for day in recorded]


@pytest.mark.parametrize(("listed", "kind"), [(True, "autogenerated"), (False, "manual")])
def test_generated_legacy_tokens_are_warned_of(*, listed: bool, kind: str) -> None:
    """The audit tells tokens that the account lists from those that a user made; the former get a warning."""
    world = World(release=NEWEST, client=_Patches())
    token = world.issuer.issue_legacy(ACCOUNT, "s")
    world.informers.put(SECRETS, {**SECRET, "data": {"token": base64.b64encode(token.encode()).decode()}})
    world.informers.put(ACCOUNTS, {**ACCOUNT, "secrets": [{"name": "s"}] if listed else []})
    identity = world.ask(token)
    used = {ORCH("authentication.{abbr}.io/legacy-token"): identity.user.name}
    assert identity.annotations == {**used, ORCH(f"authentication.{{abbr}}.io/legacy-token-{kind}-secret"): "s"}
    assert len(identity.warnings) == int(listed)


def test_marked_legacy_token_is_refused() -> None:
    """A token whose secret is labelled as invalid is refused until the label is removed; its use is recorded."""
    client = _Patches()
    world = World(release=NEWEST, client=client)
    token = world.issuer.issue_legacy(ACCOUNT, "s")
    metadata = {**SECRET["metadata"], "labels": {ORCH("{long}.io/legacy-token-invalid-since"): "1970-01-01"}}
    world.informers.put(SECRETS, {"metadata": metadata, "data": {"token": base64.b64encode(token.encode()).decode()}})
    assert world.problem(token).startswith(
        "the token in secret ns/s for service account ns/robot has been marked invalid"
    )
    assert len(client.labels) == 1


def test_refusal_of_a_marked_legacy_token_is_in_the_audit_log() -> None:
    """The error of the whole chain names the secret, for the audit events of the request."""
    world = World(release=NEWEST, client=_Patches())
    token = world.issuer.issue_legacy(ACCOUNT, "s")
    metadata = {**SECRET["metadata"], "labels": {ORCH("{long}.io/legacy-token-invalid-since"): "1970-01-01"}}
    world.informers.put(SECRETS, {"metadata": metadata, "data": {"token": base64.b64encode(token.encode()).decode()}})
    chain = AuthenticatorChain([BearerTokens([world.tokens], audiences=("api",))])
    with pytest.raises(UnauthenticatedError) as caught:
        result_of(chain.authenticate(Credentials(headers={"authorization": (f"Bearer {token}",)})))
    assert caught.value.code == 401
    assert caught.value.annotations == {ORCH("authentication.{abbr}.io/legacy-token-invalidated"): "s/ns"}


def test_token_review_shows_the_reason() -> None:
    """The error in a TokenReview has the general message, then the specific one."""
    world = World()
    bearer = BearerTokens([world.tokens], audiences=("api",))
    token = world.issuer.issue(ACCOUNT).token
    world.informers.informer(ACCOUNTS).remove("ns", "robot")
    with pytest.raises(AuthenticationError) as caught:
        result_of(bearer.authenticate_token(token))
    assert str(caught.value) == '[invalid bearer token, serviceaccounts "robot" not found]'


@pytest.mark.parametrize("deep", ["header", "claims"])
def test_deeply_nested_token_is_refused(deep: Any) -> None:
    """A token with too deeply nested JSON is rejected, whatever its issuer."""
    brackets = b"[" * 100_000
    parts = {"header": b'{"alg":"ES256"}', "claims": b'{"iss":"https://me"}', deep: b'{"a":' + brackets}
    if deep == "header":
        World().problem(_compact(parts))
    else:
        assert World().ask(_compact(parts)) is None


def _compact(parts: Any) -> Any:
    return ".".join(
        base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (parts["header"], parts["claims"], b"x")
    )


@pytest.mark.parametrize(
    ("changes", "before", "now"),
    [
        ({"iat": 1_000_100}, "", "service account token is issued in the future"),
        ({"iat": "then"}, "", "service account token is issued in the future"),
        ({"iat": 1_000_060}, "", ""),
        ({ORCH("{long}.io"): None}, "service account claims are missing", "resource name may not be empty"),
    ],
)
def test_claims_that_later_releases_refuse(changes: Any, before: str, now: str) -> None:
    """Later releases refuse a token of the future; both refuse one that names no account."""
    for release, why in ((SPECIFICATION, before), (NEWEST, now)):
        world = World(release=release)
        claims = {**unverified_claims(world.issuer.issue(ACCOUNT).token), **changes}
        token = Signer(RSA).sign({name: value for name, value in claims.items() if value is not None})
        if why:
            assert world.problem(token) == why
        else:
            world.ask(token)


def test_deleted_objects_of_another_uid() -> None:
    """Of a deleted object that another one of the name has replaced, later releases report the uid."""
    deleted = {"name": "p", "namespace": "ns", "uid": "p2", "deletionTimestamp": "1970-01-01T00:00:01Z"}
    mismatch = "pod UID (p2) does not match service account pod ref claim (p1)"
    for release, why in ((SPECIFICATION, "service account token has been invalidated"), (NEWEST, mismatch)):
        world = World(release=release)
        token = world.issuer.issue(ACCOUNT, pod=POD).token
        world.informers.put(PODS, {"metadata": deleted})
        assert world.problem(token) == why


@pytest.mark.parametrize(("age", "valid"), [(-30, True), (30, True), (59, True), (61, False)])
def test_token_outlives_its_pod_by_a_minute(age: int, valid: bool) -> None:
    """A token is refused from a minute after the time at which its pod is to be gone; negative ages are in the
    future."""
    world = World()
    token = world.issuer.issue(ACCOUNT, pod=POD).token
    gone = datetime.fromtimestamp(world.now - age, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    world.informers.put(PODS, {**POD, "metadata": {**POD["metadata"], "deletionTimestamp": gone}})
    if valid:
        assert world.ask(token).user.uid == "u1"
    else:
        assert world.problem(token) == "service account token has been invalidated"


@pytest.mark.parametrize(
    ("release", "uid", "extra"),
    [
        (SPECIFICATION, "n1", {}),
        (NEWEST, "n1", {"node-name": ("n",), "node-uid": ("n1",)}),
        (NEWEST, "", {"node-name": ("n",)}),
    ],
)
def test_token_names_its_node(release: Release, uid: str, extra: dict[str, tuple[str, ...]]) -> None:
    """Later releases give the node of a token as extra values; one bound to a node ends with it, one of a pod does
    not."""
    node = {"metadata": {"name": "n", **({"uid": uid} if uid else {})}}
    world = World(release=release)
    world.informers.put(NODES, node)
    expected = {ORCH(f"authentication.{{long}}.io/{name}"): value for name, value in extra.items()}
    of_node = world.issuer.issue(ACCOUNT, node=node).token
    of_pod = world.issuer.issue(ACCOUNT, node=node, pod=POD).token
    for token in (of_node, of_pod):
        assert {name: value for name, value in world.ask(token).user.extra.items() if "/node-" in name} == expected
    world.informers.informer(NODES).remove("", "n")
    world.ask(of_pod)
    if extra:
        assert world.problem(of_node) == "service account token has been invalidated"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("namespace", "namespace claim is missing"),
        ("secret.name", "secretName claim is missing"),
        ("service-account.name", "serviceAccountName claim is missing"),
        ("service-account.uid", "serviceAccountUID claim is missing"),
    ],
)
@pytest.mark.parametrize("value", ["", 7, None])
def test_claims_of_a_legacy_token_are_texts(claim: str, why: str, value: Any) -> None:
    """An empty, missing or other value is named."""
    world = World()
    claims = unverified_claims(world.issuer.issue_legacy(ACCOUNT, "s"))
    (key,) = (name for name in claims if name.endswith(f"/{claim}"))
    assert world.problem(Signer(EC).sign({**claims, key: value})) == why


def test_uses_of_tokens_are_counted() -> None:
    """Tokens from secrets, made or generated; projected tokens before and after their requested lifetime."""
    world = World(release=NEWEST, client=_Patches())

    def counts() -> dict[str, float]:
        totals = {each.name: sum(each.values.values()) for each in world.tokens.instruments}
        return {name.removeprefix("serviceaccount_"): total for name, total in totals.items() if total}

    projected = world.issuer.issue(ACCOUNT, pod=POD, seconds=3607).token
    world.ask(projected)
    assert counts() == {"valid_tokens_total": 1}
    world.now += 4000
    world.ask(projected)
    assert counts() == {"valid_tokens_total": 1, "stale_tokens_total": 1}
    token = world.issuer.issue_legacy(ACCOUNT, "s")
    world.informers.put(SECRETS, {**SECRET, "data": {"token": base64.b64encode(token.encode()).decode()}})
    world.ask(token)
    world.informers.put(ACCOUNTS, {**ACCOUNT, "secrets": [{"name": "s"}]})
    world.ask(token)
    assert counts() == {
        "valid_tokens_total": 1,
        "stale_tokens_total": 1,
        "legacy_tokens_total": 2,
        "legacy_manual_token_uses_total": 1,
        "legacy_auto_token_uses_total": 1,
    }


@pytest.mark.parametrize(("release", "tracked"), [(SPECIFICATION, False), (NEWEST, True)])
def test_uses_of_tokens_from_secrets_are_counted_where_they_are_tracked(release: Release, tracked: bool) -> None:
    """Releases that track tokens from secrets have metrics of their uses."""
    names = {counter.name for counter in World(release=release).tokens.instruments}
    assert ("serviceaccount_invalid_legacy_auto_token_uses_total" in names) is tracked
    assert "serviceaccount_legacy_tokens_total" in names
