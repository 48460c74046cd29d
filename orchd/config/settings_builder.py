"""Settings from values of flags, with the checks that involve several flags or another table."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Final

from orchd.config import audit, choices, feature_gates, identity
from orchd.config.identity import AuthenticationSettings, AuthorizationSettings
from orchd.config.leader_election import election
from orchd.config.nearest import unknown
from orchd.config.runtime import parse_runtime_config
from orchd.config.settings import (
    AdmissionSettings,
    AggregationSettings,
    ApiSettings,
    Capabilities,
    ComponentFlags,
    ControllerSettings,
    EtcdSettings,
    NodeSettings,
    SchedulerSettings,
    ServingSettings,
    Settings,
    StorageSettings,
)
from orchd.config.source import FlagError
from orchd.config.tls import check_ciphers
from orchd.config.values import parse_cidrs, url_parts
from orchd.config.verbosity import Verbosity, parse_modules
from orchd.dialect import Dialect
from orchd.kinds import gates
from orchd.kinds.release import PREVIOUS_RELEASE

_DEFAULT_SERVICE_RANGE: Final = "10.0.0.0/24"
_ADDRESS_TYPES: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")


def from_values(
    dialect: Dialect,
    values: Mapping[str, Any],
    *,
    given: Collection[str] = (),
    capabilities: Capabilities | None = None,
    components: Mapping[str, ComponentFlags],
) -> Settings:
    """Settings from values by flag name in the tables. Raises FlagError that names the invalid flag."""
    return SettingsBuilder(dialect, values, given, capabilities or Capabilities(), components).settings()


class SettingsBuilder:
    """Builds `Settings`; one method per group."""

    def __init__(
        self,
        dialect: Dialect,
        values: Mapping[str, Any],
        given: Collection[str],
        capabilities: Capabilities,
        components: Mapping[str, ComponentFlags],
    ) -> None:
        """`components` are the flags of those in this process, by name."""
        self._dialect = dialect
        self._components = components
        self._values = values
        self._given = given
        self._can = capabilities
        self._warnings: list[str] = []
        self._gates: feature_gates.Chosen | None = None

    def settings(self) -> Settings:
        authorization = self._authorization()
        return Settings(
            dialect=self._dialect,
            dialect_given=self._dialect.name if "dialect" in self._given else None,
            serving=self._serving(),
            authentication=self._authentication(authorization),
            authorization=authorization,
            admission=self._admission(),
            storage=self._storage(),
            api=self._api(),
            controllers=self._controllers(),
            scheduler=self._scheduler(),
            audit=audit.audit(self._values, self._error),
            aggregation=self._aggregation(),
            nodes=self._nodes(),
            verbosity=self._verbosity(),
            tracing_file=self._tracing_file(),
            egress_file=self._values["egress-selector-config-file"],
            flags=dict(self._values),
            warnings=tuple(self._warnings),
        )

    def _error(self, name: str, message: str) -> FlagError:
        return FlagError(f"--{self._dialect(name)}: {message}")

    def _at_least(self, name: str, least: float) -> Any:
        value = self._values[name]
        if value < least:
            raise self._error(name, f"must be at least {least:g}")
        return value

    def _serving(self) -> ServingSettings:
        v = self._values
        self._check_metrics()
        listener = self._listener(v["cert-dir"] or f"{v['data-dir'].rstrip('/') or '/'}/pki", zero="a free port")
        if v["enable-priority-and-fairness"] and not v["max-requests-inflight"] + v["max-mutating-requests-inflight"]:
            raise self._error("max-requests-inflight", "the total concurrency is 0: needs --enable-priority-and-fairness=false")
        if v["request-timeout"] <= 0:
            raise self._error("request-timeout", "must be above 0")
        return ServingSettings(
            **listener,
            advertise_address=self._advertise_address(),
            external_hostname=v["external-hostname"],
            cors_allowed_origins=self._origins(),
            strict_transport_security=self._transport_security(),
            max_requests=self._at_least("max-requests-inflight", 0),
            max_mutating_requests=self._at_least("max-mutating-requests-inflight", 0),
            priority_and_fairness=v["enable-priority-and-fairness"],
            request_timeout=v["request-timeout"],
            min_watch_timeout=self._at_least("min-request-timeout", 0),
            livez_grace=self._at_least("livez-grace-period", 0),
            shutdown_delay=self._at_least("shutdown-delay-duration", 0),
            shutdown_retry_after=v["shutdown-send-retry-after"],
            ui=v["ui"],
            goaway_chance=self._goaway_chance(),
        )

    def _goaway_chance(self) -> float:
        chance: float = self._values["goaway-chance"]
        if not 0 <= chance <= 0.02:
            raise self._error("goaway-chance", "must be between 0 and 0.02")
        return chance

    def _listener(self, cert_dir: str, *, zero: str) -> dict[str, Any]:
        """The members of `ListenerSettings`. `zero` is the meaning of port 0, for the error."""
        v = self._values
        cert, key = self._pair("tls-cert-file", "tls-private-key-file")
        if not 0 <= v["secure-port"] <= 65535:
            raise self._error("secure-port", f"must be between 0 and 65535 (0: {zero})")
        return {
            "bind_address": self._bind_address(),
            "port": v["secure-port"],
            "cert_dir": cert_dir,
            "cert_file": cert,
            "key_file": key,
            "sni": v["tls-sni-cert-key"],
            "min_tls": v["tls-min-version"] or "VersionTLS12",
            "ciphers": self._ciphers(),
            "share_port": v["permit-port-sharing"],
            "share_address": v["permit-address-sharing"],
            "http2_max_streams": self._at_least("http2-max-streams-per-connection", 0),
            "profiling": v["profiling"],
        }

    def _verbosity(self) -> Verbosity:
        try:
            modules = parse_modules(self._values["vmodule"])
        except ValueError as error:
            raise self._error("vmodule", str(error)) from None
        return Verbosity(default=self._at_least("v", 0), modules=modules)

    def _check_metrics(self) -> None:
        if self._values["show-hidden-metrics-for-version"] not in ("", PREVIOUS_RELEASE):
            text = f"must be omitted or have the value {PREVIOUS_RELEASE}: only the previous release is allowed"
            raise self._error("show-hidden-metrics-for-version", text)
        for key in self._values["allow-metric-labels"]:
            metric, comma, label = key.partition(",")
            if not metric.strip() or not comma or not label.strip():
                raise self._error("allow-metric-labels", f"{key!r} is not metric,label")

    def _ciphers(self) -> tuple[str, ...]:
        v = self._values
        try:
            ciphers = check_ciphers(v["tls-cipher-suites"])
        except ValueError as error:
            raise self._error("tls-cipher-suites", str(error)) from None
        if v["tls-cipher-suites"] and not ciphers and v["tls-min-version"] != "VersionTLS13":
            raise self._error("tls-cipher-suites", "names only suites of TLS 1.3; add others or set --tls-min-version=VersionTLS13")
        return ciphers

    def _bind_address(self) -> IPv4Address | IPv6Address:
        address: IPv4Address | IPv6Address | None = self._values["bind-address"]
        return IPv4Address(0) if address is None else address

    def _advertise_address(self) -> IPv4Address | IPv6Address | None:
        address: IPv4Address | IPv6Address | None = self._values["advertise-address"]
        if address is not None and (address.is_unspecified or address.is_multicast):
            raise self._error("advertise-address", f"{address} is not reachable by other hosts")
        return address

    def _origins(self) -> tuple[re.Pattern[str], ...]:
        out = []
        for text in self._values["cors-allowed-origins"]:
            try:
                out.append(re.compile(text))
            except re.error as error:
                raise self._error("cors-allowed-origins", f"{text!r} is not a regular expression: {error}") from None
        return tuple(out)

    def _transport_security(self) -> tuple[str, ...]:
        directives: tuple[str, ...] = self._values["strict-transport-security-directives"]
        for directive in directives:
            if not re.fullmatch(r"max-age=\d+|includeSubDomains|preload", directive):
                raise self._error(
                    "strict-transport-security-directives",
                    f"unknown directive {directive!r}: max-age=seconds, includeSubDomains, preload",
                )
        if directives and not any(d.startswith("max-age=") for d in directives):
            raise self._error("strict-transport-security-directives", "max-age=seconds is required")
        return directives

    def _tracing_file(self) -> str:
        path: str = self._values["tracing-config-file"]
        if path and self._features().get("APIServerTracing") is False:
            raise self._error("tracing-config-file", "the feature gate APIServerTracing is off")
        return path

    def _authorization(self) -> AuthorizationSettings:
        modes: tuple[str, ...] = self._values["authorization-mode"]
        if not modes and not self._values["authorization-config"]:
            raise self._error("authorization-mode", "at least one authorization-mode must be passed")
        for mode in modes:
            self._check_built("authorization-mode", "mode", mode, choices.AUTHORIZERS, self._can.authorizers)
        return identity.authorization(self._values, self._given, self._error)

    def _check_built(self, flag: str, what: str, name: str, known: Collection[str], built: Collection[str]) -> None:
        if name in built:
            return
        if name in known:
            raise self._error(flag, f"{what} {name}: not built yet")
        raise self._error(flag, unknown(what, name, sorted({*known, *built})))

    def _authentication(self, authorization: AuthorizationSettings) -> AuthenticationSettings:
        v = self._values
        anonymous = v["anonymous-auth"]
        if anonymous and "AlwaysAllow" in authorization.modes:
            anonymous = False
            self._warnings.append("--authorization-mode=AlwaysAllow turns --anonymous-auth off")
        return identity.authentication(v, self._given, self._error, self._dialect, anonymous=anonymous)

    def _admission(self) -> AdmissionSettings:
        on: tuple[str, ...] = self._values["enable-admission-plugins"]
        off: tuple[str, ...] = self._values["disable-admission-plugins"]
        alone: tuple[str, ...] = self._values["admission-control"]
        if alone and (on or off):
            raise self._error("admission-control", "excludes --enable-admission-plugins and --disable-admission-plugins")
        for name in alone:
            self._check_built("admission-control", "plugin", name, choices.ADMISSION_PLUGINS, self._can.admission_plugins)
        for name in on:
            self._check_built("enable-admission-plugins", "plugin", name, choices.ADMISSION_PLUGINS, self._can.admission_plugins)
        for name in off:
            if name in on:
                raise self._error("disable-admission-plugins", f"plugin {name} is also in --enable-admission-plugins")
            if name not in choices.ADMISSION_PLUGINS:
                self._check_built("disable-admission-plugins", "plugin", name, (), {*choices.ADMISSION_PLUGINS, *self._can.admission_plugins})
        wanted = ((choices.DEFAULT_ADMISSION_PLUGINS & self._can.admission_plugins) | set(on)) - set(off)
        if alone:
            wanted = frozenset(alone)
        wanted = wanted - gates.skipped(self._features(), "plugins")
        for name in sorted(wanted & choices.DEPRECATED_ADMISSION_PLUGINS):
            self._warnings.append(f"the admission plugin {name} is deprecated")
        ordered = [name for name in choices.ADMISSION_PLUGINS if name in wanted]
        return AdmissionSettings(
            plugins=(*ordered, *sorted(wanted.difference(ordered))),
            config_file=self._values["admission-control-config-file"],
            not_ready_toleration_seconds=self._at_least("default-not-ready-toleration-seconds", 0),
            unreachable_toleration_seconds=self._at_least("default-unreachable-toleration-seconds", 0),
        )

    def _storage(self) -> StorageSettings:
        v = self._values
        if not v["data-dir"]:
            raise self._error("data-dir", "needs a directory")
        self._check_watch_cache()
        return StorageSettings(
            data_dir=v["data-dir"],
            backend=v["storage-backend"] or ("etcd3" if v["etcd-servers"] else "sqlite"),
            compaction_interval=self._at_least("etcd-compaction-interval", 0),
            history_duration=self._at_least("history-duration", 1),
            history_events=self._at_least("history-events", 1),
            event_ttl=self._at_least("event-ttl", 0),
            encryption_file=v["encryption-provider-config"],
            counted=self._at_least("etcd-count-metric-poll-period", 0) > 0,
            etcd=self._etcd(),
        )

    def _pair(self, certificate: str, key: str) -> tuple[str, str]:
        """The values of two flags that must be set together. Raises FlagError."""
        files = self._values[certificate], self._values[key]
        if bool(files[0]) != bool(files[1]):
            one, other = (key, certificate) if files[0] else (certificate, key)
            raise self._error(one, f"is needed together with --{self._dialect(other)}")
        return files

    def _aggregation(self) -> AggregationSettings:
        cert, key = self._pair("proxy-client-cert-file", "proxy-client-key-file")
        by_endpoints = self._values["enable-aggregator-routing"]
        return AggregationSettings(cert_file=cert, key_file=key, by_endpoints=by_endpoints)

    def _nodes(self) -> NodeSettings:
        cert, key = self._pair("{short}let-client-certificate", "{short}let-client-key")
        types: tuple[str, ...] = self._values["{short}let-preferred-address-types"]
        for each in types:
            if each not in _ADDRESS_TYPES:
                raise self._error("{short}let-preferred-address-types", f"{each!r} is not one of {', '.join(_ADDRESS_TYPES)}")
        authority = self._values["{short}let-certificate-authority"]
        if self._values["{short}let-timeout"] <= 0:
            raise self._error("{short}let-timeout", "must be above 0")
        return NodeSettings(
            authority_file=authority,
            cert_file=cert,
            key_file=key,
            address_types=types,
            connect_seconds=self._values["{short}let-timeout"],
            bytes_per_second=int(self._at_least("max-connection-bytes-per-sec", 0)),
        )

    def _check_watch_cache(self) -> None:
        """Reject values that would disable the watch cache. As in the reference, any size above 0 only enables it."""
        v = self._values
        if not v["watch-cache"]:
            raise self._error("watch-cache", "cannot be disabled: reads are served from it")
        if v["default-watch-cache-size"] < 1:
            raise self._error("default-watch-cache-size", "must be at least 1: the cache cannot be disabled")
        for item in v["watch-cache-sizes"]:
            resource, hash_, size = item.partition("#")
            if not resource or not hash_ or not size.isdecimal() or not int(size):
                raise self._error("watch-cache-sizes", f"{item!r} is not resource[.group]#size with a size above 0")

    def _etcd(self) -> EtcdSettings | None:
        v = self._values
        servers: tuple[str, ...] = v["etcd-servers"]
        if not servers:
            if v["storage-backend"] == "etcd3":
                raise self._error("etcd-servers", "is needed together with --storage-backend=etcd3")
            return None
        if v["storage-backend"] == "sqlite":
            raise self._error("storage-backend", "sqlite cannot be combined with --etcd-servers")
        for url in servers:
            parts = url_parts(url)
            if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/"):
                raise self._error("etcd-servers", f"{url!r} is not http://host:port or https://host:port")
        cert, key = v["etcd-certfile"], v["etcd-keyfile"]
        if bool(cert) != bool(key):
            one, other = ("etcd-keyfile", "etcd-certfile") if cert else ("etcd-certfile", "etcd-keyfile")
            raise self._error(one, f"is needed together with --{other}")
        if v["etcd-healthcheck-timeout"] <= 0:
            raise self._error("etcd-healthcheck-timeout", "must be above 0")
        return EtcdSettings(
            servers=servers,
            prefix=v["etcd-prefix"],
            ca_file=v["etcd-cafile"],
            cert_file=cert,
            key_file=key,
            health_timeout=v["etcd-healthcheck-timeout"],
            lease_reuse=self._at_least("lease-reuse-duration-seconds", 1),
            size_interval=self._at_least("etcd-db-metric-poll-interval", 0),
        )

    def _features(self) -> Mapping[str, bool]:
        """Values of the given feature gates, by their names in the table."""
        if self._gates is None:
            try:
                self._gates = feature_gates.resolve(self._dialect, self._values["feature-gates"])
            except ValueError as error:
                raise self._error("feature-gates", str(error)) from None
            self._warnings.extend(f"--feature-gates: {warning}" for warning in self._gates.warnings)
        return self._gates.values

    def _api(self) -> ApiSettings:
        v = self._values
        try:
            runtime = parse_runtime_config(self._dialect, v["runtime-config"])
        except ValueError as error:
            raise self._error("runtime-config", str(error)) from None
        self._warnings.extend(f"--runtime-config: {text}" for text in runtime.warnings)
        if v["enable-priority-and-fairness"] and gates.enabled(self._features(), "APIPriorityAndFairness"):
            self._check_fairness_is_served(v["runtime-config"])
        ports: tuple[int, int] = v["service-node-port-range"]
        port = v["{long}-service-node-port"]
        if port and not ports[0] <= port <= ports[1]:
            raise self._error("{long}-service-node-port", f"{port} is outside --service-node-port-range {ports[0]}-{ports[1]}")
        return ApiSettings(
            runtime=runtime,
            features=self._features(),
            service_ranges=self._service_ranges(),
            node_ports=ports,
            service_node_port=port,
            allow_privileged=v["allow-privileged"],
            delete_collection_workers=self._at_least("delete-collection-workers", 1),
            garbage_collection=v["enable-garbage-collector"],
            endpoint_reconciler=v["endpoint-reconciler-type"],
            server_count=self._at_least("apiserver-count", 1),
            identity_lease=(
                self._at_least("identity-lease-duration-seconds", 1),
                self._at_least("identity-lease-renew-interval-seconds", 1),
            ),
        )

    def _check_fairness_is_served(self, given: Mapping[str, str]) -> None:
        group = self._dialect("flowcontrol.apiserver.{abbr}.io")
        for key in (f"{group}/v1beta2", f"{group}/v1beta1", "api/beta", "api/all"):
            if given.get(key) == "false":
                why = "conflicts with --enable-priority-and-fairness=true and --feature-gates=APIPriorityAndFairness=true"
                raise self._error("runtime-config", f"{key}=false {why}")

    def _service_ranges(self) -> tuple[IPv4Network | IPv6Network, ...]:
        ranges: tuple[IPv4Network | IPv6Network, ...] = self._values["service-cluster-ip-range"]
        ranges = ranges or parse_cidrs(_DEFAULT_SERVICE_RANGE)
        if len(ranges) > 2:
            raise self._error("service-cluster-ip-range", "takes one range, or two of different IP families")
        if len(ranges) == 2 and ranges[0].version == ranges[1].version:
            raise self._error("service-cluster-ip-range", "two ranges must be of different IP families")
        for network in ranges:
            bits = network.max_prefixlen - network.prefixlen
            if bits > 20 and network.version == 4:
                raise self._error("service-cluster-ip-range", f"{network} is too large: the mask must be at least /12")
            if bits < 3:
                raise self._error("service-cluster-ip-range", f"{network} is too small: it must have at least 8 addresses")
        return ranges

    def _scheduler(self) -> SchedulerSettings:
        told = self._components["scheduler"]
        return SchedulerSettings(
            enabled=self._values["scheduler"],
            config_file=told.values["config"],
            flags=told.values,
            given=told.given,
        )

    def _controllers(self) -> ControllerSettings:
        told = self._components["controller-manager"]
        own = SettingsBuilder(self._dialect, told.values, told.given, self._can, {})
        return ControllerSettings(
            names=own._controller_names(),
            election=election(told.values, self._error, told.values["leader-elect-resource-name"]),
            flags=told.values,
        )

    def _controller_names(self) -> tuple[str, ...]:
        items: tuple[str, ...] = self._values["controllers"]
        chosen: dict[str, bool] = {}
        for item in items:
            name = item.removeprefix("-")
            if name == "*":
                continue
            if item.startswith("-"):
                if name not in choices.CONTROLLERS:
                    self._check_built("controllers", "controller", name, (), {*choices.CONTROLLERS, *self._can.controllers})
            else:
                self._check_built("controllers", "controller", name, choices.CONTROLLERS, self._can.controllers)
            chosen.setdefault(name, not item.startswith("-"))
        everything = "*" in items and "-*" not in items
        # Drop-ins run when they are named, like other drop-ins.
        by_default = set(choices.CONTROLLERS) - choices.CONTROLLERS_OFF_BY_DEFAULT if everything else set()
        if not self._values["enable-garbage-collector"]:
            chosen["garbagecollector"] = False
        chosen.update(dict.fromkeys(gates.skipped(self._features(), "controllers"), False))
        return tuple(name for name in sorted(self._can.controllers) if chosen.get(name, name in by_default))
