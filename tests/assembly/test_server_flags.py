"""What flags add to a whole server: response headers, issuer discovery, profiling, the certificate folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.logger import capturedLogs

from orchd.testing.doubles.server import make_server, run
from orchd.txkit.log import set_verbosity


def test_cors_and_hsts_headers_are_in_every_response(tmp_path: Path) -> None:
    """Every response has the headers, errors included; a preflight request needs no credentials."""
    server = make_server(
        tmp_path, "--cors-allowed-origins=^https://ui$", "--strict-transport-security-directives=max-age=60,preload",
        "--anonymous-auth=false",
    )  # fmt: skip
    response = run(server.request("GET", "/nowhere", headers={"Origin": "https://ui"}))
    assert response.code == 404 and response.headers["Access-Control-Allow-Origin"] == "https://ui"
    assert response.headers["Strict-Transport-Security"] == "max-age=60; preload"
    assert run(server.request("OPTIONS", "/api/v1/pods", headers={"Origin": "https://ui"})).code == 204
    server.stop()


def test_stopping_server_answers_429_after_the_delay(tmp_path: Path) -> None:
    """After the shutdown delay, while requests are still running, new requests get 429 and probes are answered."""
    server = make_server(tmp_path, "--shutdown-send-retry-after", "--shutdown-delay-duration=5s")
    server.server.api.in_flight.executing[False].add()
    stopped = server.server.service.stopService()
    assert run(server.request("GET", "/version")).code == 200
    server.clock.advance(5)
    response = run(server.request("GET", "/version"))
    assert response.code == 429 and response.headers["Retry-After"] == "5"
    assert run(server.request("GET", "/livez")).code == 200 and not stopped.called
    server.server.api.in_flight.executing[False].remove()
    server.stop()


@pytest.mark.parametrize(
    ("flags", "uri"),
    [
        (("--external-hostname=api.example",), "https://api.example:6443/openid/v1/jwks"),
        (("--external-hostname=api.example:443",), "https://api.example:443/openid/v1/jwks"),
        (("--service-account-jwks-uri=https://keys.example/set",), "https://keys.example/set"),
    ],
)
def test_service_account_issuer_discovery_is_served(tmp_path: Path, flags: tuple[str, ...], uri: str) -> None:
    """The discovery document links to the key set, which is served."""
    server = make_server(tmp_path, "--service-account-issuer=https://issuer.example", *flags)
    document = run(server.request("GET", "/.well-known/openid-configuration"))
    assert document.headers["Cache-Control"] == "public, max-age=3600"
    assert document.json["issuer"] == "https://issuer.example" and document.json["jwks_uri"] == uri
    keys = run(server.request("GET", "/openid/v1/jwks"))
    assert keys.response.content_type == "application/jwk-set+json" and keys.json["keys"][0]["use"] == "sig"
    server.stop()


@pytest.mark.parametrize("switch", ["true", "false"])
def test_profiling_endpoints_follow_the_flag(tmp_path: Path, switch: str) -> None:
    """Stacks and objects of the process are served unless --profiling=false."""
    server = make_server(tmp_path, f"--profiling={switch}")
    codes = {run(server.request("GET", f"/debug/pprof{path}")).code for path in ("/", "/goroutine", "/heap")}
    assert codes == ({200} if switch == "true" else {404})
    if switch == "true":
        assert b"test_edges" in run(server.request("GET", "/debug/pprof/goroutine")).body
        assert b"builtins.dict" in run(server.request("GET", "/debug/pprof/heap")).body
        assert run(server.request("GET", "/debug/pprof/profile?seconds=0.05")).code == 200
        for wrong in ("0", "x", "301", "nan"):
            assert run(server.request("GET", f"/debug/pprof/profile?seconds={wrong}")).code == 400
    server.stop()


def test_cert_dir_holds_the_serving_certificate(tmp_path: Path) -> None:
    """--cert-dir holds the serving certificate; everything else stays in the data folder."""
    server = make_server(tmp_path / "data", f"--cert-dir={tmp_path / 'certificates'}")
    assert sorted(p.name for p in (tmp_path / "certificates").iterdir()) == ["apiserver.crt", "apiserver.key"]
    assert not (tmp_path / "data" / "pki" / "apiserver.crt").exists()
    assert (tmp_path / "data" / "pki" / "ca.crt").exists()
    server.stop()


@pytest.mark.parametrize(("flag", "lines"), [("-v=2", 0), ("-v=3", 1)])
def test_requests_are_logged_from_verbosity_3(tmp_path: Path, flag: str, lines: int) -> None:
    """From -v=3 on, each request is logged in one line."""
    server = make_server(tmp_path, flag)
    with capturedLogs() as events:
        run(server.request("GET", "/version"))
    assert len([e for e in events if e["log_namespace"] == "orchd.requests"]) == lines
    server.stop()


@pytest.mark.parametrize(("gate", "above"), [("true", 128 << 10), ("false", None)])
def test_compression_gate_reaches_connections(tmp_path: Path, gate: str, above: int | None) -> None:
    """The APIResponseCompression feature gate reaches the connections."""
    server = make_server(tmp_path, f"--feature-gates=APIResponseCompression={gate}")
    assert server.server.frontend.factory.limits.gzip_above == above
    server.stop()


def test_verbosity_changes_while_the_server_runs(tmp_path: Path) -> None:
    """PUT of a number to /debug/flags/v changes whether requests are logged; other methods and texts are refused."""
    server = make_server(tmp_path)
    try:
        with capturedLogs() as events:
            assert run(server.request("PUT", "/debug/flags/v", body=b"3")).body == (
                b"successfully set klog.logging.verbosity to 3"
            )
            run(server.request("GET", "/version"))
        assert [e["uri"] for e in events if e["log_namespace"] == "orchd.requests"] == ['"/version"']
        wrong = run(server.request("PUT", "/debug/flags/v", body=b"4294967296"))
        assert (wrong.code, wrong.body) == (400, b'strconv.ParseUint: parsing "4294967296": value out of range')
        assert run(server.request("GET", "/debug/flags/v")).code == 406
        assert b"<tr>v<br>" in run(server.request("GET", "/debug/flags")).body
    finally:
        set_verbosity(lambda namespace: 0)
        server.stop()


@pytest.mark.parametrize("release", ["1.23", "1.35"])
def test_delete_resets_metrics(tmp_path: Path, release: str) -> None:
    """DELETE /metrics forgets what was counted by labels, unless --profiling=false: then it reads the metrics."""
    asked = b'apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="namespaces"'
    arguments = "--dialect=kubernetes", f"--emulated-version={release}"
    server = make_server(tmp_path, *arguments)
    run(server.request("GET", "/api/v1/namespaces"))
    assert asked in run(server.request("GET", "/metrics")).body
    response = run(server.request("DELETE", "/metrics"))
    assert (response.code, response.body) == (200, b"metrics reset\n")
    assert asked not in run(server.request("GET", "/metrics")).body
    run(server.request("GET", "/api/v1/namespaces"))
    assert asked in run(server.request("GET", "/metrics")).body
    server.stop()
    server = make_server(tmp_path / "plain", *arguments, "--profiling=false")
    run(server.request("GET", "/api/v1/namespaces"))
    assert asked in run(server.request("DELETE", "/metrics")).body
    assert asked in run(server.request("GET", "/metrics")).body
    server.stop()


def test_health_checks_are_counted(tmp_path: Path) -> None:
    """/metrics/slis counts the checks of requests for all checks, without those excluded; DELETE forgets them."""
    server = make_server(tmp_path, "--dialect=kubernetes", "--emulated-version=1.35")
    run(server.request("GET", "/livez"))
    run(server.request("GET", "/livez?exclude=ping"))
    body = run(server.request("GET", "/metrics/slis")).body
    assert b'kubernetes_healthcheck{name="etcd",type="livez"} 1.0\n' in body
    assert b'kubernetes_healthchecks_total{name="etcd",status="success",type="livez"} 2.0\n' in body
    assert b'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1.0\n' in body
    assert b"process_start_time_seconds 1" in body
    assert run(server.request("DELETE", "/metrics/slis")).body == b"metrics reset\n"
    assert b'name="ping"' not in run(server.request("GET", "/metrics/slis")).body
    server.stop()
    server = make_server(tmp_path / "earlier", "--emulated-version=1.23")
    assert run(server.request("GET", "/metrics/slis")).code == 404
    server.stop()
