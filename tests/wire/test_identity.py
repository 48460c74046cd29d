"""A real server with external authentication and authorization: OpenID, webhooks, a front proxy, bootstrap tokens,
ABAC."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess, exchange
from orchd.testing.processes.ports import free_port
from tests.waiting import until
from tests.wire.identity_doubles import CLIENT_NAME, Outside, Pki
from tests.wire.wire_cli import complaints

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = f"/api/v1/namespaces/{KUBERNETES.system_namespace}/secrets"
REVIEWS = KUBERNETES("/apis/authorization.{abbr}.io/v1/subjectaccessreviews")


class Place:
    """A server and its external services. `late` keeps these down until `outside.start`."""

    def __init__(self, folder: Path) -> None:
        self.pki, self.proxies = Pki(folder, "outside"), Pki(folder, "proxies")
        self.outside = Outside(self.pki, free_port())
        policies = folder / "policies"
        policies.write_text(json.dumps({"user": "filed", "resource": "configmaps", "readonly": True}))
        self.server = DaemonProcess(
            folder / "server",
            "--controllers=-*",
            "--enable-bootstrap-token-auth",
            f"--oidc-issuer-url={self.outside.url}",
            "--oidc-client-id=client",
            f"--oidc-ca-file={self.pki.ca}",
            "--oidc-groups-claim=groups",
            "--oidc-username-prefix=oidc:",
            f"--authentication-token-webhook-config-file={self.outside.configuration('authn.conf', '/authn')}",
            "--authentication-token-webhook-version=v1",
            f"--requestheader-client-ca-file={self.proxies.ca}",
            "--requestheader-allowed-names=proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--authorization-mode=Node,RBAC,ABAC,Webhook",
            f"--authorization-policy-file={policies}",
            f"--authorization-webhook-config-file={self.outside.configuration('authz.conf', '/authz')}",
            dialect=KUBERNETES,
        )

    def ask(self, path: str = MAPS, token: str = "", pair: Any = None, **headers: str) -> tuple[int, Any]:
        context = ssl.create_default_context(cadata=self._authority())
        if pair is not None:
            context.load_cert_chain(*pair)
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=PATIENCE, context=context)
        try:
            shown = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(
                "GET", path, headers={**shown, **({"Authorization": f"Bearer {token}"} if token else {})}
            )
            response = connection.getresponse()
            text = response.read().decode()
            return response.status, json.loads(text) if text.startswith("{") else text
        finally:
            connection.close()

    def _authority(self) -> str:
        return (self.server.data / "pki" / "ca.crt").read_text()

    def until(self, done: Callable[[], bool]) -> None:
        until(done, lambda: self.server.log[-2000:])


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server whose services are not running yet."""
    place = Place(tmp_path_factory.mktemp("identity"))
    with place.server:
        try:
            yield place
        finally:
            place.outside.stop()
    assert place.server.status == 0 and complaints(place.server.log) == []
    assert "outside-guest" not in place.server.log and "Bearer" not in place.server.log


@pytest.fixture(scope="module")
def place(late: Place) -> Place:
    """The same server with running services."""
    token = late.outside.token(sub="early")
    assert late.ask(token=token)[0] == 401
    # The webhook is down: the modes before it decide, and no opinion of them is an error.
    assert late.server.request("GET", MAPS)[0] == 200
    code, text = late.ask(path="/custom")
    assert code == 500 and text.startswith('Internal Server Error: "/custom": Post "https://127.0.0.1')
    late.outside.start()
    late.until(lambda: late.ask(token=token)[0] == 403)
    return late


def message(response: tuple[int, Any]) -> str:
    assert response[0] == 403, response
    text: str = response[1]["message"]
    return text


def test_oidc_token_authenticates(place: Place) -> None:
    """A token of the issuer authenticates a user with groups; one signed by another key is rejected."""
    assert 'User "oidc:ann"' in message(place.ask(token=place.outside.token(sub="ann")))
    group = [{"kind": "Group", "apiGroup": KUBERNETES("rbac.authorization.{abbr}.io"), "name": "eng"}]
    role = {"kind": "ClusterRole", "apiGroup": KUBERNETES("rbac.authorization.{abbr}.io"), "name": "cluster-admin"}
    rules = KUBERNETES("/apis/rbac.authorization.{abbr}.io/v1/clusterrolebindings")
    assert (
        place.server.request("POST", rules, {"metadata": {"name": "eng"}, "subjects": group, "roleRef": role})[0] == 201
    )
    member = place.outside.token(sub="ann", groups=["eng"])
    place.until(lambda: place.ask(token=member)[0] == 200)
    forged = Outside(place.pki, place.outside.port).token(sub="ann", groups=["eng"])
    assert place.ask(token=forged)[0] == 401


def test_token_webhook_is_called_once(place: Place) -> None:
    """An unknown token is sent to the webhook once, with the server's client certificate."""
    for _ in range(3):
        assert 'User "guest"' in message(place.ask(token="outside-guest"))
    assert place.ask(token="unheard-of")[0] == 401
    seen = [(document["spec"]["token"], caller) for path, document, caller in place.outside.calls if path == "/authn"]
    assert seen.count(("outside-guest", CLIENT_NAME)) == 1 and ("unheard-of", CLIENT_NAME) in seen


def test_authorization_modes_are_asked_in_order(place: Place) -> None:
    """The ABAC file is evaluated before the webhook, which may allow, deny, or have no opinion."""

    def asked(user: str, verb: str = "get") -> dict[str, Any]:
        attributes = {"verb": verb, "resource": "configmaps", "namespace": "default"}
        code, review = place.server.request("POST", REVIEWS, {"spec": {"user": user, "resourceAttributes": attributes}})
        assert code == 201
        status: dict[str, Any] = review["status"]
        return status

    assert asked("welcome") == {"allowed": True}
    assert asked("refused") == {"allowed": False, "denied": True, "reason": "not you"}
    assert asked("whoever") == {"allowed": False, "reason": "No policy matched."}
    # A policy line without apiVersion matches every API group, but only authenticated users: nobody here has that
    # group.
    assert asked("filed") == {"allowed": True}
    users = [document["spec"]["user"] for path, document, _ in place.outside.calls if path == "/authz"]
    assert "filed" not in users and "welcome" in users


def test_front_proxy_headers_are_trusted(place: Place) -> None:
    """Headers are accepted from the proxy only, and extension servers can read its CA."""
    proxy, other = place.proxies.pair("proxy"), place.proxies.pair("other")
    assert 'User "eve"' in message(place.ask(pair=proxy, X_Remote_User="eve"))
    code, _ = place.ask(pair=proxy, X_Remote_User="eve", X_Remote_Group="system:masters")
    assert code == 200
    assert place.ask(pair=other, X_Remote_User="eve")[0] == 401
    assert 'User "system:anonymous"' in message(place.ask(X_Remote_User="eve"))
    path = f"/api/v1/namespaces/{KUBERNETES.system_namespace}/configmaps/extension-apiserver-authentication"
    data = place.server.request("GET", path)[1]["data"]
    assert (
        data["requestheader-username-headers"] == '["X-Remote-User"]'
        and data["requestheader-allowed-names"] == '["proxy"]'
    )
    assert data["requestheader-client-ca-file"] == place.proxies.ca.read_text()


def test_bootstrap_token_authenticates_until_deleted(place: Place) -> None:
    """A bootstrap token secret authenticates until it is deleted."""
    values = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}
    secret = {
        "metadata": {"name": "bootstrap-token-abcdef"}, "stringData": values, "type": KUBERNETES("bootstrap.{long}.io/token"),
    }  # fmt: skip
    token = "abcdef.0123456789abcdef"
    assert place.server.request("POST", SECRETS, secret)[0] == 201
    place.until(lambda: place.ask(token=token)[0] == 403)
    assert 'User "system:bootstrap:abcdef"' in message(place.ask(token=token))
    assert place.server.request("DELETE", f"{SECRETS}/bootstrap-token-abcdef")[0] == 200
    place.until(lambda: place.ask(token=token)[0] == 401)


def test_identity_metrics_are_counted(place: Place) -> None:
    """Requests to external services are counted."""
    connection = place.server.connect()
    code, text = exchange(connection, "GET", "/metrics")
    connection.close()
    assert code == 200
    for name in (
        'apiserver_delegated_authn_request_total{code="200"}',
        'apiserver_delegated_authz_request_total{code="200"}',
        'authentication_token_cache_request_total{status="hit"}',
        'authentication_attempts{result="success"}',
        'authentication_duration_seconds_bucket{le="0.001",result="success"}',
        'authenticated_user_requests{username="other"}',
    ):
        assert name in text
