"""Token reviews by an external service, and the token cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from orchd.dialect import ORCH
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Authenticated, AuthenticationError, ITokenAuthenticator
from orchd.server.authn.token_cache import CachedTokens
from orchd.server.authn.tokenwebhook import TokenWebhook
from orchd.server.outbound.webhooks import WebhookError
from orchd.testing.doubles.results import result_of
from orchd.txkit.coroutines import start

API = ("api",)


class Reviews:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Mapping[str, Any]] = []

    async def ask(self, document: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append(document)
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: dict[str, Any] = self.answer
        return answer


def ask(status: Any, audiences: Sequence[str] = API, version: str = "v1") -> Authenticated | None:
    reviews = Reviews(status if isinstance(status, Exception) else {"status": status})
    return result_of(TokenWebhook(ORCH, reviews, version=version, audiences=API).authenticate_token("t", audiences))


def known(user: Any = None, **more: Any) -> dict[str, Any]:
    return {"authenticated": True, "user": {"username": "bob"} if user is None else user, **more}


FULL = {"username": "bob", "uid": "7", "groups": ["a", "b"], "extra": {"Example.com/K": ["v"], "empty": None}}


@pytest.mark.parametrize(("status", "user"), [
    (known(), User(name="bob")),
    (known(FULL), User(name="bob", uid="7", groups=("a", "b"), extra={"Example.com/K": ("v",), "empty": ()})),
    (known({}), User(name="")),
    (known(error="ignored"), User(name="bob")),
    ({"authenticated": False, "user": {"username": "ghost"}}, None),
    ({}, None),
    (None, None),
])  # fmt: skip
def test_authenticated_user_is_returned(status: Any, user: User | None) -> None:
    """A user is returned if the service says that it is authenticated."""
    found = ask(status)
    assert (found.user if found else None) == user


@pytest.mark.parametrize(("status", "why"), [
    ({"error": "could not tell"}, "could not tell"),
    (WebhookError("broken", 500), "broken"),
    (known(3), "json: cannot unmarshal number into Go struct field TokenReviewStatus.status.user of type v1.UserInfo"),
    (known({"username": 3}), "json: cannot unmarshal number into Go struct field UserInfo.status.user.username of type string"),
    (known({"groups": "a"}), "json: cannot unmarshal string into Go struct field UserInfo.status.user.groups of type []string"),
    (known({"extra": []}),
     "json: cannot unmarshal array into Go struct field UserInfo.status.user.extra of type map[string]v1.ExtraValue"),
])  # fmt: skip
def test_failed_reviews_are_errors(status: Any, why: str) -> None:
    """An error of the service, or an invalid response, is an error."""
    with pytest.raises(AuthenticationError) as caught:
        ask(status)
    assert str(caught.value) == why


@pytest.mark.parametrize(("named", "wanted", "good"), [
    (None, ("api", "x"), ("api",)),
    ([], ("api",), ("api",)),
    (["x", "y"], ("x", "api"), ("x",)),
    (["y"], ("x", "api"), None),
    (None, ("x",), None),
    (["y"], (), ()),
])  # fmt: skip
def test_audiences_of_the_review_count(
    named: list[str] | None, wanted: tuple[str, ...], good: tuple[str, ...] | None
) -> None:
    """The token is valid for the audiences in the response, or for this server's if there are none."""
    found = ask(known(audiences=named), wanted)
    assert (found.audiences if found else None) == good


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_review_holds_token_and_audiences(version: str) -> None:
    """The review has the token and the audiences only."""
    reviews = Reviews({"status": {}})
    method = TokenWebhook(ORCH, reviews, version=version, audiences=API)
    result_of(method.authenticate_token("t", ("a", "b")))
    result_of(method.authenticate_token("t", ()))
    assert reviews.asked[0] == {
        "kind": "TokenReview",
        "apiVersion": ORCH("authentication.{abbr}.io/") + version,
        "metadata": {"creationTimestamp": None},
        "spec": {"token": "t", "audiences": ["a", "b"]},
        "status": {"user": {}},
    }
    assert reviews.asked[1]["spec"] == {"token": "t"}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_USERS = st.dictionaries(st.sampled_from(["username", "uid", "groups", "extra"]), _VALUES)
_STATUSES = st.fixed_dictionaries(
    {}, optional={"authenticated": st.just(True) | _VALUES, "user": _USERS | _VALUES, "audiences": _VALUES}
)


@given(_STATUSES | _VALUES)
def test_any_response_is_a_user_or_an_error(status: Any) -> None:
    """Any response is a user, no user or an error; only `authenticated: true` is a user."""
    try:
        found = ask(status)
    except AuthenticationError:
        return
    if found is not None:
        assert status["authenticated"] is True
        assert all(isinstance(group, str) for group in found.user.groups)


# -- the cache


@implementer(ITokenAuthenticator)
class Slow:
    """An authenticator whose results come when the test completes them."""

    name = "slow"

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.pending: list[Deferred[Authenticated | None]] = []
        self.cancelled: list[object] = []

    async def authenticate_token(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        self.asked.append((token, tuple(audiences)))
        waits: Deferred[Authenticated | None] = Deferred(self.cancelled.append)
        self.pending.append(waits)
        return await waits


class Counted:
    def __init__(self) -> None:
        self.hits: list[bool] = []
        self.fetches: list[bool] = []
        self.now = {"in_flight": 0, "blocked": 0}

    def count_request(self, hit: bool, seconds: float) -> None:
        self.hits.append(hit)

    def count_lookup(self, ok: bool) -> None:
        self.fetches.append(ok)

    def active(self, what: str, change: int) -> None:
        self.now[what] += change


BOB = Authenticated(user=User(name="bob"))


class CacheBench:
    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        self.slow = Slow()
        self.counted = Counted()
        arguments = {"success_ttl": 10.0, "unknown_ttl": 5.0, "secret": b"s", "metrics": self.counted, **options}
        self.tokens = CachedTokens(self.slow, self.clock, **arguments)

    def ask(self, token: str = "t", audiences: Sequence[str] = API) -> tuple[Deferred[Any], list[Any]]:
        seen: list[Any] = []
        task = start(self.tokens.authenticate_token(token, audiences))
        task.addBoth(seen.append)
        return task, seen

    def answered(self, result: Any, **question: Any) -> Any:
        _, seen = self.ask(**question)
        if not seen:
            waits = self.slow.pending.pop()
            if isinstance(result, Exception):
                waits.errback(result)
            else:
                waits.callback(result)
        return seen[0]


def test_results_are_cached_by_audience() -> None:
    """Each result is cached for its own time, by token and audience."""
    memory = CacheBench()
    assert memory.answered(BOB) is BOB and memory.answered(None) is BOB
    assert memory.answered(None, token="u") is None
    assert memory.answered(BOB, token="u") is None
    assert memory.answered(None, audiences=("x",)) is None
    assert len(memory.slow.asked) == 3
    memory.clock.advance(6)
    assert memory.answered(BOB, token="u") is BOB
    memory.clock.advance(5)
    assert memory.answered(None) is None
    assert memory.counted.hits == [False, True, False, True, False, False, False]
    assert memory.counted.now == {"in_flight": 0, "blocked": 0}


def test_failures_are_not_cached() -> None:
    """An error is raised in all concurrent callers, and is not cached."""
    memory = CacheBench()
    (_, first), (_, second) = memory.ask(), memory.ask()
    memory.slow.pending.pop().errback(AuthenticationError("away"))
    for seen in (first, second):
        with pytest.raises(AuthenticationError, match=r"^away$"):
            seen[0].raiseException()
    assert memory.answered(BOB) is BOB
    assert memory.counted.fetches == [False, True]


def test_concurrent_requests_share_a_review() -> None:
    """Concurrent requests with one token share the review; it is cancelled with its last caller."""
    memory = CacheBench()
    asked = [memory.ask() for _ in range(3)]
    assert len(memory.slow.asked) == 1 and memory.counted.now == {"in_flight": 1, "blocked": 3}
    asked[0][0].cancel()
    assert asked[0][1][0].check(CancelledError) and not memory.slow.cancelled
    memory.slow.pending.pop().callback(BOB)
    assert [seen[0] for _, seen in asked[1:]] == [BOB, BOB]
    alone, _ = memory.ask("other")
    alone.cancel()
    assert len(memory.slow.cancelled) == 1 and memory.counted.now == {"in_flight": 0, "blocked": 0}


def test_unanswered_review_times_out() -> None:
    """A review without a response is an error at the timeout."""
    memory = CacheBench()
    _, seen = memory.ask()
    memory.clock.advance(31)
    with pytest.raises(AuthenticationError, match="deadline"):
        seen[0].raiseException()
    assert len(memory.slow.cancelled) == 1 and not memory.clock.getDelayedCalls()


def test_zero_ttl_disables_the_cache() -> None:
    """With a TTL of 0 every request is reviewed, and the cache stays within its bounds."""
    memory = CacheBench(success_ttl=0.0, unknown_ttl=0.0)
    memory.answered(BOB)
    memory.answered(BOB)
    assert len(memory.slow.asked) == 2
    small = CacheBench(capacity=2)
    for token in "abc":
        small.answered(BOB, token=token)
    small.answered(BOB, token="a")
    assert len(small.slow.asked) == 4
