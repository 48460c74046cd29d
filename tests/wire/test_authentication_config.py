"""A real server with an AuthenticationConfiguration file: two issuers, and changes of the file while it runs."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess, exchange
from orchd.testing.processes.ports import free_port
from tests.waiting import until
from tests.wire.identity_doubles import Outside, Pki
from tests.wire.wire_cli import complaints

REVIEW = KUBERNETES("/apis/authentication.{abbr}.io/v1/tokenreviews")
RELOADS = "apiserver_authentication_config_controller_automatic_reloads_total"


class Place:
    """A server that trusts the issuer `first`; `second` is running as well."""

    def __init__(self, folder: Path) -> None:
        self.pki = Pki(folder, "outside")
        self.first, self.second = Outside(self.pki, free_port()), Outside(self.pki, free_port())
        self.path = folder / "authentication.json"
        self.path.write_text(self.document(self.issuer(self.first, "one:")))
        self.server = DaemonProcess(
            folder / "server", "--controllers=-*", f"--authentication-config={self.path}", dialect=KUBERNETES
        )

    def issuer(self, outside: Outside, prefix: str) -> dict[str, Any]:
        return {
            "issuer": {
                "url": outside.url,
                "certificateAuthority": self.pki.ca.read_text(),
                "audiences": ["client", "other"],
                "audienceMatchPolicy": "MatchAny",
            },
            "claimMappings": {
                "username": {"claim": "sub", "prefix": prefix},
                "groups": {"claim": "roles", "prefix": prefix},
                "uid": {"claim": "oid"},
            },
            "claimValidationRules": [{"claim": "hd", "requiredValue": "example"}],
        }

    def document(self, *issuers: Any) -> str:
        conditions = [{"path": path} for path in ("/livez", "/readyz")]
        return json.dumps({
            "apiVersion": KUBERNETES("apiserver.config.{abbr}.io/v1beta1"),
            "kind": "AuthenticationConfiguration",
            "jwt": issuers,
            "anonymous": {"enabled": True, "conditions": conditions},
        })  # fmt: skip

    def replace(self, text: str) -> None:
        """Replace the configuration file as configuration tools do."""
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.replace(self.path)

    def user(self, outside: Outside, **claims: Any) -> Any:
        """The user that the server authenticates by a token of an issuer, None if it rejects the token."""
        token = outside.token(**{"sub": "ann", "roles": ["dev"], "oid": "7", "hd": "example", "jti": "t1", **claims})
        code, review = self.server.request("POST", REVIEW, {"spec": {"token": token}})
        assert code == 201
        return review["status"].get("user") or None

    def metric(self, series: str) -> list[str]:
        connection = self.server.connect()
        code, text = exchange(connection, "GET", "/metrics")
        connection.close()
        assert code == 200
        return [line for line in text.splitlines() if line.startswith(series)]

    def until(self, done: Any) -> None:
        until(done, lambda: self.server.log[-2000:])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("authentication"))
    place.first.start()
    place.second.start()
    with place.server:
        try:
            place.until(lambda: place.user(place.first))
            yield place
        finally:
            place.first.stop()
            place.second.stop()
    assert place.server.status == 0 and complaints(place.server.log) == []
    assert "eyJ" not in place.server.log


def test_claims_become_user_attributes(place: Place) -> None:
    """Claims become name, groups, uid and the token's id; a token that violates a rule is rejected."""
    user = place.user(place.first)
    assert user == {
        "username": "one:ann",
        "uid": "7",
        "groups": ["one:dev", "system:authenticated"],
        "extra": {KUBERNETES("authentication.{long}.io/credential-id"): ["JTI=t1"]},
    }
    assert place.user(place.first, aud="other") == user
    assert place.user(place.first, aud="third") is None
    assert place.user(place.first, hd="elsewhere") is None
    assert place.user(place.second) is None


def test_anonymous_requests_are_limited_to_paths(place: Place) -> None:
    """Without credentials only the listed paths are served."""
    context = ssl.create_default_context(cafile=str(place.server.data / "pki" / "ca.crt"))
    for path, code in (("/livez", 200), ("/readyz", 200), ("/version", 401), ("/livez/ping", 401), ("/api", 401)):
        connection = http.client.HTTPSConnection("127.0.0.1", place.server.port, timeout=PATIENCE, context=context)
        assert exchange(connection, "GET", path)[0] == code, path
        connection.close()


def test_configuration_changes_are_reloaded(place: Place) -> None:
    """An invalid file changes nothing, and is counted and logged; a valid one takes effect as a whole."""
    wrong = place.issuer(place.second, "two:")
    wrong["claimMappings"]["username"] = {"expression": "claim.sub"}
    place.replace(place.document(wrong))
    place.until(lambda: place.metric(f'{RELOADS}{{apiserver_id_hash="sha256:'))
    assert "jwt[0].claimMappings.username.expression: Invalid value" in place.server.log
    assert 'status="failure"' in place.metric(RELOADS)[0] and place.metric(RELOADS)[0].endswith(" 1.0")
    assert place.user(place.first) and place.user(place.second) is None
    digest = place.metric("apiserver_authentication_config_controller_last_config_info")

    place.replace(place.document(place.issuer(place.second, "two:")))
    place.until(lambda: place.user(place.second))
    assert place.user(place.first) is None and place.user(place.second)["username"] == "two:ann"
    assert any('status="success"' in line for line in place.metric(RELOADS))
    assert place.metric("apiserver_authentication_config_controller_last_config_info") != digest
    assert "reloaded the authentication configuration" in place.server.log


def test_invalid_file_fails_the_start(place: Place, tmp_path: Path) -> None:
    """The process ends with the name of the file and the field."""
    path = tmp_path / "wrong.json"
    path.write_text(
        place.document({**place.issuer(place.first, ""), "issuer": {"url": "http://x", "audiences": ["a"]}})
    )
    server = DaemonProcess(tmp_path / "server", f"--authentication-config={path}", dialect=KUBERNETES)
    server.launch()
    assert server.wait() != 0
    assert f"--authentication-config: {path}: jwt[0].issuer.url: Invalid value" in server.log
