"""Runtime of controllers and scheduler as separate processes: clients, and an HTTPS port with the API server's
pipeline, delegated authentication and authorization, health, metrics, configuration and profiles.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from typing import Any

from twisted.python.failure import Failure

from orchd.assembly.delegation import DelegatedChain, delegated_authorizer
from orchd.assembly.runtime import ProcessRuntime
from orchd.assembly.tls import tls_settings
from orchd.client.bodies import JSON, BodyCodec
from orchd.client.credentials import ITokenSource
from orchd.client.metrics import RequestMetrics
from orchd.client.protobuf_bodies import ProtobufBodies
from orchd.client.remote import ClientOptions, RemoteClient
from orchd.client.throttle import Throttle
from orchd.config.component import ComponentSettings
from orchd.kinds.catalog import builtin_catalog
from orchd.pki import clientconfig
from orchd.pki.bootstrap import write_private
from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.clientconfig import ClientConfig, ClientConfigError
from orchd.pki.keys import private_pem
from orchd.server.authz.messages import forbidden
from orchd.server.http.factory import ApiServerFactory
from orchd.server.http.listener import Binding, Listener
from orchd.server.http.tls import ServerContexts
from orchd.server.pipeline.endpoints.debug_flags import CurrentVerbosity, debug_flag_endpoints
from orchd.server.pipeline.endpoints.health import Check, Health
from orchd.server.pipeline.endpoints.health_metrics import HealthMetrics
from orchd.server.pipeline.endpoints.metric_selection import flag_selection
from orchd.server.pipeline.endpoints.metrics import metrics_endpoint
from orchd.server.pipeline.endpoints.profiling import profiling_endpoints
from orchd.server.pipeline.endpoints.routes import Endpoint, json_response
from orchd.server.pipeline.interfaces import Request, Response, Stage
from orchd.server.pipeline.pipeline import Pipeline
from orchd.server.pipeline.representation import Presenter
from orchd.server.pipeline.stages.access import Authentication, Authorization
from orchd.server.pipeline.stages.access_log import AccessLog
from orchd.server.pipeline.stages.failure import Failure as FailureStage
from orchd.server.pipeline.verbs.dispatch import text_not_found
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Instrument, reset
from orchd.txkit.metrics.reactor import ReactorMetrics
from orchd.txkit.turns import shared_budget

#: Timeouts of calls and of delegated reviews in seconds.
_CALL_SECONDS, _REVIEW_SECONDS = 30.0, 10.0
_log = Logger(namespace="orchd.component")


class Connections:
    """Clients of one component to its API server, with shared metrics."""

    def __init__(
        self, settings: ComponentSettings, runtime: ProcessRuntime, *, agent: str, environment: Mapping[str, str]
    ) -> None:
        """Raises ClientConfigError and OSError for unusable client configurations."""
        self._settings = settings
        self._runtime = runtime
        self._agent = agent
        self._environment = environment
        self._clients: list[RemoteClient] = []
        self.metrics = RequestMetrics(runtime.wall, settings.release)
        protobuf = settings.dialect.protobuf
        self._codec: BodyCodec = JSON
        if protobuf in (settings.client.content_type, settings.client.response_type):
            self._codec = ProtobufBodies(
                settings.dialect, settings.release, responses=settings.client.response_type == protobuf
            )
        self.config = self._own_config()

    def _own_config(self) -> ClientConfig:
        chosen = self._settings.client
        dialect = self._settings.dialect
        if chosen.config_file:
            return _load(dialect("{short}config"), chosen.config_file, server=chosen.master)
        if chosen.master:
            return ClientConfig(server="").at(chosen.master)
        flags = dialect("--{short}config"), "--master"
        _log.info("neither {one} nor {other} is set: using the in-cluster configuration", one=flags[0], other=flags[1])
        try:
            return clientconfig.in_cluster(dialect, self._environment)
        except (ClientConfigError, OSError) as error:
            raise ClientConfigError(f"neither {flags[0]} nor {flags[1]} was given, and {error}") from error

    def client(self, purpose: str = "", *, timeout: float = _CALL_SECONDS) -> RemoteClient:
        """A client as the component, without a limit of its rate."""
        return self._make(self.config, self._options(purpose, timeout))

    def throttled(
        self, purpose: str = "", *, config: ClientConfig | None = None, bearer: ITokenSource | None = None
    ) -> RemoteClient:
        """A client that is rate limited by the component's flags, as the component or for another `config`."""
        chosen = self._settings.client
        throttle = Throttle(self._runtime.reactor, qps=chosen.qps, burst=chosen.burst)
        options = replace(self._options(purpose), throttle=throttle, bearer=bearer)
        return self._make(config or self.config, options)

    def for_reviews(self, flag: str, path: str) -> RemoteClient | None:
        """The client for delegated authentication and authorization from a client configuration file. Without a file:
        the in-cluster configuration; None outside of pods."""
        dialect = self._settings.dialect
        if path:
            config = _load(dialect(flag), path)
        else:
            try:
                config = clientconfig.in_cluster(dialect, self._environment)
            except (ClientConfigError, OSError):
                return None
        return self._make(config, replace(self._options(timeout=_REVIEW_SECONDS), codec=JSON))

    def _options(self, purpose: str = "", timeout: float = _CALL_SECONDS) -> ClientOptions:
        agent = f"{self._agent}/{purpose}" if purpose else self._agent
        return ClientOptions(agent=agent, timeout=timeout, metrics=self.metrics, codec=self._codec)

    def _make(self, config: ClientConfig, options: ClientOptions) -> RemoteClient:
        runtime = self._runtime
        client = RemoteClient(
            config, runtime.reactor, options, random=runtime.random, wall=runtime.wall, environment=self._environment
        )
        self._clients.append(client)
        return client

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            await client.close()


def _load(flag: str, path: str, *, server: str = "") -> ClientConfig:
    try:
        return clientconfig.load(Path(path), server=server)
    except (OSError, ValueError) as error:
        raise ClientConfigError(f"--{flag}: {path}: {error}") from error


def without_credentials(config: ClientConfig) -> ClientConfig:
    """The same server without the user's credentials."""
    return replace(
        config, certificate=b"", certificate_file="", key=b"", key_file="", token="", token_file="", username="",
        password="", impersonation=None, exec=None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedByComponent:
    """The endpoints that every component serves, and `endpoints` in addition. `configuration` returns the body of
    /configz. If `resettable`, DELETE of /metrics resets the instruments."""

    checks: Iterable[Check]
    instruments: Callable[[], Iterable[Instrument]]
    configuration: Callable[[], Any]
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    resettable: bool = False


class SecurePort:
    """The HTTPS port of a component, a member of its service group."""

    name = "https"

    def __init__(
        self, settings: ComponentSettings, connections: Connections, runtime: ProcessRuntime, served: ServedByComponent
    ) -> None:
        self._settings = settings
        self._runtime = runtime
        reactor, wall = runtime.reactor, runtime.wall
        self._folder = ""
        self._reactor_metrics = ReactorMetrics(reactor)
        dialect = settings.dialect
        authentication, authorization = settings.authentication, settings.authorization
        self.chain = DelegatedChain(
            authentication,
            connections.for_reviews("authentication-{short}config", authentication.config_file),
            dialect,
            reactor,
            wall=wall,
        )
        authorizer = delegated_authorizer(
            authorization,
            connections.for_reviews("authorization-{short}config", authorization.config_file),
            dialect,
            reactor.seconds,
        )
        catalog = builtin_catalog(dialect, settings.release)
        present = Presenter(lambda: catalog, wall)
        verbosity = CurrentVerbosity(settings.verbosity.of, settings.verbosity.with_default)
        stages: list[Stage] = [
            AccessLog(reactor.seconds, verbosity.of),
            FailureStage(present.failure),
            Authentication(self.chain),
            Authorization(authorizer, forbidden, dialect),
        ]
        health_metrics = HealthMetrics(dialect)
        self._health = Health(tuple(served.checks), observe=health_metrics.observe)
        self._exact: dict[str, Endpoint] = {
            "/metrics": metrics_endpoint(
                lambda: (*served.instruments(), *self._reactor_metrics.instruments),
                shared_budget(runtime.reactor),
                flag_selection(settings.flags),
                reset=(lambda: reset(served.instruments())) if served.resettable else None,
            ),
            **health_metrics.endpoints(settings.release, resettable=settings.port.profiling),
            "/configz": _configuration_endpoint(served.configuration),
            **(
                profiling_endpoints(runtime.in_thread) | debug_flag_endpoints(verbosity)
                if settings.port.profiling
                else {}
            ),
            **served.endpoints,
        }
        self.pipeline = Pipeline(stages, self._respond, runtime.random)
        self._factory = ApiServerFactory(self.pipeline, reactor, wall=wall)
        self.listener: Listener | None = None

    async def _respond(self, request: Request) -> Response:
        endpoint = self._exact.get(request.path) or self._exact.get(request.path.removesuffix("/"))
        if endpoint is not None:
            return await endpoint(request)
        if self._health.handles(request.path):
            return self._health.respond(request)
        return text_not_found()

    # -- lifecycle

    async def start(self, failed: Callable[[Failure], None]) -> None:
        """Read the trusted authorities, then listen, unless the port is 0. Raises OSError and ValueError naming the
        cause."""
        port = self._settings.port
        if not port.port:
            _log.info("no HTTPS is served: the port is 0")
            return
        await self.chain.start()
        http2 = None
        if port.http2_max_streams:
            from orchd.server.http.http2 import Http2Factory

            http2 = Http2Factory(
                self.pipeline, self._runtime.reactor, streams=port.http2_max_streams, limits=self._factory.limits
            )
        self.listener = Listener(
            self._runtime.reactor,
            self._factory,
            Binding(
                address=str(port.bind_address),
                port=port.port,
                share_port=port.share_port,
                share_address=port.share_address,
            ),
            contexts=ServerContexts(tls_settings(port, lambda: self._own_pair(port.cert_dir))),
            h2=http2,
        )
        await self.listener.start(failed)
        host, number = self.listener.address
        _log.info("serving at {host}, port {port}", host=host, port=number)
        await self._reactor_metrics.start()

    async def stop(self) -> None:
        await self._reactor_metrics.stop()
        if self.listener is not None:
            await self.listener.stop()
        await self.chain.stop()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _own_pair(self, cert_dir: str) -> tuple[str, str]:
        """Files of a self-signed certificate: those in `cert_dir` if present, otherwise newly generated ones."""
        if not cert_dir:
            cert_dir = self._folder = tempfile.mkdtemp(prefix="orchd-")
        folder = Path(cert_dir)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = self._settings.dialect("{short}-") + self._settings.name
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        if not (certificate.exists() and key.exists()):
            address = self._settings.port.bind_address
            names = ["localhost", "127.0.0.1", "::1", *([] if address.is_unspecified else [str(address)])]
            pair = self_signed(gethostname(), names=names, now=datetime.fromtimestamp(self._runtime.wall(), UTC))
            write_private(key, private_pem(pair.key))
            write_private(certificate, chain_pem(pair.certificate))
        return str(certificate), str(key)


def _configuration_endpoint(configuration: Callable[[], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        return json_response(configuration(), pretty=False)

    return respond


def health_checks(election: Callable[[], str]) -> list[Check]:
    """Health checks of every component: ping, and whether a leader that failed to renew its lease has stopped."""
    return [
        Check(name="ping", probe=lambda: ""),
        Check(name="log", probe=lambda: ""),
        Check(name="leaderElection", probe=election),
    ]
