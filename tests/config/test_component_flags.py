"""Flags of components: in the combined server, in their own flag files, and in separate processes."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.python.usage import UsageError

from orchd.config.component import ComponentOptions
from orchd.config.options import Options
from orchd.config.settings import Settings
from orchd.config.table import COMPONENTS, component_table, table
from orchd.dialect import KUBERNETES, ORCH


def settings(files: dict[str, str], *argv: str) -> Settings:
    options = Options(read_file=files.__getitem__)
    options.parseOptions(argv)
    assert options.settings is not None
    return options.settings


def component(name: str, *argv: str, dialect: Any = ORCH) -> Any:
    options = ComponentOptions(name, dialect)
    options.parseOptions(argv)
    return options.component_settings()


def test_leader_election_flags_are_shared() -> None:
    """The server's leader election flags apply to the controllers and the scheduler."""
    parsed = settings({}, "--leader-elect-lease-duration=30s")
    assert parsed.controllers.election.lease_duration == 30
    assert parsed.scheduler.flags["leader-elect-lease-duration"] == 30
    assert "leader-elect-lease-duration" in parsed.scheduler.explicit
    assert parsed.controllers.election.name == "orch-controller-manager"
    assert parsed.scheduler.flags["leader-elect-resource-name"] == "orch-scheduler"


def test_component_flag_file_overrides_the_servers_flags() -> None:
    """A component's flag file applies to that component alone and overrides the server's flags."""
    files = {
        "c": "# controllers\n--leader-elect-resource-name=mine\n--leader-elect-lease-duration=40s\n--concurrent-gc-syncs=7",
        "s": "leader-elect=false\n--config=/etc/s",
    }
    parsed = settings(
        files, "--leader-elect-lease-duration=30s", "--controller-manager-flagfile=c", "--scheduler-flagfile=s"
    )
    assert (parsed.controllers.election.name, parsed.controllers.election.lease_duration) == ("mine", 40)
    assert parsed.controllers.flags["concurrent-gc-syncs"] == 7
    assert parsed.controllers.election.enabled
    assert parsed.scheduler.flags["leader-elect"] is False
    assert parsed.scheduler.flags["leader-elect-lease-duration"] == 30
    assert parsed.scheduler.config_file == "/etc/s"
    assert parsed.flags["concurrent-gc-syncs"] == 20


@pytest.mark.parametrize(
    ("files", "argv", "message"),
    [
        ({}, ["--leader-elect-resource-name=x"], "give it in --controller-manager-flagfile or --scheduler-flagfile"),
        ({"f": "--bind-address=::"}, ["--scheduler-flagfile=f"], "f:1: --bind-address: is not the component's alone"),
        ({"f": "--secure-port=1"}, ["--scheduler-flagfile=f"], "--secure-port: is not the component's alone"),
        ({"f": "--concurrent-gc-syncs=1"}, ["--scheduler-flagfile=f"], "unknown flag"),
        ({"f": "--concurrent-gc-syncs=x"}, ["--controller-manager-flagfile=f"], "f:1: --concurrent-gc-syncs: "),
        ({"f": "--cloud-config=x"}, ["--controller-manager-flagfile=f"], "is not the component's alone"),
        ({"f": "--leader-elect-lease-duration=1s"}, ["--controller-manager-flagfile=f"], "must be greater than"),
        ({}, ["--master=https://h"], "is for a separate process"),
        ({}, ["--orchconfig=f"], "is for a separate process"),
        ({}, ["--leader-elect-resource-lock=secrets"], "unknown value 'secrets': one of leases"),
    ],
)
def test_ambiguous_flags_are_refused(files: dict[str, str], argv: list[str], message: str) -> None:
    """Flags without a meaning, or with two, are rejected with the place where they were set."""
    with pytest.raises(UsageError) as caught:
        settings(files, *argv)
    assert message in str(caught.value)


@pytest.mark.parametrize("media_type", ["application/json", "application/vnd.kubernetes.protobuf"])
def test_content_type_flag_sets_requests_and_responses(media_type: str) -> None:
    """The flag sets the media type of requests and responses; by default responses are JSON."""
    parsed = component("controller-manager", f"--kube-api-content-type={media_type}", dialect=KUBERNETES)
    assert (parsed.client.content_type, parsed.client.response_type) == (media_type, media_type)


def test_separate_process_settings() -> None:
    """Settings of a separate process, with names in its dialect."""
    parsed = component(
        "controller-manager", "--kubeconfig=/f", "--secure-port=0", "--kube-api-qps=5", dialect=KUBERNETES
    )
    assert (parsed.client.config_file, parsed.client.qps, parsed.client.burst) == ("/f", 5.0, 30)
    assert (parsed.client.content_type, parsed.client.response_type) == (
        "application/vnd.kubernetes.protobuf",
        "application/json",
    )
    assert parsed.election.name == "kube-controller-manager"
    assert "deployment" in parsed.controllers
    assert parsed.authorization.open_paths == ("/healthz", "/readyz", "/livez")
    assert component("scheduler").controllers == ()
    assert component("scheduler", "--lock-object-name=x").election.name == "x"
    assert component("scheduler", "--lock-object-name=x", "--leader-elect-resource-name=y").election.name == "y"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--kubeconfig=f"], "not a flag of this dialect: write --orchconfig"),
        (["--master=h:1"], "--master: 'h:1' is not http://host:port"),
        (["--orch-api-content-type=text/plain"], "'text/plain' is not one of application/json"),
        (["--authorization-always-allow-paths=/a*b"], "only a trailing * is allowed"),
        (["--secure-port=70000"], "between 0 and 65535"),
        (["--data-dir=x"], "unknown flag"),
        (["--feature-gates=Nonsense=true"], "--feature-gates: "),
    ],
)
def test_invalid_component_flags_are_named(argv: list[str], message: str) -> None:
    """Errors of invalid flags name the flag and what is wrong."""
    with pytest.raises(SystemExit) as caught:
        component("controller-manager", *argv)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", COMPONENTS)
def test_component_flag_tables_are_subsets_of_the_servers(name: str) -> None:
    """A component accepts only its own flags; each is in the server's table, too."""
    flags = component_table(name)
    assert {flag.name for flag in flags} <= {flag.name for flag in table()}
    assert not [flag.name for flag in flags if flag.name in ("data-dir", "scheduler", "etcd-servers")]
    assert not [flag.name for flag in flags if flag.separate]
    assert flags["master"].settable and not table()["master"].settable


def test_flags_of_a_separate_process_warn() -> None:
    """A deprecated flag of a component, and one without an effect, warn in its own process too."""
    parsed = component(
        "scheduler", "--profiling=false", "--contention-profiling=false", "--experimental-logging-sanitization"
    )
    assert parsed.warnings == (
        "--profiling: is deprecated",
        "--contention-profiling: is deprecated",
        "--contention-profiling: has no effect: the server runs in one thread without locks",
        "--experimental-logging-sanitization: has no effect: log lines contain no secrets, tokens or keys",
    )


@pytest.mark.parametrize("name", COMPONENTS)
def test_ports_without_tls_are_accepted_without_effect(name: str) -> None:
    """As in release 1.23, components take --address with a warning, and no other --port than 0."""
    options = ComponentOptions(name, ORCH)
    options.parseOptions(["--address=192.0.2.1", "--port=0"])
    assert [warning for warning in options.warnings if warning.startswith("--address: has no effect")]
    with pytest.raises(SystemExit, match=r"^--port: can have no effect: .*--secure-port"):
        component(name, "--port=10251")
    with pytest.raises(UsageError, match=r"^--address: is for a separate process"):
        settings({}, "--address=192.0.2.1")
    with pytest.raises(SystemExit, match=r"^--port: release 1.35 has no such flag"):
        component(name, "--emulated-version=1.35", "--port=0")
