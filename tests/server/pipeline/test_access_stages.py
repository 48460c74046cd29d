"""What authentication and authorization do to a request, other than rejecting it."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import pytest

from orchd import errors
from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.server.authn.impersonation import ImpersonationError, parse_impersonation
from orchd.server.authn.interfaces import Authenticated, Credentials, UnauthenticatedError
from orchd.server.authn.metrics import AuthenticationMetrics, TokenCacheMetrics
from orchd.server.authz.interfaces import Action, Decision, Verdict
from orchd.server.http.request_body import NoBody
from orchd.server.outbound.metrics import ReviewMetrics
from orchd.server.pipeline.interfaces import Request, RequestInfo, Response
from orchd.server.pipeline.query import Query
from orchd.server.pipeline.stages import access
from orchd.testing.doubles.server import run
from orchd.txkit.compute_thread import current_flow
from tests.server.pipeline.test_headers import through

PODS = RequestInfo(
    is_resource=True, path="/api/v1/pods", verb="list", prefix="api", version="v1", resource="pods", parts=("pods",)
)


def request(query: dict[str, list[str]] | None = None, **headers: tuple[str, ...]) -> Request:
    named = {name.replace("_", "-"): values for name, values in headers.items()}
    return Request(
        method="GET", path=PODS.path, raw_path="/api/v1/p%6Fds", query=Query.of(query or {}), headers=named, body=NoBody(),
        credentials=Credentials(headers=named), received=0.0, info=PODS,
    )  # fmt: skip


async def at_once(asked: Request) -> Response:
    return Response()


def test_large_bodies_are_those_of_the_user() -> None:
    """While a request is answered the current flow is its user; afterwards it is that of the surrounding work."""

    class Chain:
        async def authenticate(self, credentials: Credentials) -> Authenticated:
            return Authenticated(user=User(name="alice"))

    seen: list[str] = []

    async def then(asked: Request) -> Response:
        seen.append(current_flow.get())
        return Response()

    current_flow.set("outer")
    run(access.Authentication(Chain())(request(), then))
    assert (seen, current_flow.get()) == (["alice"], "outer")


@pytest.mark.parametrize(("found", "left"), [
    (Authenticated(user=User(name="a"), consumed=("x-user",)), {"accept": ("x",)}),
    (Authenticated(user=User(name="a"), consumed=("x-user",), instead={"x-user": ("z",)}), {"accept": ("x",), "x-user": ("z",)}),
    (Authenticated(user=User(name="a")), {"accept": ("x",), "x-user": ("y",)}),
])  # fmt: skip
def test_credentials_are_removed_after_authentication(found: Authenticated, left: dict[str, tuple[str, ...]]) -> None:
    """Headers with credentials are removed from the request."""

    class Chain:
        async def authenticate(self, credentials: Credentials) -> Authenticated:
            return found

    asked = request(accept=("x",), x_user=("y",))
    run(access.Authentication(Chain())(asked, at_once))
    assert asked.headers == left and asked.credentials.headers["x-user"] == ("y",)


def test_annotations_of_refused_credentials_are_kept() -> None:
    """An authenticator that refuses credentials may say why in the audit events of the request."""

    class Chain:
        async def authenticate(self, credentials: Credentials) -> Authenticated:
            raise UnauthenticatedError({"why": "revoked"})

    asked = request()
    with pytest.raises(UnauthenticatedError):
        run(access.Authentication(Chain())(asked, at_once))
    assert asked.trace.annotations == {"why": "revoked"}


class Authorizer:
    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    async def authorize(self, action: Action) -> Verdict:
        return self.verdict


def refused(action: Action, why: str) -> ApiError:
    return errors.forbidden("", action.resource, "", why)


def authorize(verdict: Verdict, query: dict[str, list[str]] | None = None) -> Response:
    asked = request(query)
    asked.user = User(name="me")
    authorizer: Any = Authorizer(verdict)
    return run(access.Authorization(authorizer, refused, ORCH)(asked, at_once))


@pytest.mark.parametrize("decision", [Decision.DENY, Decision.NO_OPINION])
def test_authorizer_error_is_500(decision: Decision) -> None:
    """The 500 is plain text that names the request, without characters that a browser would interpret as markup."""
    response = authorize(Verdict(decision, "because", 'no <"answer">'), {"a": ["1", "&"]})
    assert response.code == 500 and response.content_type == "text/plain; charset=utf-8"
    assert ("X-Content-Type-Options", "nosniff") in response.headers
    expected = b'Internal Server Error: "/api/v1/p%6Fds?a=1&amp;a=%26": no &lt;"answer"&gt;\n'
    assert response.body == expected


@pytest.mark.parametrize(("verdict", "said"), [
    (Verdict(Decision.ALLOW, "r", "ignored"), {"decision": "allow", "reason": "r"}),
    (Verdict(Decision.DENY), {"decision": "forbid", "reason": ""}),
    (Verdict(Decision.NO_OPINION, "r", "broken"), {"reason": "internal error"}),
])  # fmt: skip
def test_decision_and_reason_are_audited(verdict: Verdict, said: dict[str, str]) -> None:
    """Decision and reason are annotated; of an error only the fact."""
    asked = request()
    asked.user, asked.trace.audited = User(name="me"), True
    authorizer: Any = Authorizer(verdict)
    with contextlib.suppress(ApiError):
        run(access.Authorization(authorizer, refused, ORCH)(asked, at_once))
    assert asked.trace.annotations == {ORCH("authorization.{abbr}.io/") + name: value for name, value in said.items()}


def test_allow_ignores_errors_of_other_authorizers() -> None:
    """An allowed request passes in spite of errors of other authorizers; without an error a rejection is 403."""
    assert authorize(Verdict(Decision.ALLOW, error="x")).code == 200
    with pytest.raises(ApiError) as caught:
        authorize(Verdict(Decision.DENY, "because"))
    assert caught.value.code == 403


def samples(numbers: Any) -> dict[str, float]:
    return {
        f"{sample.name}{sorted(sample.labels.values())}": sample.value
        for instrument in numbers.instruments
        for sample in instrument.family().samples
        if not sample.name.endswith(("_bucket", "_sum"))
    }


def test_user_names_are_counted_by_class() -> None:
    """Requests are counted only by the class of the user's name."""
    numbers = AuthenticationMetrics(ORCH)
    for user in ("admin", "a@b", "somebody", "else"):
        numbers.observe("success", user, 0.01)
    numbers.observe("failure", "", 0.01)
    numbers.observe("unknown", "", 0.01)
    numbers.certificate(4000.0)
    assert samples(numbers) == {
        "authentication_attempts['success']": 4, "authentication_attempts['error']": 1, "authentication_attempts['failure']": 1,
        "authenticated_user_requests['admin']": 1, "authenticated_user_requests['email_id']": 1,
        "authenticated_user_requests['other']": 2,
        "authentication_duration_seconds_count['success']": 4, "authentication_duration_seconds_count['error']": 1,
        "authentication_duration_seconds_count['failure']": 1,
        "apiserver_client_certificate_expiration_seconds_count[]": 1,
    }  # fmt: skip


def test_external_lookups_are_counted() -> None:
    """Look-ups are counted by cache hit, calls by status."""
    cache, reviews = TokenCacheMetrics(), ReviewMetrics("authz")
    cache.count_request(True, 0.1)
    cache.count_request(False, 0.1)
    cache.count_lookup(True)
    cache.count_lookup(False)
    cache.active("blocked", 2)
    reviews.observe("200", 0.1)
    reviews.observe("<error>", 0.1)
    found = samples(cache) | samples(reviews)
    assert found["authentication_token_cache_request_total['hit']"] == 1
    assert found["authentication_token_cache_fetch_total['error']"] == 1
    assert found["authentication_token_cache_active_fetch_count['blocked']"] == 2
    assert found["apiserver_delegated_authz_request_total['<error>']"] == 1


def test_impersonation_error_is_plain_text() -> None:
    """The error is plain text, which browsers do not render as a page."""
    authorizer = Authorizer(Verdict(Decision.DENY))

    def refused(action: Action, reason: str) -> ApiError:
        return errors.forbidden("", "users", "b", reason)

    asked = request(impersonate_user=("b",))
    asked.user = User(name="a")
    deciding: Any = authorizer
    stage = access.Impersonating(deciding, partial(parse_impersonation, ORCH), refused, ImpersonationError)
    with pytest.raises(ApiError) as caught:
        run(through(stage, asked, at_once))
    assert caught.value.code == 403 and caught.value.headers["X-Content-Type-Options"] == "nosniff"
