"""Exec plugins: their input, their result, and when they run again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from orchd.client.credentials import CredentialError, ExecCredential
from orchd.client.exec_plugin import ExecCredentials, has_terminal, run_program
from orchd.client.metrics import RequestMetrics
from orchd.dialect import KUBERNETES
from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.clientconfig import ClientConfig, ExecPlugin
from orchd.pki.keys import private_pem
from orchd.txkit.coroutines import start

CERTIFICATE = chain_pem(self_signed("u", names=(), now=datetime.now(UTC)).certificate).decode()
VERSION = "client.authentication.k8s.io/v1"


def answer(version: str = VERSION, **status: Any) -> bytes:
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status}).encode()


class World:
    """A plugin whose runs a test answers."""

    def __init__(self, terminal: bool = False, **changes: Any) -> None:
        self.runs: list[tuple[tuple[str, ...], Mapping[str, str], bool]] = []
        self.output: Any = answer(token="t1")
        self.code = 0
        self.now = 1000.0
        self.metrics = RequestMetrics(lambda: self.now)
        self.gate: Deferred[None] | None = None
        plugin = ExecPlugin(
            **{
                "api_version": VERSION,
                "dialect": KUBERNETES,
                "command": "get",
                "args": ("a",),
                "env": (("N", "V"),),
                **changes,
            }
        )
        config = ClientConfig(server="https://h:1", authority=b"ca", server_name="s", exec=plugin)
        self.credentials = ExecCredentials(
            config,
            wall=lambda: self.now,
            in_thread=self._in_thread,
            environment={"PATH": "/bin", "N": "other"},
            run=self._run,
            terminal=lambda: terminal,
            metrics=self.metrics,
        )

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:
        if self.gate is not None:
            await self.gate
        return function(*arguments)

    def _run(self, command: tuple[str, ...], environment: Mapping[str, str], interactive: bool) -> tuple[int, bytes]:
        self.runs.append((command, environment, interactive))
        if isinstance(self.output, Exception):
            raise self.output
        return self.code, self.output

    def get(self) -> ExecCredential:
        """The current credentials. Raises CredentialError."""
        credentials: list[ExecCredential] = []
        waiting = start(self.credentials.get())
        failures: list[Any] = []
        waiting.addCallbacks(credentials.append, failures.append)
        if failures:
            failures[0].raiseException()
        return credentials[0]

    def refusal(self) -> str:
        with pytest.raises(CredentialError) as caught:
            self.get()
        return caught.value.message


def test_plugin_gets_arguments_environment_and_exec_credential() -> None:
    """The plugin gets its arguments, its own environment in addition to ours, and an ExecCredential that says whether
    there is a terminal."""
    world = World()
    assert world.get().token == "t1"
    ((command, environment, interactive),) = world.runs
    assert command == ("get", "a")
    assert not interactive
    assert (environment["PATH"], environment["N"]) == ("/bin", "V")
    assert json.loads(environment["KUBERNETES_EXEC_INFO"]) == {
        "kind": "ExecCredential",
        "apiVersion": VERSION,
        "spec": {"interactive": False},
    }


def test_plugin_gets_the_cluster_with_provide_cluster_info() -> None:
    """With provideClusterInfo the ExecCredential has the cluster and its configuration for the plugin."""
    world = World(provide_cluster_info=True, cluster_extension='{"audience": "z"}')
    world.get()
    told = json.loads(world.runs[0][1]["KUBERNETES_EXEC_INFO"])["spec"]["cluster"]
    assert told == {
        "server": "https://h:1",
        "tls-server-name": "s",
        "certificate-authority-data": "Y2E=",
        "config": {"audience": "z"},
    }


def test_credential_is_kept_until_it_expires() -> None:
    """A credential without an expiry is kept; one with an expiry is requested again afterwards."""
    world = World()
    assert [world.get().token for _ in range(3)] == ["t1"] * 3
    assert len(world.runs) == 1
    world = World()
    world.output = answer(token="t1", expirationTimestamp="1970-01-01T00:20:00Z")
    world.get()
    world.now = 1199.0
    world.get()
    assert len(world.runs) == 1
    world.now = 1200.0
    world.output = answer(token="t2")
    assert world.get().token == "t2"


def test_credential_is_renewed_once_after_401() -> None:
    """After a 401 the plugin runs once more for all requests that used the rejected credential."""
    world = World()
    first = world.get()
    world.credentials.refused(first)
    world.output = answer(token="t2")
    second = world.get()
    assert second.token == "t2"
    world.credentials.refused(first)
    assert world.get() is second


def test_concurrent_requests_share_one_run() -> None:
    """Requests during a run wait for the same run."""
    world = World()
    world.gate = Deferred()
    waiting = [start(world.credentials.get()) for _ in range(3)]
    gate, world.gate = world.gate, None
    gate.callback(None)
    results: list[Any] = [one.result for one in waiting]
    assert [result.token for result in results] == ["t1"] * 3
    assert len(world.runs) == 1


@pytest.mark.parametrize(
    ("mode", "terminal", "interactive"),
    [("Never", True, False), ("IfAvailable", True, True), ("IfAvailable", False, False), ("Always", True, True)],
)
def test_interactive_mode_decides_about_standard_input(mode: str, terminal: bool, interactive: bool) -> None:
    """The interactive mode and the terminal decide whether the plugin gets standard input."""
    world = World(terminal, interactive_mode=mode)
    world.get()
    assert world.runs[0][2] is interactive


def test_plugin_that_needs_a_terminal_is_not_run_without_one() -> None:
    """A plugin that needs a terminal is not run without one."""
    world = World(interactive_mode="Always")
    assert "standard input is not a terminal" in world.refusal()
    assert not world.runs


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (b"{", "decoding stdout"),
        (b'{"kind": "Pod"}', "not an ExecCredential"),
        (
            answer("client.authentication.k8s.io/v1beta1", token="t"),
            "plugin returned version client.authentication.k8s.io/v1beta1",
        ),
        (b'{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1"}', "didn't return a status"),
        (answer(), "didn't return a token or cert/key pair"),
        (answer(clientCertificateData="x"), "only certificate or key, not both"),
        (answer(clientCertificateData="x", clientKeyData="y"), "failed parsing client key/certificate"),
        (
            answer(clientCertificateData=CERTIFICATE, clientKeyData="-----BEGIN PRIVATE KEY-----\nx\n"),
            "failed parsing client key/certificate",
        ),
        (answer(token={"a": 1}), "status.token is not a string"),
        (answer(token="t", expirationTimestamp=1), "status.expirationTimestamp is not a string"),
        (answer(token="t", expirationTimestamp="soon"), "expirationTimestamp 'soon'"),
        (b" " * (1024 * 1024 + 1), "longer than"),
    ],
)
def test_invalid_output_is_named(output: bytes, message: str) -> None:
    """The error says what is wrong with the output."""
    world = World()
    world.output = output
    assert message in world.refusal()


def test_exit_code_is_reported_and_the_next_request_retries() -> None:
    """The error has the exit code, or the limits of a plugin that was killed, and the next request runs the plugin
    again."""
    world = World()
    world.code = 3
    assert world.refusal() == "getting credentials: exec: executable get failed with exit code 3"
    world.code = -9
    assert "executable get was killed: it may run for 60 s and print 1048576 bytes" in world.refusal()
    world.code = 0
    assert world.get().token == "t1"


def test_install_hint_is_logged_at_most_ten_times_an_hour() -> None:
    """The install hint is logged at most ten times an hour."""
    world = World(install_hint="apt install get")
    world.output = FileNotFoundError()
    hints = [world.refusal().endswith("not found\n\napt install get") for _ in range(12)]
    assert hints == [True] * 10 + [False] * 2
    world.now += 3600
    assert "apt install" in world.refusal()


@pytest.mark.parametrize(
    ("code", "output", "labels", "message"),
    [
        (0, answer(token="t"), ("0", "no_error"), ""),
        (3, b"", ("3", "plugin_execution_error"), "executable get failed with exit code 3"),
        (-9, b"", ("-9", "plugin_execution_error"), "executable get was killed"),
        (0, FileNotFoundError(), ("1", "plugin_not_found_error"), "executable get not found"),
        (0, PermissionError(13, "Permission denied"), ("1", "client_internal_error"), "exec: get: Permission denied"),
        (0, OSError("odd"), ("1", "client_internal_error"), "exec: get: odd"),
    ],
)
def test_calls_are_counted(code: int, output: Any, labels: tuple[str, str], message: str) -> None:
    """By exit code and outcome; what never ran has the code 1."""
    world = World()
    world.code, world.output = code, output
    if message:
        assert message in world.refusal()
    else:
        world.get()
    assert world.metrics.plugin_calls.values == {labels: 1}


def test_lifetimes_of_certificates_are_measured() -> None:
    """The end of the current certificate, and the ages at which certificates were replaced, also by a token."""
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    pairs = []
    for later in (0, 1):
        pair = self_signed("u", names=(), now=begun + timedelta(days=later), lifetime=timedelta(days=9))
        pairs.append(
            {
                "clientCertificateData": chain_pem(pair.certificate).decode(),
                "clientKeyData": private_pem(pair.key).decode(),
            }
        )
    world = World()
    steps: list[tuple[dict[str, str], int, list[int]]] = [
        (pairs[0], 1000, [9]),
        (pairs[0], 2000, [9]),
        (pairs[1], 86400 + 1000, [10]),
        ({"token": "t"}, 86400 + 3000, []),
    ]
    for status, now, days in steps:
        world.now, world.output = begun.timestamp() + now, answer(**status)
        world.credentials.refused(world.get())
        ends = [round((seconds - begun.timestamp()) / 86400) for seconds in world.metrics.plugin_expiries.values()]
        assert ends == days
    samples = {each.name.rpartition("_")[2]: each.value for each in world.metrics.plugin_rotations.family().samples}
    # Certificates are backdated by some minutes.
    assert samples["count"] == 2 and 87400 + 3000 <= samples["sum"] < 87400 + 3000 + 3600


def test_no_terminal_without_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed standard input is no terminal."""

    def fail(number: int) -> bool:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr("os.isatty", fail)
    assert has_terminal() is False


def test_real_program_gets_its_environment() -> None:
    """A real program gets its environment and no standard input; its output and exit code are returned."""
    environment = {"PATH": "/bin:/usr/bin", "TOLD": "something"}
    script = 'read -r line; printf "%s|%s" "$TOLD" "$line"; exit 4'
    assert run_program(("sh", "-c", script), environment, False) == (4, b"something|")
    with pytest.raises(FileNotFoundError):
        run_program(("/no/such/program",), environment, False)


@pytest.mark.parametrize("script", ["sleep 600 & echo x", "sleep 600", "yes"])
def test_programs_that_do_not_end_are_killed(script: str) -> None:
    """A program that takes too long is killed with what it started, which may keep its output open."""
    code, output = run_program(("sh", "-c", script), {"PATH": "/bin:/usr/bin"}, False, 0.2)
    assert code in (0, -9) and len(output) < 2 << 20


def test_deeply_nested_output_is_refused() -> None:
    """Output that is too deep to be read is an error of the plugin."""
    world = World()
    world.output = b"[" * 200_000
    assert "decoding stdout" in world.refusal()
