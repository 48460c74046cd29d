"""Issuers of an AuthenticationConfiguration file, and reloads of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.assembly.jwt_configuration import JwtConfiguration
from orchd.assembly.outbound_services import IssuerServices
from orchd.dialect import ORCH
from orchd.server.authn.anonymous import Anonymous
from orchd.server.authn.interfaces import AuthenticationError, Credentials
from orchd.server.authn.metrics import JwtMetrics, TokenCacheMetrics
from orchd.server.outbound.webhooks import WebhookError, WebhookResponse
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import make_server, run
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.config_file_watcher import digest
from tests.server.authn.rsa_keys import RSA
from tests.server.authn.test_oidc import NOW, jwk, sign

ONE, TWO = "https://one.example", "https://two.example"


class Web:
    """Reachable issuers by URL, each with the same keys."""

    def __init__(self, *urls: str) -> None:
        self.there = set(urls)

    async def call(self, method: str, url: str, seconds: float, **given: Any) -> WebhookResponse:
        issuer, _, path = url.replace("/.well-known", "").rpartition("/")
        if issuer not in self.there:
            raise WebhookError(f'Get "{url}": dial tcp: connection refused')
        page = {"issuer": issuer, "jwks_uri": f"{issuer}/keys"} if path != "keys" else {"keys": [jwk(RSA, kid="one")]}
        return WebhookResponse(code=200, data=json.dumps(page).encode())


def text(*urls: str, prefix: str = "", **more: Any) -> str:
    jwt = [
        {"issuer": {"url": url, "audiences": ["c"]}, "claimMappings": {"username": {"claim": "sub", "prefix": prefix}}}
        for url in urls
    ]
    return json.dumps(
        {"apiVersion": ORCH("apiserver.config.{abbr}.io/v1"), "kind": "AuthenticationConfiguration", "jwt": jwt, **more}
    )


class Configured:
    def __init__(self, path: Path, web: Web, *urls: str) -> None:
        self.path, self.web, self.clock = path, web, Clock()
        self.numbers = JwtMetrics("me", lambda: float(NOW))
        path.write_text(text(*urls))
        services = IssuerServices(
            reactor=self.clock,
            wall=lambda: float(NOW),
            calls={"": web},  # type: ignore[dict-item]  # as much of a client as is used
            token_cache=TokenCacheMetrics(),
            metrics=self.numbers,
            compute=ComputeThread(),
        )
        self.jwt = JwtConfiguration(str(path), ORCH, services, audiences=("api",), disallowed=("https://accounts",))
        self.jwt.begin()
        result_of(self.jwt.file.start())

    def stop(self) -> None:
        result_of(self.jwt.file.stop())
        result_of(self.jwt.stop())

    def user_name(self, issuer: str) -> str | None:
        token = sign({"iss": issuer, "aud": "c", "sub": "ann", "exp": NOW + 600})
        identity = result_of(self.jwt.tokens.authenticate_token(token, ("api",)))
        return None if identity is None else identity.user.name

    def replace(self, contents: str) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(contents)
        new.replace(self.path)
        self.clock.advance(1)

    @property
    def counts(self) -> tuple[int, int]:
        return self.jwt.file.counts.succeeded, self.jwt.file.counts.failed


@pytest.fixture
def configured(tmp_path: Path) -> Any:
    configured = Configured(tmp_path / "authn.json", Web(ONE, TWO), ONE)
    yield configured
    configured.stop()
    assert not configured.clock.getDelayedCalls()


def test_tokens_of_every_configured_issuer_are_accepted(configured: Configured) -> None:
    """Tokens of all configured issuers are accepted; those of another issuer are rejected."""
    assert (configured.user_name(ONE), configured.user_name(TWO)) == ("ann", None)
    configured.replace(text(ONE, TWO))
    assert (configured.user_name(ONE), configured.user_name(TWO)) == ("ann", "ann")
    assert configured.counts == (1, 0)
    for rubbish in ("", "a.b.c", sign({"sub": "x"})):
        assert result_of(configured.jwt.tokens.authenticate_token(rubbish, ("api",))) is None


def test_egress_types_of_issuers_must_be_configured(configured: Configured) -> None:
    """An issuer whose egress type is not configured is refused: its connections would not take the proxy."""
    document = json.loads(text(ONE))
    document["jwt"][0]["issuer"]["egressSelectorType"] = "cluster"
    with pytest.raises(ValueError, match='egress type "cluster" is not configured'):
        result_of(configured.jwt.apply(json.dumps(document).encode()))


def test_removed_issuers_are_dropped_from_caches(configured: Configured) -> None:
    """Cached results of a removed issuer, or of a claim mapping that changed, are not used."""
    assert configured.user_name(ONE) == "ann"
    configured.replace(text(ONE, prefix="p:"))
    assert configured.user_name(ONE) == "p:ann"
    configured.replace(text(TWO))
    assert configured.user_name(ONE) is None


def test_metrics_are_labelled_with_the_issuers_digest(configured: Configured) -> None:
    """Authentications and key set fetches are counted by the digest of the issuer while it is configured."""

    def samples() -> dict[str, float]:
        values = {}
        for instrument in configured.numbers.instruments:
            for sample in instrument.family().samples:
                if sample.name.endswith(("_count", "_seconds", "_info")):
                    short = sample.name.removeprefix("apiserver_authentication_jwt_authenticator_")
                    values[
                        f"{short} {sample.labels.get('result', '')} {sample.labels['jwt_issuer_hash']}".replace(
                            digest(ONE.encode()), "one"
                        )
                    ] = sample.value
        return values

    configured.user_name(ONE)
    with pytest.raises(AuthenticationError):
        result_of(
            configured.jwt.tokens.authenticate_token(
                sign({"iss": ONE, "aud": "x", "sub": "a", "exp": NOW + 9}), ("api",)
            )
        )
    assert samples() == {
        "latency_seconds_count success one": 1.0, "latency_seconds_count failure one": 1.0,
        "jwks_fetch_last_timestamp_seconds success one": float(NOW), "jwks_fetch_last_key_set_info  one": 1.0,
    }  # fmt: skip
    configured.replace(text(TWO))
    assert not [name for name in samples() if "jwks" in name]


@pytest.mark.parametrize("bad", ["", "{", text("http://x"), text("https://accounts"), text(ONE).replace('"sub"', "3")])
def test_invalid_file_keeps_the_last_configuration(configured: Configured, bad: str) -> None:
    """The last valid configuration stays in effect, and the failed reload is counted once."""
    configured.replace(bad)
    configured.clock.advance(1)
    assert configured.user_name(ONE) == "ann" and configured.counts == (0, 1)


def test_unreachable_issuer_delays_no_other(configured: Configured) -> None:
    """A new issuer that is not reached is tried again every minute; an issuer that the file no longer has is dropped at
    once."""
    configured.web.there.remove(TWO)
    configured.replace(text(TWO))
    assert configured.user_name(ONE) is None and configured.counts == (0, 0)
    configured.clock.pump([0.25] * 260)
    assert configured.user_name(TWO) is None and configured.counts == (0, 1)
    configured.web.there.add(TWO)
    configured.clock.pump([0.25] * 60)
    assert (configured.user_name(ONE), configured.user_name(TWO)) == (None, "ann") and configured.counts == (1, 1)


def test_unchanged_issuer_need_not_be_reached_again(configured: Configured) -> None:
    """An issuer that was reached before continues while its server is away, and does not fail the reload."""
    assert configured.user_name(ONE) == "ann"
    configured.web.there.remove(ONE)
    configured.replace(text(ONE, TWO))
    assert (configured.user_name(ONE), configured.user_name(TWO)) == ("ann", "ann") and configured.counts == (1, 0)


def test_changed_issuer_is_used_as_before_until_it_is_reached(configured: Configured) -> None:
    """While the server of a changed issuer is away, its previous rules apply; the file can be changed back."""
    assert configured.user_name(ONE) == "ann"
    configured.web.there.remove(ONE)
    configured.replace(text(ONE, prefix="p:"))
    configured.clock.pump([0.25] * 260)
    assert configured.user_name(ONE) == "ann" and configured.counts == (0, 1)
    configured.web.there.add(ONE)
    configured.clock.pump([0.25] * 300)
    assert configured.user_name(ONE) == "p:ann"


def test_partly_applied_file_can_be_changed_back(configured: Configured) -> None:
    """After a file of which only parts could be used, the contents before it are read again."""
    configured.web.there.remove(TWO)
    configured.replace(text(TWO))
    configured.clock.pump([0.25] * 260)
    assert configured.user_name(ONE) is None
    configured.replace(text(ONE))
    configured.clock.pump([0.25] * 300)
    assert configured.user_name(ONE) == "ann"


def test_next_contents_do_not_wait_for_an_unreachable_issuer(configured: Configured) -> None:
    """An issuer that is removed while another one is awaited is dropped within seconds."""
    configured.web.there.remove(TWO)
    configured.replace(text(ONE, TWO))
    configured.clock.advance(1)
    assert configured.user_name(ONE) == "ann" and configured.counts == (0, 0)
    configured.replace(text(TWO))
    configured.clock.pump([0.25] * 8)
    assert configured.user_name(ONE) is None and configured.counts == (0, 1)


def test_token_of_an_unreachable_issuer_is_an_error(tmp_path: Path) -> None:
    """A token of an issuer that was never reached is an error, not an anonymous request; stopping ends the attempts."""
    configured = Configured(tmp_path / "authn.json", Web(), ONE)
    with pytest.raises(AuthenticationError, match="oidc: authenticator not initialized"):
        configured.user_name(ONE)
    configured.replace(text(TWO))
    configured.stop()
    assert not configured.clock.getDelayedCalls()


def test_anonymous_requests_are_limited_to_paths() -> None:
    """With conditions, anonymous requests are allowed on exactly the listed paths."""
    limited = Anonymous(("/livez",))
    paths = {
        path: result_of(limited.authenticate(Credentials(headers={}, path=path))) is not None
        for path in ("/livez", "/livez/", "/api", "")
    }
    assert paths == {"/livez": True, "/livez/": False, "/api": False, "": False}
    assert result_of(Anonymous().authenticate(Credentials(headers={}, path="/api"))) is not None


def anonymous(folder: Path, file: str, *flags: str) -> bool:
    (folder / "authn.json").write_text(file)
    server = make_server(folder / "server", f"--authentication-config={folder / 'authn.json'}", *flags)
    try:
        run(server.server.access.authentication.chain.authenticate(Credentials(headers={}, path="/x")))
    except Exception as error:
        assert getattr(error, "code", 0) == 401
        return False
    finally:
        server.stop()
    return True


@pytest.mark.parametrize(("given", "flags", "served"), [
    ({}, (), True),
    ({}, ("--anonymous-auth=false",), False),
    ({"anonymous": {"enabled": False}}, (), False),
    ({"anonymous": {"enabled": True}}, (), True),
    ({"anonymous": {"enabled": True}}, ("--authorization-mode=AlwaysAllow",), False),
    ({"anonymous": {"enabled": True, "conditions": [{"path": "/livez"}]}}, (), False),
    ({"anonymous": {"enabled": True, "conditions": [{"path": "/x"}]}}, (), True),
])  # fmt: skip
def test_file_overrides_the_anonymous_flag(
    tmp_path: Path, given: dict[str, Any], flags: tuple[str, ...], served: bool
) -> None:
    """The file overrides --anonymous-auth; with AlwaysAllow anonymous requests are always rejected."""
    assert anonymous(tmp_path, text(**given), *flags) is served


def test_anonymous_flag_and_file_exclude_each_other(tmp_path: Path) -> None:
    """The flag and the file must not both configure anonymous requests."""
    with pytest.raises(ValueError, match="--authentication-config: --anonymous-auth flag cannot be set when"):
        anonymous(tmp_path, text(anonymous={"enabled": True}), "--anonymous-auth=true")


@pytest.mark.parametrize(("file", "why"), [
    (None, "--authentication-config: .*No such file"),
    ("{}", "--authentication-config: .*authn.json: Object 'Kind' is missing"),
    (text("http://x"), "--authentication-config: .*authn.json: jwt\\[0\\].issuer.url: Invalid value"),
])  # fmt: skip
def test_invalid_file_fails_the_start(tmp_path: Path, file: str | None, why: str) -> None:
    """The error names the flag, the file and the field."""
    path = tmp_path / "authn.json"
    if file is not None:
        path.write_text(file)
    with pytest.raises(ValueError, match=why):
        make_server(tmp_path / "server", f"--authentication-config={path}")
