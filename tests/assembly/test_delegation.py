"""Delegated authentication and authorization on a component's port: its sources are flags, the cluster and the API
server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from twisted.internet.task import Clock

from orchd.assembly.delegation import ClientReviews, DelegatedChain, delegated_authorizer
from orchd.config.component import DelegatedAuthentication, DelegatedAuthorization
from orchd.config.sections.access import FrontProxySettings
from orchd.dialect import ORCH
from orchd.errors import ApiError, forbidden, not_found, unavailable
from orchd.kinds.users import MASTERS_GROUP, User
from orchd.pki.certificates import CLIENT, chain_pem, issue_pair, new_authority, subject
from orchd.server.authn.interfaces import Credentials
from orchd.server.authz.interfaces import Action, Decision
from orchd.server.outbound.webhooks import WebhookError
from orchd.testing.doubles.server import run

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NO_PROXY = FrontProxySettings()


class Server:
    """A client whose answers a test sets."""

    def __init__(self) -> None:
        self.data: dict[str, str] | None = None
        self.error: ApiError | None = None
        self.reviews: list[Any] = []
        self.status: dict[str, Any] = {}

    async def get(self, ref: Any, namespace: str, name: str) -> Any:
        assert (ref.plural, namespace, name) == ("configmaps", "orch-system", "extension-apiserver-authentication")
        if self.error is not None:
            raise self.error
        return {"data": self.data}

    async def create(self, ref: Any, namespace: str, obj: Any) -> Any:
        self.reviews.append((ref.group, ref.plural, obj))
        if self.error is not None:
            raise self.error
        return {**obj, "status": self.status}


class World:
    def __init__(self, *, client: bool = True, front_proxy: FrontProxySettings = NO_PROXY, **changes: Any) -> None:
        self.server = Server()
        self.clock = Clock()
        settings = DelegatedAuthentication(
            **{
                "config_file": "",
                "skip_lookup": False,
                "tolerate_failure": False,
                "token_ttl": 10.0,
                "client_ca_file": "",
                "front_proxy": front_proxy,
                **changes,
            }
        )
        given: Any = self.server if client else None
        self.chain = DelegatedChain(settings, given, ORCH, self.clock, wall=NOW.timestamp)

    def user_name(self, *, certificate: bytes = b"", **headers: str) -> str:
        """The name of the authenticated user, or the code of the error."""
        named = {name.replace("_", "-"): (value,) for name, value in headers.items()}
        credentials = Credentials(headers=named, certificates=(certificate,) if certificate else ())
        try:
            return str(run(self.chain.authenticate(credentials)).user.name)
        except ApiError as error:
            return f"{error.code}"


AUTHORITY = new_authority("clients", now=NOW)
PROXIES = new_authority("proxies", now=NOW)


def certificate(authority: Any, name: str) -> bytes:
    """A client certificate in DER."""
    pair = issue_pair(authority, subject(name), usages=[CLIENT], names=(), now=NOW)
    return pair.certificate.public_bytes(Encoding.DER)


def published() -> dict[str, str]:
    return {
        "client-ca-file": chain_pem(AUTHORITY.certificate).decode(),
        "requestheader-client-ca-file": chain_pem(PROXIES.certificate).decode(),
        "requestheader-allowed-names": '["front"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }


def test_authentication_follows_the_clusters_config_map() -> None:
    """Client certificates and front proxy headers are accepted as the cluster's ConfigMap says."""
    world = World()
    world.server.data = published()
    run(world.chain.start())
    assert world.user_name() == "system:anonymous"
    assert world.user_name(certificate=certificate(AUTHORITY, "jane")) == "jane"
    assert world.user_name(certificate=certificate(PROXIES, "front"), x_remote_user="joe") == "joe"
    assert world.user_name(certificate=certificate(PROXIES, "other"), x_remote_user="joe") == "401"
    assert world.user_name(x_remote_user="joe") == "system:anonymous"
    run(world.chain.stop())


def test_changed_authorities_take_effect_within_a_minute() -> None:
    """Changed authorities take effect within a minute; an invalid ConfigMap changes nothing."""
    world = World()
    world.server.data = {}
    run(world.chain.start())
    jane = certificate(AUTHORITY, "jane")
    assert world.user_name(certificate=jane) == "system:anonymous"
    world.server.data = published()
    world.clock.advance(60)
    assert world.user_name(certificate=jane) == "jane"
    world.server.data = {**published(), "requestheader-allowed-names": "{"}
    world.clock.advance(60)
    assert world.user_name(certificate=jane) == "jane"
    world.server.error = unavailable("away")
    world.clock.advance(60)
    assert world.user_name(certificate=jane) == "jane"
    run(world.chain.stop())


def test_failing_lookup_fails_the_start_unless_tolerated() -> None:
    """A failed look-up of the ConfigMap fails the start, unless the settings tolerate it."""
    world = World()
    world.server.error = forbidden("", "configmaps", "x", "no")
    with pytest.raises(ApiError):
        run(world.chain.start())
    tolerant = World(tolerate_failure=True)
    tolerant.server.error = not_found("", "configmaps", "x")
    run(tolerant.chain.start())
    assert tolerant.user_name() == "system:anonymous"
    run(tolerant.chain.stop())


def test_flags_override_the_clusters_authorities(tmp_path: Path) -> None:
    """Authorities from flags replace those of the ConfigMap one by one; without the look-up only flags count."""
    path = tmp_path / "ca"
    path.write_bytes(chain_pem(PROXIES.certificate))
    world = World(client_ca_file=str(path))
    world.server.data = published()
    run(world.chain.start())
    assert world.user_name(certificate=certificate(PROXIES, "jim")) == "jim"
    assert world.user_name(certificate=certificate(AUTHORITY, "jane")) == "401"
    assert world.user_name(certificate=certificate(PROXIES, "front"), x_remote_user="joe") == "joe"
    run(world.chain.stop())
    alone = World(skip_lookup=True)
    alone.server.error = AssertionError()  # type: ignore[assignment]  # must not be raised
    run(alone.chain.start())
    run(alone.chain.stop())


def test_token_reviews_are_cached() -> None:
    """The API server reviews a token once until the cached result expires."""
    world = World(skip_lookup=True)
    run(world.chain.start())
    world.server.status = {"authenticated": True, "user": {"username": "bob"}}
    assert [world.user_name(authorization="Bearer t") for _ in range(2)] == ["bob", "bob"]
    ((group, plural, review),) = world.server.reviews
    assert (group, plural, review["spec"]) == ("authentication.orch.io", "tokenreviews", {"token": "t"})
    world.clock.advance(10)
    world.server.status = {"authenticated": False}
    assert world.user_name(authorization="Bearer t") == "401"
    run(world.chain.stop())


def test_without_a_client_tokens_are_not_reviewed() -> None:
    """Without a kubeconfig tokens are rejected and nothing is looked up."""
    world = World(client=False)
    run(world.chain.start())
    assert world.user_name(authorization="Bearer t") == "system:anonymous"
    run(world.chain.stop())


def verdict(server: Server | None, path: str, *groups: str, seconds: Clock | None = None) -> tuple[Decision, str]:
    settings = DelegatedAuthorization(
        config_file="", authorized_ttl=10.0, unauthorized_ttl=10.0, open_paths=("/healthz", "/open/*")
    )
    client: Any = server
    union = delegated_authorizer(settings, client, ORCH, (seconds or Clock()).seconds)
    verdict = run(union.authorize(Action(user=User(name="u", groups=groups), verb="get", path=path)))
    return verdict.decision, verdict.error


def test_access_reviews_decide_except_for_open_paths_and_masters() -> None:
    """Open paths and system:masters need no review; for all others the API server decides, and its failure is an
    error."""
    server = Server()
    assert verdict(server, "/healthz")[0] is Decision.ALLOW
    assert verdict(server, "/open/a/b")[0] is Decision.ALLOW
    assert verdict(server, "/metrics", MASTERS_GROUP)[0] is Decision.ALLOW
    assert not server.reviews
    server.status = {"allowed": True}
    assert verdict(server, "/metrics")[0] is Decision.ALLOW
    ((group, plural, review),) = server.reviews
    assert (group, plural) == ("authorization.orch.io", "subjectaccessreviews")
    assert review["spec"] == {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}, "user": "u"}
    server.status = {"allowed": False}
    assert verdict(server, "/metrics")[0] is Decision.NO_OPINION
    server.error = unavailable("away")
    assert verdict(server, "/metrics") == (Decision.NO_OPINION, "away")
    assert verdict(None, "/metrics")[0] is Decision.NO_OPINION
    assert verdict(None, "/healthzz")[0] is Decision.NO_OPINION


def test_failed_reviews_keep_text_and_code() -> None:
    """A failed review keeps the message and the code of the failure."""
    server: Any = Server()
    server.error = forbidden("authentication.orch.io", "tokenreviews", "", "no")
    with pytest.raises(WebhookError) as caught:
        run(ClientReviews(server).ask({"apiVersion": "authentication.orch.io/v1", "kind": "TokenReview"}))
    assert caught.value.code == 403
