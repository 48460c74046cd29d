"""The pytest plugin: fixtures and options for tests that need a true API server.

Loaded by pytest in every run where this distribution is installed, so it imports little and starts nothing by itself.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import DIALECTS, KUBERNETES
from orchd.kinds.release import RELEASES
from orchd.testing.cluster.cluster import Cluster
from orchd.testing.cluster.namespaces import create_namespace, remove_namespace
from orchd.testing.forking.client import fork_client

#: Distribution of the stock client for Python.
_STOCK_CLIENT = KUBERNETES.long

_ON_OFF = ("on", "off")
#: The server that was started before any import.
_EARLY = pytest.StashKey[Cluster]()
#: Fixtures that start a server.
_SERVERS = frozenset(("orchd_server", "orchd_cluster"))
#: name -> (choices or None, default, help)
_OPTIONS: dict[str, tuple[tuple[str, ...] | None, str, str]] = {
    "orchd-dialect": (tuple(DIALECTS), KUBERNETES.name, "Names that the test server speaks."),
    "orchd-release": (("auto", *RELEASES), "auto", "Release of the API; auto: the default of the dialect."),
    "orchd-nodes": (None, "0", "Simulated nodes, on which pods become Ready."),
    "orchd-scheduler": (("auto", *_ON_OFF), "auto", "Run the scheduler; auto: where there are nodes."),
    "orchd-controllers": (None, "on", "Run controllers: on, off, or a list as of the server's --controllers."),
    "orchd-feature-gates": (None, "", "Feature gates of the server: Name=true,Other=false."),
    "orchd-flags": (None, "", "Further flags of the server, separated by spaces: name=value name=value."),
    "orchd-environment": (
        _ON_OFF,
        "off",
        "Start orchd_server before conftest files and tests are imported, for programs that read its address then.",
    ),
    "orchd-folder": (None, "", "Keep the store of orchd_server in this folder, for the next run; in memory without."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Credentials for any HTTPS client: PEM files and a bearer token of the administrator."""

    url: str
    ca_file: str
    token: str
    certificate_file: str
    key_file: str


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("orchd", "API server for tests (orchd)")
    for name, (choices, default, text) in _OPTIONS.items():
        more: dict[str, Any] = {} if choices is None else {"choices": choices}
        group.addoption(f"--{name}", default=None, help=f"{text} Default: {default or 'none'}.", **more)
        parser.addini(name.replace("-", "_"), f"{text} As --{name}.", default=default)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Start to import the server, in a separate process, once a test needs one, while the collection continues."""
    if not item.config.option.collectonly and _SERVERS.intersection(getattr(item, "fixturenames", ())):
        fork_client()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start the server of the whole run where programs read its address when they are imported."""
    options = early_config.known_args_namespace
    # The process that distributes tests to workers imports none.
    if (
        _value(early_config, "orchd-environment") == "off"
        or getattr(options, "numprocesses", None)
        or options.help
        or options.version
    ):
        return
    cluster = early_config.stash[_EARLY] = Cluster(
        **cluster_arguments(early_config), folder=_folder(early_config)
    ).start()
    os.environ.update(cluster.environment())


def pytest_unconfigure(config: pytest.Config) -> None:
    if _EARLY in config.stash:
        for name in config.stash[_EARLY].environment():
            del os.environ[name]
        config.stash[_EARLY].stop()


def _value(config: pytest.Config, name: str) -> str:
    """An option of the command line, which is not completely parsed at first, or of the ini file."""
    key = name.replace("-", "_")
    option = next(
        (
            value
            for each in (config.option, config.known_args_namespace)
            if (value := getattr(each, key, None)) is not None
        ),
        None,
    )
    return str(config.getini(key) if option is None else option).strip()


def cluster_arguments(config: pytest.Config) -> dict[str, Any]:
    """The arguments of `Cluster` that options and the ini file ask for, the folder left out. Raises
    pytest.UsageError."""

    def value(name: str) -> str:
        return _value(config, name)

    for name, (choices, _, _) in _OPTIONS.items():
        if choices is not None and value(name) not in choices:
            raise pytest.UsageError(f"{name}: {value(name)!r} is not one of {', '.join(choices)}")
    nodes, controllers = value("orchd-nodes"), value("orchd-controllers")
    if not nodes.isdecimal():
        raise pytest.UsageError(f"orchd-nodes: {nodes!r} is not a number of nodes")
    gates = _pairs("orchd-feature-gates", value("orchd-feature-gates").replace(",", " "))
    if wrong := [text for text in gates.values() if text not in ("true", "false")]:
        raise pytest.UsageError(f"orchd-feature-gates: {wrong[0]!r} is neither true nor false")
    return {
        "dialect": value("orchd-dialect"),
        "release": None if value("orchd-release") == "auto" else value("orchd-release"),
        "nodes": int(nodes),
        "scheduler": {"auto": None, "on": True, "off": False}[value("orchd-scheduler")],
        "controllers": {"on": True, "off": False}.get(controllers)
        if controllers in _ON_OFF
        else controllers.split(","),
        "gates": {name: text == "true" for name, text in gates.items()},
        "flags": _pairs("orchd-flags", value("orchd-flags")),
    }


def _pairs(option: str, text: str) -> dict[str, str]:
    pairs = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals:
            raise pytest.UsageError(f"{option}: {word!r} is not of the form name=value")
        pairs[name.lstrip("-")] = value
    return pairs


def _folder(config: pytest.Config) -> Path | None:
    """The persistent folder; one for each worker of a distributed run, as a store belongs to one server at a time."""
    text = _value(config, "orchd-folder")
    if not text:
        return None
    return config.rootpath / text / os.environ.get("PYTEST_XDIST_WORKER", "main")


@pytest.fixture(scope="session")
def orchd_server(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A running `orchd.testing.Cluster`, shared by the tests of this process."""
    if _EARLY in request.config.stash:
        yield request.config.stash[_EARLY]
        return
    arguments = cluster_arguments(request.config)
    with Cluster(**arguments, folder=_folder(request.config)) as cluster:
        yield cluster


@pytest.fixture
def orchd_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A running `orchd.testing.Cluster` of this test alone, in memory."""
    with Cluster(**cluster_arguments(request.config)) as cluster:
        yield cluster


@pytest.fixture
def orchd_namespace(orchd_server: Cluster) -> Iterator[str]:
    """The name of a fresh namespace in `orchd_server`, which is removed after the test."""
    name = create_namespace(orchd_server)
    yield name
    remove_namespace(orchd_server, name)


@pytest.fixture
def orchd_environment(orchd_server: Cluster, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Environment variables with which a client program finds `orchd_server`; set during the test."""
    variables = orchd_server.environment()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@pytest.fixture(scope="session")
def orchd_client(orchd_server: Cluster) -> Iterator[Any]:
    """An ApiClient of the stock Python client as administrator of `orchd_server`; `Access` where that client is not
    installed, or the server speaks another dialect."""
    if orchd_server.dialect is not KUBERNETES or importlib.util.find_spec(_STOCK_CLIENT) is None:
        yield access(orchd_server)
        return
    config = importlib.import_module(f"{_STOCK_CLIENT}.config")
    with config.new_client_from_config(config_file=orchd_server.config_file) as client:
        yield client


def _config_file(orchd_server: Cluster) -> str:
    """The path of the administrator's client configuration for `orchd_server`."""
    return orchd_server.config_file


#: Under the name that users of the stock dialect look for, and under the other one's.
_fixtures = {
    f"orchd_{dialect.config_file_kind}": pytest.fixture(scope="session", name=f"orchd_{dialect.config_file_kind}")(
        _config_file
    )
    for dialect in DIALECTS.values()
}
globals().update(_fixtures)


def access(cluster: Cluster) -> Access:
    """How to reach a cluster with any client."""
    return Access(
        url=cluster.url,
        ca_file=cluster.ca_file,
        token=cluster.token,
        certificate_file=cluster.certificate_file,
        key_file=cluster.key_file,
    )
