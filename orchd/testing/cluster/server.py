"""`ClusterServer`: the API server of one test cluster, created before or after the fork of its process."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.interfaces import IProtocolFactory, IStreamServerEndpoint
from twisted.python.failure import Failure
from zope.interface import implementer

from orchd import errors
from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.client.interfaces import ResourceRef
from orchd.config.options import Options, from_options
from orchd.pki.bootstrap import MASTERS, Files, write_private
from orchd.pki.certificates import CLIENT, SERVER, Signed, chain_pem, issue_pair, load_chain, subject
from orchd.pki.clientconfig import ClientConfig
from orchd.pki.keys import load_private, private_pem
from orchd.server.http.tls import KeyPairFiles, TlsSettings
from orchd.server.pipeline.verbs.watch.stream import WatchStream
from orchd.store.memory import MemoryStore
from orchd.testing.cluster.faults import FaultStage
from orchd.testing.cluster.recording import RequestLog
from orchd.testing.doubles.server_templates import make_signing_key
from orchd.testing.doubles.virtual_time import VirtualReactor

#: Port in the objects of a cluster until its own port is known.
PROVISIONAL_PORT = 6443
#: Limit of reactor steps in a start without sockets.
_MAX_STEPS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """The configuration of a server. `flags` are command line flags; `folder` is "" for a memory store."""

    dialect: str
    flags: tuple[str, ...]
    folder: str

    @classmethod
    def from_message(cls, data: Mapping[str, Any]) -> ServerSpec:
        return cls(dialect=data["dialect"], flags=tuple(data["flags"]), folder=data["folder"])


class LatePort:
    """The port of a `LateEndpoint`, which may not listen yet."""

    def __init__(self, factory: IProtocolFactory) -> None:
        self.factory = factory
        self.real: Any = None

    def getHost(self) -> Any:
        return _PROVISIONAL_HOST if self.real is None else self.real.getHost()

    def stopListening(self) -> Deferred[None]:
        return succeed(None) if self.real is None else maybeDeferred(self.real.stopListening)


class _Host:
    host, port = "127.0.0.1", PROVISIONAL_PORT


_PROVISIONAL_HOST = _Host()


@implementer(IStreamServerEndpoint)
class LateEndpoint:
    """Listens when `open` is called, which may be long after the server's own call."""

    def __init__(self) -> None:
        self._port: LatePort | None = None

    def listen(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        self._port = LatePort(protocolFactory)
        return succeed(self._port)

    def open(self, reactor: Any, bound: socket.socket) -> None:
        """Accept connections of a bound and listening socket."""
        assert self._port is not None, "the server has not asked to listen"
        self._port.real = reactor.adoptStreamPort(bound.fileno(), bound.family, self._port.factory)


class ClusterServer:
    """An API server on a `VirtualReactor`. Keys and certificates are in the spec's folder, or in `folder` if it has
    none.

    `token` is a bearer token of the administrator. The constructor raises what `ApiServer` and the parsing of flags
    raise.
    """

    def __init__(self, spec: ServerSpec, folder: Path) -> None:
        self.reactor = VirtualReactor()
        self.log = RequestLog(self.reactor.wall)
        self.faults = FaultStage(self.reactor)
        self.endpoint = LateEndpoint()
        self.failure: Failure | None = None
        self.token = secrets.token_urlsafe(24)
        self.persistent = bool(spec.folder)
        self.data = Path(spec.folder) if spec.folder else folder
        tokens = folder / "tokens.csv"
        options = Options(capabilities=capabilities())
        options.parseOptions(
            [
                f"--dialect={spec.dialect}",
                "--bind-address=127.0.0.1",
                f"--secure-port={PROVISIONAL_PORT}",
                f"--token-auth-file={tokens}",
                # There is no other process to elect, and renewing leases is most of what an idle server does as time
                # passes.
                "--leader-elect=false",
                *spec.flags,
                f"--data-dir={self.data}",
            ]
        )
        settings = from_options(options)
        self.dialect = settings.dialect
        make_signing_key(Files.below(self.data, settings.dialect), durable=self.persistent)
        write_private(
            tokens, f'{self.token},{self.dialect("{long}-admin")},admin,"{MASTERS}"\n'.encode(), durable=False
        )
        self.server = ApiServer(
            settings,
            self.reactor,
            endpoint=self.endpoint,
            store=None if spec.folder else MemoryStore(self.reactor),
            failed=self._failed,
            wall=self.reactor.wall,
            extra_stages=[self.log, self.faults],
            durable_files=self.persistent,
        )

    def _failed(self, failure: Failure) -> None:
        self.failure = failure

    def start_unbound(self) -> None:
        """Start all members without sockets and threads. Raises the failure of the first member that fails."""
        self.server.service.startService()
        for _ in range(_MAX_STEPS):
            if self.failure is not None:
                self.failure.raiseException()
            if self.server.service.ready.called:
                self._settle()
                return
            if not self.reactor.run_jobs():
                self.reactor.skip_to_next()
        raise RuntimeError("the server does not start without sockets")

    def _settle(self) -> None:
        """Run the controllers until they have created the objects of a new cluster, such as default service accounts:
        tests find them complete, and forks do not repeat the work."""
        for _ in range(_MAX_STEPS):
            if not self.reactor.run_due():
                return

    def build_documents(self) -> None:
        """Build the OpenAPI document at once, which a running server builds in the background."""
        self.server.api.documents.specification.build.begin()
        self.reactor.run_jobs()

    async def start_bound(self, real: Any) -> None:
        """Start on a running reactor. Raises the failure of the first member that fails."""
        self.reactor.bind(real)
        self.server.service.startService()
        await self.server.service.wait_ready()

    async def open(self, real: Any, bound: socket.socket) -> None:
        """Accept connections, and write the port to the API's Service object."""
        self.reactor.bind(real)
        self.endpoint.open(real, bound)
        client, services, name = self.server.client, ResourceRef("", "v1", "services"), self.dialect("{long}")
        service = await client.get(services, "default", name)
        ports = [{**entry, "targetPort": bound.getsockname()[1]} for entry in service["spec"]["ports"]]
        await client.update(services, "default", name, {**service, "spec": {**service["spec"], "ports": ports}})

    # -- credentials

    def config(self, url: str) -> ClientConfig:
        """The administrator's client configuration, with certificate and key."""
        files = self.server.files.certificates
        return ClientConfig(
            server=url,
            authority=files.ca_certificate.read_bytes(),
            certificate=files.admin_certificate.read_bytes(),
            key=files.admin_key.read_bytes(),
            cluster=self.dialect("{long}"),
            user=self.dialect("{long}-admin"),
        )

    def _authority(self) -> Signed:
        files = self.server.files.certificates
        first, *others = load_chain(files.ca_certificate.read_bytes())
        return Signed(certificate=first, key=load_private(files.ca_key.read_bytes()), chain=tuple(others))

    def issue(self, user: str, groups: list[str], *, lifetime: float) -> tuple[bytes, bytes]:
        """(certificate, key) of a client, PEM. A certificate with a negative `lifetime` expired that many seconds
        ago."""
        holder = subject(user or self.dialect("{long}-admin"), groups if user else [MASTERS])
        pair = self._issue(holder, CLIENT, [], lifetime)
        return chain_pem(pair.certificate), private_pem(pair.key)

    def expire_serving_certificate(self, folder: Path) -> None:
        """Present a certificate that expired an hour ago to new connections."""
        pair = self._issue(subject(self.dialect("{short}-apiserver")), SERVER, ["localhost", "127.0.0.1"], -3600.0)
        certificate, key = folder / "expired.crt", folder / "expired.key"
        write_private(key, private_pem(pair.key), durable=False)
        write_private(certificate, chain_pem(pair.certificate), durable=False)
        self._present_certificates(
            replace(self.server.files.tls, serving=KeyPairFiles(certificate=str(certificate), key=str(key)))
        )

    def restore_serving_certificate(self) -> None:
        """Present the server's own certificate again."""
        self._present_certificates(self.server.files.tls)

    def _present_certificates(self, settings: TlsSettings) -> None:
        contexts = self.server.frontend.contexts
        contexts.settings = settings
        contexts.reload()

    # -- watches and history

    def end_watches(self, *, cut: bool) -> int:
        """End the watches of clients, with `cut` by aborting their connections. Returns how many."""
        running = self._client_watches()
        for stream in running:
            if cut:
                stream.abort()
            else:
                stream.finish()
        return len(running)

    def _client_watches(self) -> list[WatchStream]:
        running = self.server.api.watches.running
        return [stream for stream in self.faults.watches() if stream in running]

    async def expire_history(self) -> int:
        """Compact the history: running watches end with 410, and watches from earlier versions are refused. Returns the
        oldest revision from which a watch can start."""
        store = self.server.storage.store
        # A new revision: every version that clients have seen is older.
        revision = await store.create(f"/testing/epoch-{secrets.token_hex(8)}", b"{}")
        await store.compact(revision)
        self.faults.oldest_revision = revision
        for stream in self._client_watches():
            stream.fail(errors.expired("too old resource version: the history was expired by the test"))
        return revision

    def _issue(self, holder: Any, usage: Any, names: list[str], lifetime: float) -> Signed:
        now = datetime.now(UTC)
        length = timedelta(seconds=lifetime) if lifetime > 0 else timedelta(hours=1)
        begin = now if lifetime > 0 else now + timedelta(seconds=lifetime) - length
        return issue_pair(self._authority(), holder, usages=[usage], names=names, now=begin, lifetime=length)
