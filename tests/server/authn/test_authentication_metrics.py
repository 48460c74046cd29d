"""Metrics of authentication."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchd.dialect import ORCH
from orchd.server.authn.metrics import AuthenticationMetrics, JwtMetrics, TokenCacheMetrics
from orchd.txkit.metrics.instruments import Instrument

_ACCOUNT = f"system:serviceaccount:{ORCH.system_namespace}:default"
#: SHA-256 of "one", "two", "keys" and "server".
_ONE, _TWO, _KEYS, _SERVER = (
    "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
    "sha256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
    "sha256:48a53f0774c8ceff574a1fdcb0d470dbd382b3db273cff4344b6d39d5379c923",
    "sha256:b3eacd33433b31b5252351032c9b3e7a2e7aa7738d5decdf0dd6c62680853c06",
)


def values(instruments: Iterable[Instrument], suffix: str = "") -> dict[Any, float]:
    """The values of one metric by its labels, without the buckets and the sums of distributions."""
    families = (each.family() for each in instruments)
    return {
        tuple(sample.labels.values()): sample.value
        for family in families
        if family.name.endswith(suffix)
        for sample in family.samples
        if not sample.name.endswith(("_bucket", "_sum", "_created"))
    }


def test_names_of_system_users_are_shown() -> None:
    """Others are counted together, those that look like addresses apart; only successes count."""
    metrics = AuthenticationMetrics(ORCH)
    for outcome, user in (
        ("success", "admin"),
        ("success", "admin"),
        ("success", _ACCOUNT),
        ("success", "alice"),
        ("success", "bob"),
        ("success", "alice@example.com"),
        ("failure", "admin"),
        ("unknown", ""),
    ):
        metrics.observe(outcome, user, 0.5)
    assert values(metrics.instruments, "authenticated_user_requests") == {
        ("admin",): 2,
        (_ACCOUNT,): 1,
        ("other",): 2,
        ("email_id",): 1,
    }
    assert values(metrics.instruments, "authentication_attempts") == {("success",): 6, ("error",): 1, ("failure",): 1}


def test_lookups_of_cached_tokens() -> None:
    """Requests that the cache answers are hits; lookups succeed or fail."""
    metrics = TokenCacheMetrics()
    for hit in (True, True, False):
        metrics.count_request(hit, 0.5)
    for ok in (True, False, False):
        metrics.count_lookup(ok)
    metrics.active("blocked", 2)
    metrics.active("blocked", -1)
    assert values(metrics.instruments, "request") == {("hit",): 2, ("miss",): 1}
    assert values(metrics.instruments, "fetch") == {("ok",): 1, ("error",): 2}
    assert values(metrics.instruments, "active_fetch_count") == {("in_flight",): 0, ("blocked",): 1}


def test_fetches_of_key_sets() -> None:
    """Each issuer has the time of its last fetch by result, and the digest of its keys, until it is dropped."""
    now = [100.0]
    metrics = JwtMetrics("server", lambda: now[0])
    metrics.fetched("one", b"keys")
    now[0] = 200.0
    metrics.fetched("two", None)
    assert values(metrics.instruments, "timestamp_seconds") == {
        ("success", _ONE, _SERVER): 100,
        ("failure", _TWO, _SERVER): 200,
    }
    assert values(metrics.instruments, "key_set_info") == {(_ONE, _SERVER, _KEYS): 1}
    metrics.keep(["two"])
    assert values(metrics.instruments, "timestamp_seconds") == {("failure", _TWO, _SERVER): 200}
    assert values(metrics.instruments, "key_set_info") == {}
