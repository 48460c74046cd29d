"""Settings of the controllers and the scheduler as separate processes. Durations are seconds. A file name is "" when
the flag was not given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchd.config.identity import FrontProxySettings, front_proxy
from orchd.config.leader_election import ElectionSettings, election
from orchd.config.listener import ListenerSettings
from orchd.config.options import Options, PlainErrors
from orchd.config.settings import Capabilities
from orchd.config.settings_builder import SettingsBuilder
from orchd.config.table import component_table
from orchd.config.values import url_parts
from orchd.config.verbosity import Verbosity
from orchd.dialect import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Connection to the API server. `master` replaces the server of the file; without both, the in-cluster configuration is used.
    `content_type` is the media type of request bodies, `answers` that of responses."""

    config_file: str
    master: str
    content_type: str
    answers: str
    qps: float
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedAuthentication:
    """Authentication at the port. `config_file` is the client configuration for token reviews and for the lookup of CA bundles in
    the cluster. `skip_lookup` disables the lookup, `tolerate_failure` continues without it if it fails."""

    config_file: str
    skip_lookup: bool
    tolerate_failure: bool
    token_ttl: float
    client_ca_file: str
    front_proxy: FrontProxySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedAuthorization:
    """Authorization at the port. `config_file` is the client configuration for access reviews; `open_paths` need none."""

    config_file: str
    authorized_ttl: float
    unauthorized_ttl: float
    open_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSettings:
    """Settings of either component. `controllers` are the names of those to run, () for the scheduler."""

    name: str
    dialect: Dialect
    client: ClientSettings
    #: Without a certificate one is generated in `cert_dir`, or for this run only if that is "" too.
    port: ListenerSettings
    authentication: DelegatedAuthentication
    authorization: DelegatedAuthorization
    election: ElectionSettings
    controllers: tuple[str, ...]
    features: Mapping[str, bool]
    verbosity: Verbosity
    #: Every flag's value by its name in the table.
    flags: Mapping[str, Any]
    #: Names of the flags that were given.
    given: frozenset[str]
    #: Logged at start.
    warnings: tuple[str, ...] = ()


class ComponentOptions(PlainErrors, Options):
    """All flags of a component that runs in its own process, for `twistd`. After `parseOptions`, `component` holds the
    settings. `dialect` is the default of --dialect."""

    def __init__(
        self, name: str, dialect: Dialect, *, capabilities: Capabilities | None = None, **keywords: Any
    ) -> None:
        super().__init__(flags=component_table(name), capabilities=capabilities, dialect=dialect, **keywords)
        self._name = name
        self.component: ComponentSettings | None = None

    def _make_settings(self) -> None:
        builder = _ComponentBuilder(self._name, self.dialect, self.by_name, self.given.keys(), self._capabilities)
        made = builder.component()
        self.component = replace(made, warnings=(*self.warnings, *made.warnings))

    def component_settings(self) -> ComponentSettings:
        """The parsed settings; the defaults of all flags if `parseOptions` was not called."""
        if self.component is None:
            self.parseOptions(())
        assert self.component is not None
        return self.component


class _ComponentBuilder(SettingsBuilder):
    """One method per group of settings."""

    def __init__(
        self, name: str, dialect: Dialect, values: Mapping[str, Any], given: Collection[str], can: Capabilities
    ) -> None:
        super().__init__(dialect, values, given, can, {})
        self._name = name

    def component(self) -> ComponentSettings:
        v = self._values
        return ComponentSettings(
            name=self._name,
            dialect=self._dialect,
            client=self._client(),
            port=self._port(),
            authentication=self._delegated_authentication(),
            authorization=DelegatedAuthorization(
                config_file=v["authorization-{short}config"],
                authorized_ttl=self._at_least("authorization-webhook-cache-authorized-ttl", 0),
                unauthorized_ttl=self._at_least("authorization-webhook-cache-unauthorized-ttl", 0),
                open_paths=self._open_paths(),
            ),
            election=election(v, self._error, self._lock_name()),
            controllers=self._controller_names() if "controllers" in v else (),
            features=self._features(),
            verbosity=self._verbosity(),
            flags=dict(v),
            given=frozenset(self._given),
            warnings=tuple(self._warnings),
        )

    def _lock_name(self) -> str:
        name: str = self._values["leader-elect-resource-name"]
        if "lock-object-name" in self._given and "leader-elect-resource-name" not in self._given:
            name = self._values["lock-object-name"]
        return name

    def _client(self) -> ClientSettings:
        v = self._values
        master = v["master"]
        if master and url_parts(master).scheme not in ("https", "http"):
            raise self._error("master", f"{master!r} is not http://host:port or https://host:port")
        known = ("application/json", self._dialect.protobuf)
        if v["{short}-api-content-type"] not in ("", *known):
            raise self._error("{short}-api-content-type", f"{v['{short}-api-content-type']!r} is not one of {', '.join(known)}")
        return ClientSettings(
            config_file=v["{short}config"],
            master=master,
            content_type=v["{short}-api-content-type"] or known[0],
            # By default responses are JSON, which takes less time to decode in Python.
            answers=v["{short}-api-content-type"] if "{short}-api-content-type" in self._given else known[0],
            qps=v["{short}-api-qps"],
            burst=self._at_least("{short}-api-burst", 0),
        )

    def _port(self) -> ListenerSettings:
        self._check_metrics()
        return ListenerSettings(**self._listener(self._values["cert-dir"], zero="no port"))

    def _delegated_authentication(self) -> DelegatedAuthentication:
        v = self._values
        return DelegatedAuthentication(
            config_file=v["authentication-{short}config"],
            skip_lookup=v["authentication-skip-lookup"],
            tolerate_failure=v["authentication-tolerate-lookup-failure"],
            token_ttl=self._at_least("authentication-token-webhook-cache-ttl", 0),
            client_ca_file=v["client-ca-file"],
            front_proxy=front_proxy(v, self._error),
        )

    def _open_paths(self) -> tuple[str, ...]:
        paths: tuple[str, ...] = self._values["authorization-always-allow-paths"]
        for path in paths:
            if "*" in path[:-1]:
                raise self._error("authorization-always-allow-paths", f"{path!r}: only a trailing * is allowed")
        return paths
