"""Credentials from an exec plugin (ExecCredential), cached until they expire or the server rejects them."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine, Mapping
from threading import Timer
from typing import Any, Final

from cryptography import x509
from OpenSSL.crypto import Error as CryptoError
from twisted.internet.defer import Deferred
from twisted.internet.error import VerifyError

from orchd.client.credentials import CredentialError, ExecCredential
from orchd.client.metrics import RequestMetrics
from orchd.kinds.times import seconds_of
from orchd.pki.clientconfig import ClientConfig, ExecPlugin
from orchd.txkit.log import Logger
from orchd.txkit.shared_call import SharedCall
from orchd.txkit.tls_client import own_certificate

#: Time limit of a program in seconds, without and with user interaction.
_SECONDS, _INTERACTIVE_SECONDS = 60.0, 600.0
#: Maximum size of its output in bytes.
_LONGEST_OUTPUT: Final = 1024 * 1024
#: Maximum number of install hints per period.
_HINTS, _HINT_SECONDS = 10, 3600.0
#: Members of a status, which are texts.
_TEXTS: Final = ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")

#: Runs (command, environment, interactive): exit code, standard output. Raises FileNotFoundError and other OSErrors.
Run = Callable[[tuple[str, ...], Mapping[str, str], bool], tuple[int, bytes]]
#: Runs a function in a thread.
InThread = Callable[..., Coroutine[Deferred[Any], Any, Any]]


def run_program(
    command: tuple[str, ...], environment: Mapping[str, str], interactive: bool, seconds: float = _SECONDS
) -> tuple[int, bytes]:
    """Run a program; blocks until it ends and its output is closed, or it times out: after `seconds`, later if it is
    `interactive`. It inherits standard error, and standard input if `interactive`."""
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=None if interactive else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # What it starts ends with it; programs that ask the user need the terminal's session.
        start_new_session=not interactive,
    )
    assert process.stdout is not None

    def end() -> None:
        """Kill the program and, with a session of its own, what it started, which may keep its output open."""
        if interactive:
            process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    limit = Timer(_INTERACTIVE_SECONDS if interactive else seconds, end)
    limit.daemon = True
    limit.start()
    try:
        output = process.stdout.read(_LONGEST_OUTPUT + 1)
        if len(output) > _LONGEST_OUTPUT:
            end()
        return process.wait(), output
    finally:
        limit.cancel()
        process.stdout.close()


def has_terminal() -> bool:
    """True if standard input is a terminal."""
    try:
        return os.isatty(0)
    except OSError:
        return False


class ExecCredentials:
    """The credentials of one client configuration whose user has an exec plugin. `wall` is seconds since the epoch."""

    _log = Logger()

    def __init__(
        self,
        config: ClientConfig,
        *,
        wall: Callable[[], float],
        in_thread: InThread,
        environment: Mapping[str, str],
        run: Run = run_program,
        terminal: Callable[[], bool] = has_terminal,
        metrics: RequestMetrics | None = None,
    ) -> None:
        assert config.exec is not None
        self._config = config
        self._plugin: ExecPlugin = config.exec
        self._wall = wall
        self._in_thread = in_thread
        self._environment = environment
        self._run = run
        self._terminal = terminal
        self._metrics = metrics or RequestMetrics()
        self._calls = self._metrics.plugin_calls
        #: The last certificate that the program returned.
        self._certificate = b""
        self._current: ExecCredential | None = None
        self._running: SharedCall[ExecCredential] | None = None
        self._hints: list[float] = []

    async def get(self) -> ExecCredential:
        """Credentials that have not expired. Concurrent callers share one run of the program. Raises
        CredentialError."""
        credentials = self._current
        if credentials is not None and (credentials.expires is None or self._wall() < credentials.expires):
            return credentials
        if self._running is None:
            self._running = SharedCall(self._renew, self._ended)
        return await self._running.wait()

    def refused(self, credential: ExecCredential) -> None:
        """The server rejected these credentials: the next `get` runs the program again."""
        if credential is self._current:
            self._current = None

    def _ended(self) -> None:
        self._running = None

    async def _renew(self) -> ExecCredential:
        interactive = self._interactive()
        command = (self._plugin.command, *self._plugin.args)
        environment = {
            **self._environment,
            **dict(self._plugin.env),
            self._plugin.dialect("{LONG}_EXEC_INFO"): json.dumps(self._info(interactive), separators=(",", ":")),
        }
        try:
            code, output = await self._in_thread(self._run, command, environment, interactive)
        except FileNotFoundError:
            self._calls.add("1", "plugin_not_found_error")
            raise CredentialError(f"exec: executable {self._plugin.command} not found{self._hint()}") from None
        except OSError as error:
            self._calls.add("1", "client_internal_error")
            raise CredentialError(f"exec: {self._plugin.command}: {error.strerror or error}") from None
        if code == -signal.SIGKILL:
            self._calls.add(str(code), "plugin_execution_error")
            limits = f"it may run for {_SECONDS:g} s and print {_LONGEST_OUTPUT} bytes"
            raise CredentialError(f"exec: executable {self._plugin.command} was killed: {limits}")
        if code != 0:
            self._calls.add(str(code), "plugin_execution_error")
            raise CredentialError(f"exec: executable {self._plugin.command} failed with exit code {code}")
        self._calls.add("0", "no_error")
        self._current = self._read(output)
        self._count(self._current.certificate)
        return self._current

    def _count(self, certificate: bytes) -> None:
        """Record the lifetime of a new certificate, and the age of the one that it replaces."""
        before, self._certificate = self._certificate, certificate
        if before and before != certificate:
            begun = x509.load_pem_x509_certificate(before).not_valid_before_utc.timestamp()
            self._metrics.plugin_rotations.observe(self._wall() - begun)
        if certificate:
            self._metrics.plugin_expiries[id(self)] = x509.load_pem_x509_certificate(
                certificate
            ).not_valid_after_utc.timestamp()
        else:
            self._metrics.plugin_expiries.pop(id(self), None)

    def _interactive(self) -> bool:
        mode = self._plugin.interactive_mode
        if mode == "Never":
            return False
        terminal = self._terminal()
        if mode == "Always" and not terminal:
            raise CredentialError("exec plugin cannot support interactive mode: standard input is not a terminal")
        return terminal

    def _info(self, interactive: bool) -> dict[str, Any]:
        """The ExecCredential object that is passed to the program in its environment."""
        spec: dict[str, Any] = {"interactive": interactive}
        config = self._config
        if self._plugin.provide_cluster_info:
            extension = self._plugin.cluster_extension
            cluster = {
                "server": config.server,
                "tls-server-name": config.server_name,
                "insecure-skip-tls-verify": config.insecure,
                "certificate-authority-data": base64.b64encode(config.authority).decode("ascii"),
                "proxy-url": config.proxy,
                "config": json.loads(extension) if extension else None,
            }
            spec["cluster"] = {name: value for name, value in cluster.items() if value or name == "config"}
        return {"kind": "ExecCredential", "apiVersion": self._plugin.api_version, "spec": spec}

    def _hint(self) -> str:
        hint = self._plugin.install_hint
        now = self._wall()
        self._hints = [at for at in self._hints if now - at < _HINT_SECONDS]
        if not hint or len(self._hints) >= _HINTS:
            return ""
        self._hints.append(now)
        return f"\n\n{hint}"

    def _read(self, output: bytes) -> ExecCredential:
        """The credentials in a program's output. Raises CredentialError."""
        try:
            if len(output) > _LONGEST_OUTPUT:
                raise ValueError(f"longer than {_LONGEST_OUTPUT} bytes")
            document = json.loads(output)
            if not isinstance(document, dict) or document.get("kind") != "ExecCredential":
                raise ValueError("not an ExecCredential")
        except (ValueError, RecursionError) as error:
            raise CredentialError(f"exec: decoding stdout: {error}") from None
        version = document.get("apiVersion")
        if version != self._plugin.api_version:
            raise CredentialError(
                f"exec plugin is configured to use API version {self._plugin.api_version}, plugin returned "
                f"version {version}"
            )
        status = document.get("status")
        if not isinstance(status, dict):
            raise CredentialError("exec plugin didn't return a status field")
        return _credential(status)


def _credential(status: dict[str, Any]) -> ExecCredential:
    for name in _TEXTS:
        if not isinstance(status.get(name), str | None):
            raise CredentialError(f"exec: decoding stdout: status.{name} is not a string")
    token, certificate, key, stamp = (status.get(name) or "" for name in _TEXTS)
    if not token and not certificate and not key:
        raise CredentialError("exec plugin didn't return a token or cert/key pair")
    if bool(certificate) != bool(key):
        raise CredentialError("exec plugin returned only certificate or key, not both")
    expires: float | None = None
    try:
        if certificate:
            own_certificate(certificate.encode(), key.encode())
            expires = x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc.timestamp()
    except (CryptoError, VerifyError, ValueError):
        raise CredentialError("failed parsing client key/certificate: they cannot be read, or are no pair") from None
    if stamp:
        try:
            expires = seconds_of(stamp)
        except ValueError:
            raise CredentialError(f"exec: expirationTimestamp {stamp!r} is not a time in RFC 3339") from None
    return ExecCredential(token=token, certificate=certificate.encode(), key=key.encode(), expires=expires)
