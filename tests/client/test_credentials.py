"""Credentials and rate limit of a client: Authorization headers, impersonation headers and throttling."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from twisted.internet.task import Clock

from orchd.client.credentials import Credential, CredentialError, Credentials, ExecCredential, impersonation_headers
from orchd.client.metrics import template
from orchd.client.protobuf_bodies import ProtobufBodies
from orchd.client.requests import Call
from orchd.client.throttle import Throttle
from orchd.dialect import KUBERNETES
from orchd.kinds.release import SPECIFICATION
from orchd.pki.clientconfig import ClientConfig, Impersonation
from orchd.txkit.coroutines import start


class Plugin:
    """Credentials of an exec plugin that must not run."""

    async def get(self) -> Any:
        raise AssertionError("asked for")


def header(credentials: Credentials, config: ClientConfig) -> str:
    waiting = start(credentials.get(config))
    headers: list[Any] = []
    waiting.addBoth(headers.append)
    if hasattr(headers[0], "raiseException"):
        headers[0].raiseException()
    return str(headers[0].authorization)


class Issuer:
    """Credentials of an exec plugin that were issued, and those that were refused."""

    def __init__(self, **issued: Any) -> None:
        self.issued = ExecCredential(**issued)
        self.refusals: list[ExecCredential] = []

    async def get(self) -> ExecCredential:
        return self.issued

    def refused(self, credential: ExecCredential) -> None:
        self.refusals.append(credential)


@pytest.mark.parametrize(
    ("issued", "expected"),
    [
        ({"token": "t"}, ("Bearer t", b"own", b"own key")),
        ({"certificate": b"c", "key": b"k"}, ("", b"c", b"k")),
        ({"token": "t", "certificate": b"c", "key": b"k"}, ("Bearer t", b"c", b"k")),
    ],
)
def test_credentials_of_a_plugin(issued: dict[str, Any], expected: tuple[str, bytes, bytes]) -> None:
    """What a plugin issues is sent, with the configured certificate if it issues none; a refusal is told to it."""
    config, issuer = ClientConfig(server="https://h", certificate=b"own", key=b"own key"), Issuer(**issued)
    credentials = Credentials(config, lambda: 0.0, issuer)
    credential: Any = start(credentials.get(config)).result
    assert (credential.authorization, credential.certificate, credential.key) == expected
    credentials.refused(credential)
    assert issuer.refusals == [issuer.issued]
    credentials.refused(Credential("", b"", b""))
    assert len(issuer.refusals) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"username": "jane", "password": "p:w"}, "Basic amFuZTpwOnc="),
        ({"username": "jane"}, "Basic amFuZTo="),
        ({"password": "p"}, "Basic OnA="),
        ({}, ""),
    ],
)
def test_authorization_headers_by_credential(given: dict[str, Any], expected: str) -> None:
    """A token is sent as a bearer token, a password with the basic scheme; both take precedence over an exec plugin."""
    config = ClientConfig(server="https://h", **given)
    plugin: Any = Plugin() if given else None
    assert header(Credentials(config, lambda: 0.0, plugin), config) == expected


@pytest.mark.parametrize("token", ["a\r\nX-Remote-User: root", "a\x00", "\u00e9"])
def test_tokens_are_checked_before_they_are_sent(token: str) -> None:
    """A token that would end its header is not sent, and not shown in the error."""
    config = ClientConfig(server="https://h", token=token)
    with pytest.raises(CredentialError, match=r"the token has characters other than those of printable ASCII\Z"):
        header(Credentials(config, lambda: 0.0, None), config)


def test_token_file_is_reread_after_a_minute_and_after_401(tmp_path: Path) -> None:
    """A token file is read again after a minute and after a 401; while it cannot be read, the last token stays in
    use."""
    path = tmp_path / "token"
    path.write_text("one\n")
    now = [0.0]
    config = ClientConfig(server="https://h", token_file=str(path))
    credentials = Credentials(config, lambda: now[0], None)
    assert header(credentials, config) == "Bearer one"
    path.write_text("two")
    now[0] = 59.0
    assert header(credentials, config) == "Bearer one"
    now[0] = 60.0
    assert header(credentials, config) == "Bearer two"
    path.write_text("three")
    waiting: Any = start(credentials.get(config)).result
    credentials.refused(waiting)
    assert header(credentials, config) == "Bearer three"
    path.unlink()
    now[0] = 200.0
    assert header(credentials, config) == "Bearer three"


def test_missing_or_empty_token_file_is_an_error(tmp_path: Path) -> None:
    """A token file that is missing from the start, or empty, is an error that names it."""
    config = ClientConfig(server="https://h", token_file=str(tmp_path / "token"))
    with pytest.raises(CredentialError, match="failed to read token file") as missing:
        header(Credentials(config, lambda: 0.0, None), config)
    assert (missing.value.code, missing.value.reason) == (401, "Unauthorized")
    fallback = replace(config, token="t")
    assert header(Credentials(fallback, lambda: 0.0, None), fallback) == "Bearer t"
    (tmp_path / "token").write_text("\n")
    with pytest.raises(CredentialError, match="read empty token"):
        header(Credentials(config, lambda: 0.0, None), config)


def test_impersonation_headers() -> None:
    """Groups and extra values have a header each; names of extra fields are escaped."""
    who = Impersonation(user="jane", uid="7", groups=("a", "b"), extra=(("example.org/scope", ("x", "y")),))
    assert list(impersonation_headers(who)) == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.org%2Fscope", "x"),
        ("Impersonate-Extra-example.org%2Fscope", "y"),
    ]
    assert not impersonation_headers(None)


def test_throttle_allows_a_burst_and_then_the_rate() -> None:
    """A burst is sent at once, further requests at the rate; a cancelled request frees its place."""
    clock = Clock()
    throttle = Throttle(clock, qps=2, burst=3)
    waiting = [start(throttle.wait()) for _ in range(5)]
    assert [one.called for one in waiting] == [True, True, True, False, False]
    clock.advance(0.5)
    assert waiting[3].called and not waiting[4].called
    waiting[4].addErrback(lambda failure: None)
    waiting[4].cancel()
    late = start(throttle.wait())
    clock.advance(0.5)
    assert late.called
    assert all(start(Throttle(clock, qps=0, burst=0).wait()).called for _ in range(100))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/pods", "/api/v1/pods"),
        ("/api/v1/namespaces", "/api/v1/namespaces"),
        ("/api/v1/namespaces/a", "/api/v1/namespaces/{name}"),
        ("/api/v1/namespaces/a/finalize", "/api/v1/namespaces/{name}/finalize"),
        ("/api/v1/namespaces/a/pods", "/api/v1/namespaces/{namespace}/pods"),
        ("/api/v1/namespaces/a/pods/b/log", "/api/v1/namespaces/{namespace}/pods/{name}/log"),
        ("/api/v1/nodes/n", "/api/v1/nodes/{name}"),
        ("/apis/apps/v1/namespaces/a/deployments/d", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"),
        ("/version", "/version"),
    ],
)
def test_metric_urls_have_no_object_names(path: str, expected: str) -> None:
    """URLs in metrics are templates without the names of objects."""
    assert template(path) == expected


def test_built_in_kinds_are_sent_as_protobuf() -> None:
    """Objects of built-in kinds are sent as protobuf; objects without a protobuf form, or without a kind, as JSON."""
    encode = ProtobufBodies(KUBERNETES, SPECIFICATION, responses=False).encode
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    data, content_type = encode(Call(method="POST", path="/", body=pod))
    assert content_type == "application/vnd.kubernetes.protobuf"
    assert data.startswith(b"k8s\x00")
    for body in ({"metadata": {"name": "p"}}, {"apiVersion": "a.example/v1", "kind": "Own"}):
        assert encode(Call(method="POST", path="/", body=body)) == (orjson.dumps(body), "application/json")
    patch = Call(method="PATCH", path="/", body=pod, content_type="application/merge-patch+json")
    assert encode(patch)[1] == "application/merge-patch+json"
