"""The controllers in processes of their own, against a real server: their work, endpoint and leader election."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import DIALECTS
from orchd.testing.processes.daemon import PATIENCE, ComponentProcess, DaemonProcess, exchange
from tests.waiting import ELECTION, LEASE_SECONDS, until

TOKENS = 'alice-token,alice,alice-uid,"dev"\nadmin-token,root,root-uid,"system:masters"\n'
NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(scope="module", params=DIALECTS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A server that runs no controllers."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "tokens.csv").write_text(TOKENS)
    flags = ("--controllers=-*", f"--token-auth-file={folder / 'tokens.csv'}")
    with DaemonProcess(folder, *flags, dialect=DIALECTS[request.param]) as process:
        yield process


def ask(process: ComponentProcess, path: str, token: str = "") -> tuple[int, Any]:
    """A request without a client certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", process.port, timeout=PATIENCE, context=context)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def has_account(server: DaemonProcess, namespace: str) -> bool:
    """Whether the controllers have created the namespace's service account."""
    return server.request("GET", f"{NAMESPACES}/{namespace}/serviceaccounts/default")[0] == 200


def lease(server: DaemonProcess) -> tuple[str, dict[str, Any]]:
    group, name = server.dialect("coordination.{abbr}.io"), server.dialect("{short}-controller-manager")
    path = f"/apis/{group}/v1/namespaces/{server.dialect.system_namespace}/leases/{name}"
    code, leases = server.request("GET", path)
    assert code == 200
    return path, leases


def test_controllers_use_their_accounts_and_the_port_is_protected(server: DaemonProcess, tmp_path: Path) -> None:
    """The controllers use their own service accounts, with protobuf responses; the port authorizes requests through the
    API server."""
    key = f"--service-account-private-key-file={server.data / 'pki' / 'sa.key'}"
    reviews = "--authorization-webhook-cache-unauthorized-ttl=1s"
    protobuf = f"{server.dialect('--{short}-api-content-type')}={server.dialect.protobuf}"
    flags = ("--use-service-account-credentials", key, f"--cert-dir={tmp_path / 'pair'}", reviews, protobuf)
    with ComponentProcess("controller-manager", server, tmp_path, *flags) as manager:
        assert server.request("POST", NAMESPACES, {"metadata": {"name": "work"}})[0] == 201
        until(lambda: has_account(server, "work"))
        # The service account controller has an account itself, which its first request needed.
        system = server.dialect.system_namespace
        assert server.request("GET", f"{NAMESPACES}/{system}/serviceaccounts/service-account-controller")[0] == 200
        # Health is open to all. Certificates are verified by the cluster's CA, tokens by a review.
        assert ask(manager, "/healthz") == (200, "ok")
        assert "[+]leaderElection ok" in ask(manager, "/livez?verbose")[1]
        code, metrics = manager.request("GET", "/metrics")
        assert code == 200
        name = server.dialect("{short}-controller-manager")
        assert f'leader_election_master_status{{name="{name}"}} 1.0' in metrics
        assert "rest_client_requests_total{" in metrics
        assert "_build_info{" in metrics
        assert 'workqueue_adds_total{name="serviceaccount"}' in metrics
        assert ask(manager, "/metrics")[0] == 403
        assert 'User "alice" cannot get path' in ask(manager, "/metrics", "alice-token")[1].replace('\\"', '"')
        assert ask(manager, "/metrics", "admin-token")[0] == 200
        assert ask(manager, "/metrics", "unknown-token")[0] == 401
        shown = manager.request("GET", "/configz")[1]
        assert shown[server.dialect("{short}controllermanager.config.{abbr}.io")]["secure-port"] == str(manager.port)
        assert manager.request("GET", "/debug/pprof/")[0] == 200
        assert manager.request("GET", "/api/v1/pods")[0] == 404
        assert (tmp_path / "pair" / f"{name}.crt").exists()
        allow_alice(server)
        # Cached reviews expire.
        until(lambda: ask(manager, "/metrics", "alice-token")[0] == 200)
    assert manager.status == 0


def allow_alice(server: DaemonProcess) -> None:
    """Let the user alice read metrics."""
    group = server.dialect("rbac.authorization.{abbr}.io")
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    role = {"metadata": {"name": "metrics"}, "rules": rules}
    binding = {
        "metadata": {"name": "metrics"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "metrics"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}],
    }
    for plural, obj in (("clusterroles", role), ("clusterrolebindings", binding)):
        assert server.request("POST", f"/apis/{group}/v1/{plural}", obj)[0] == 201


def test_skip_lookup_ignores_the_clusters_authorities(server: DaemonProcess, tmp_path: Path) -> None:
    """With --authentication-skip-lookup the cluster's CA is not trusted; profiling can be disabled."""
    flags = ("--authentication-skip-lookup", "--profiling=false", "--leader-elect=false", "--controllers=-*")
    with ComponentProcess("controller-manager", server, tmp_path, *flags) as manager:
        assert manager.request("GET", "/metrics")[0] == 403
        assert ask(manager, "/debug/pprof/", "admin-token")[0] == 404
        connection = http.client.HTTPSConnection("127.0.0.1", manager.port, context=manager.context())
        assert exchange(connection, "GET", "/healthz")[0] == 200
        connection.close()


def test_second_controller_manager_takes_over(server: DaemonProcess, tmp_path: Path) -> None:
    """One manager works; when it is killed the other takes over after the lease, and one that loses its lease exits
    with status 1."""
    one = ComponentProcess("controller-manager", server, tmp_path / "one", *ELECTION)
    two = ComponentProcess("controller-manager", server, tmp_path / "two", *ELECTION)
    with one, two:
        holder = lease(server)[1]["spec"]["holderIdentity"]
        assert server.request("POST", NAMESPACES, {"metadata": {"name": "first"}})[0] == 201
        until(lambda: has_account(server, "first"))
        one.kill()
        renewed = datetime.fromisoformat(lease(server)[1]["spec"]["renewTime"])
        until(lambda: lease(server)[1]["spec"]["holderIdentity"] != holder)
        acquired = datetime.fromisoformat(lease(server)[1]["spec"]["acquireTime"])
        assert acquired - renewed >= timedelta(seconds=LEASE_SECONDS)
        assert server.request("POST", NAMESPACES, {"metadata": {"name": "second"}})[0] == 201
        until(lambda: has_account(server, "second"))
        path, leases = lease(server)
        stolen = {**leases["spec"], "holderIdentity": "another"}
        while server.request("PUT", path, {**leases, "spec": stolen})[0] != 200:
            path, leases = lease(server)
        assert two.wait() == 1
        assert "leader election lost" in two.log


def test_invalid_configurations_end_with_status_1(server: DaemonProcess, tmp_path: Path) -> None:
    """An invalid configuration ends the process with status 1 and the reason."""
    word = server.dialect.config_file_kind
    cases = (
        (f"--{word}={tmp_path / 'missing'}", f"--{word}: {tmp_path / 'missing'}"),
        ("--root-ca-file=/no/such/file", "--root-ca-file: /no/such/file"),
        ("--leader-elect-lease-duration=1s", "must be greater than --leader-elect-renew-deadline"),
        ("--tls-cert-file=/no/such/file", "--tls-private-key-file: is needed together"),
        ("--controllers=deploymnt", 'did you mean "deployment"'),
        ("--secure-prt=1", 'did you mean "--secure-port"'),
        (f"--authentication-{word}={unreachable(tmp_path, server)}", "cannot reach"),
    )
    for flag, text in cases:
        manager = ComponentProcess("controller-manager", server, tmp_path, flag)
        manager.launch()
        assert manager.wait(PATIENCE) == 1, flag
        assert text in manager.log, (flag, manager.log)
        manager.log_file.unlink()


def unreachable(folder: Path, server: DaemonProcess) -> Path:
    """A kubeconfig of a server that does not exist."""
    path = folder / "unreachable"
    path.write_text(server.config_file.read_text().replace(str(server.port), "1"))
    return path


def test_unserved_group_versions_disable_their_controllers(tmp_path: Path) -> None:
    """Controllers whose resources the server does not serve are disabled and logged by name; the others work."""
    policy, slices = "policy/v1", "discovery.orch.io/v1"
    flags = ("--controllers=-*", f"--runtime-config={policy}=false,{slices}=false")
    with DaemonProcess(tmp_path / "server", *flags, dialect=DIALECTS["orch"]) as server:
        with ComponentProcess("controller-manager", server, tmp_path) as manager:
            assert server.request("POST", NAMESPACES, {"metadata": {"name": "work"}})[0] == 201
            until(lambda: has_account(server, "work"))
            assert (
                f"controller disruption is disabled: the server does not serve poddisruptionbudgets in {policy}"
                in manager.log
            )
            assert (
                f"controller endpointslice is disabled: the server does not serve endpointslices in {slices}"
                in manager.log
            )
            assert "controller deployment is disabled" not in manager.log
        assert manager.status == 0
