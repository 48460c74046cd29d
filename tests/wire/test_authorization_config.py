"""A real server with an AuthorizationConfiguration file: two webhooks, and changes of the file while it runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.testing.processes.daemon import DaemonProcess, exchange
from orchd.testing.processes.ports import free_port
from tests.waiting import until
from tests.wire.identity_doubles import Outside, Pki
from tests.wire.wire_cli import complaints

REVIEWS = KUBERNETES("/apis/authorization.{abbr}.io/v1/subjectaccessreviews")
RBAC = {"type": "RBAC", "name": "rbac"}


class Gate(Outside):
    """A webhook that denies users whose name begins with `denied`, and allows those whose name begins with
    `allowed`."""

    denied, allowed = "refused", "welcome"

    def review(self, document: Any) -> Any:
        user = document["spec"]["user"]
        return {
            "allowed": user.startswith(self.allowed),
            "denied": user.startswith(self.denied),
            "reason": f"by {self.denied}",
        }


class Place:
    def __init__(self, folder: Path) -> None:
        self.pki = Pki(folder, "outside")
        self.first, self.second = Gate(self.pki, free_port()), Gate(self.pki, free_port())
        self.second.denied, self.second.allowed = "late", "later"
        self.path = folder / "authorization.json"
        self.first_file = self.first.configuration("first.conf", "/first")
        self.second_file = self.second.configuration("second.conf", "/second")
        self.path.write_text(self.document(self.webhook("first", self.first_file), RBAC))
        self.server = DaemonProcess(
            folder / "server", "--controllers=-*", f"--authorization-config={self.path}", dialect=KUBERNETES
        )

    def webhook(self, name: str, file: Path, policy: str = "Deny") -> dict[str, Any]:
        connection = {"type": KUBERNETES("{Short}ConfigFile"), KUBERNETES("{short}ConfigFile"): str(file)}
        return {
            "type": "Webhook",
            "name": name,
            "webhook": {
                "timeout": "10s", "subjectAccessReviewVersion": "v1", "failurePolicy": policy, "connectionInfo": connection,
                "cacheAuthorizedRequests": False, "cacheUnauthorizedRequests": False,
            },
        }  # fmt: skip

    def document(self, *authorizers: Any) -> str:
        head = {"apiVersion": KUBERNETES("apiserver.config.{abbr}.io/v1"), "kind": "AuthorizationConfiguration"}
        return json.dumps({**head, "authorizers": authorizers})

    def replace(self, text: str) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.replace(self.path)

    def asked(self, user: str) -> dict[str, Any]:
        attributes = {"verb": "get", "resource": "configmaps", "namespace": "default"}
        code, review = self.server.request("POST", REVIEWS, {"spec": {"user": user, "resourceAttributes": attributes}})
        assert code == 201
        status: dict[str, Any] = review["status"]
        return status

    def metrics(self) -> str:
        connection = self.server.connect()
        code, text = exchange(connection, "GET", "/metrics")
        connection.close()
        assert code == 200
        shown: str = text
        return shown

    def until(self, done: Callable[[], object]) -> None:
        until(done, lambda: self.server.log[-2000:])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("authorization"))
    place.first.start()
    place.second.start()
    with place.server:
        try:
            yield place
        finally:
            place.first.stop()
            place.second.stop()
    assert place.server.status == 0 and complaints(place.server.log) == []


def test_webhooks_are_added_and_removed_with_the_file(place: Place) -> None:
    """A webhook before RBAC may deny what roles allow; further ones are added and removed with the file."""
    assert place.asked("welcome") == {"allowed": True, "reason": "by refused"}
    assert place.asked("refused") == {"allowed": False, "denied": True, "reason": "by refused"}
    assert not place.asked("later")["allowed"]

    place.replace(place.document(place.webhook("first", place.first_file)))
    place.until(lambda: "missing required types: ['RBAC']" in place.server.log)
    assert place.asked("welcome")["allowed"]

    both = place.webhook("first", place.first_file), place.webhook("second", place.second_file)
    place.replace(place.document(*both, RBAC))
    place.until(lambda: place.asked("later").get("denied"))
    assert place.asked("later")["reason"] == "by late"
    assert place.second.calls[0][0] == "/second" and place.second.queries[0] == "timeout=10s"
    metrics = place.metrics()
    for series in (
        'apiserver_authorization_decisions_total{decision="denied",name="first",type="Webhook"} 1.0',
        'apiserver_authorization_webhook_evaluations_total{name="second",result="success"}',
        'apiserver_authorization_webhook_duration_seconds_count{name="first",result="success"}',
        'apiserver_authorization_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:',
    ):
        assert series in metrics, metrics
    reloads = [
        line for line in metrics.splitlines() if "authorization_config_controller_automatic_reloads_total{" in line
    ]
    assert sorted(line.partition('status="')[2] for line in reloads) == ['failure"} 1.0', 'success"} 1.0']


def test_failing_webhook_denies_or_has_no_opinion(place: Place, tmp_path: Path) -> None:
    """A failing webhook denies with an error, or leaves the decision to later authorizers, as configured."""
    nobody = tmp_path / "nobody.conf"
    nobody.write_text(place.first_file.read_text().replace(f":{place.first.port}", ":1"))
    place.replace(place.document(place.webhook("closed", nobody), RBAC))
    place.until(lambda: "connection refused" in place.asked("welcome").get("evaluationError", ""))
    assert place.asked("welcome")["denied"] is True
    # Members of the masters group, such as this test, are never checked.
    assert place.server.request("GET", "/api/v1/namespaces")[0] == 200
    place.replace(place.document(place.webhook("open", nobody, "NoOpinion"), RBAC))
    place.until(lambda: "denied" not in place.asked("welcome"))
    metrics = place.metrics()
    assert 'apiserver_authorization_webhook_evaluations_fail_open_total{name="open",result="error"}' in metrics
    assert 'fail_open_total{name="closed"' not in metrics
    place.replace(place.document(place.webhook("first", place.first_file), RBAC))
    place.until(lambda: place.asked("welcome")["allowed"])
