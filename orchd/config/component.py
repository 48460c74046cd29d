"""Settings of the controllers and the scheduler as separate processes. Durations are seconds. A file name is "" when
the flag was not given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchd.config.capabilities import Capabilities
from orchd.config.flag_values import FlagValues
from orchd.config.options import Options, PlainErrors
from orchd.config.sections.access import FrontProxySettings, front_proxy
from orchd.config.sections.components import controller_names
from orchd.config.sections.leader_election import ElectionSettings, election
from orchd.config.sections.listener import ListenerSettings, check_metrics, listener_members
from orchd.config.sections.verbosity import Verbosity, verbosity
from orchd.config.table import component_table
from orchd.config.values import url_parts
from orchd.dialect import Dialect
from orchd.kinds.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Connection to the API server. `master` replaces the server of the file; without both, the in-cluster
    configuration is used. `content_type` is the media type of request bodies, `response_type` that of responses."""

    config_file: str
    master: str
    content_type: str
    response_type: str
    qps: float
    burst: int


def _client(flags: FlagValues) -> ClientSettings:
    master = flags["master"]
    if master and url_parts(master).scheme not in ("https", "http"):
        raise flags.error("master", f"{master!r} is not http://host:port or https://host:port")
    media_type, media_types = flags["{short}-api-content-type"], ("application/json", flags.dialect.protobuf)
    if media_type not in ("", *media_types):
        raise flags.error("{short}-api-content-type", f"{media_type!r} is not one of {', '.join(media_types)}")
    return ClientSettings(
        config_file=flags["{short}config"],
        master=master,
        content_type=media_type or media_types[0],
        # By default responses are JSON, which takes less time to decode in Python.
        response_type=media_type if "{short}-api-content-type" in flags.explicit else media_types[0],
        qps=flags["{short}-api-qps"],
        burst=flags.at_least("{short}-api-burst", 0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedAuthentication:
    """Authentication at the port. `config_file` is the client configuration for token reviews and for the lookup of CA
    bundles in the cluster. `skip_lookup` disables the lookup, `tolerate_failure` continues without it if it fails."""

    config_file: str
    skip_lookup: bool
    tolerate_failure: bool
    token_ttl: float
    client_ca_file: str
    front_proxy: FrontProxySettings


def _delegated_authentication(flags: FlagValues) -> DelegatedAuthentication:
    return DelegatedAuthentication(
        config_file=flags["authentication-{short}config"],
        skip_lookup=flags["authentication-skip-lookup"],
        tolerate_failure=flags["authentication-tolerate-lookup-failure"],
        token_ttl=flags.at_least("authentication-token-webhook-cache-ttl", 0),
        client_ca_file=flags["client-ca-file"],
        front_proxy=front_proxy(flags),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedAuthorization:
    """Authorization at the port. `config_file` is the client configuration for access reviews; `open_paths` need
    none."""

    config_file: str
    authorized_ttl: float
    unauthorized_ttl: float
    open_paths: tuple[str, ...]


def _delegated_authorization(flags: FlagValues) -> DelegatedAuthorization:
    paths: tuple[str, ...] = flags["authorization-always-allow-paths"]
    for path in paths:
        if "*" in path[:-1]:
            raise flags.error("authorization-always-allow-paths", f"{path!r}: only a trailing * is allowed")
    return DelegatedAuthorization(
        config_file=flags["authorization-{short}config"],
        authorized_ttl=flags.at_least("authorization-webhook-cache-authorized-ttl", 0),
        unauthorized_ttl=flags.at_least("authorization-webhook-cache-unauthorized-ttl", 0),
        open_paths=paths,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSettings:
    """Settings of either component. `controllers` are the names of those to run, () for the scheduler."""

    name: str
    dialect: Dialect
    release: Release
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
    explicit: frozenset[str]
    #: Logged at start.
    warnings: tuple[str, ...] = ()


def _component(name: str, flags: FlagValues, can: Capabilities) -> ComponentSettings:
    client = _client(flags)
    check_metrics(flags)
    lock: str = flags["leader-elect-resource-name"]
    if "lock-object-name" in flags.explicit and "leader-elect-resource-name" not in flags.explicit:
        lock = flags["lock-object-name"]
    return ComponentSettings(
        name=name,
        dialect=flags.dialect,
        release=flags.release,
        client=client,
        port=ListenerSettings(**listener_members(flags, flags["cert-dir"], zero="no port")),
        authentication=_delegated_authentication(flags),
        authorization=_delegated_authorization(flags),
        election=election(flags, lock),
        controllers=controller_names(flags, can) if "controllers" in flags else (),
        features=flags.features,
        verbosity=verbosity(flags),
        flags=flags.by_name(),
        explicit=flags.explicit,
        warnings=tuple(flags.warnings),
    )


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
        settings = _component(self._name, FlagValues(self.dialect, self.by_name, self.explicit), self._capabilities)
        self.component = replace(settings, warnings=(*self.warnings, *settings.warnings))

    def component_settings(self) -> ComponentSettings:
        """The parsed settings; the defaults of all flags if `parseOptions` was not called."""
        if self.component is None:
            self.parseOptions(())
        assert self.component is not None
        return self.component
