"""The stock command-line client reads from a server of either dialect."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import pytest
import yaml

from orchd.kinds.release import default_release
from orchd.testing.processes.daemon import PATIENCE
from tests.waiting import LONG
from tests.wire.wire_cli import CONFIG, Cli, config_map, deployment, pod

DIALECT_NAMES = ["kubernetes", "orch"]


def test_api_resources_and_versions(cli: Cli) -> None:
    """api-resources and api-versions list kinds with their short names, groups and scopes."""
    rows = cli.words("api-resources", "--no-headers")
    assert ["configmaps", "cm", "v1", "true", "ConfigMap"] in rows
    assert ["deployments", "deploy", "apps/v1", "true", "Deployment"] in rows
    assert ["nodes", "no", "v1", "false", "Node"] in rows
    assert len(rows) >= 55
    names = cli("api-resources", "--namespaced=false", "-o", "name").split()
    assert {"nodes", "namespaces", cli.dialect("clusterroles.rbac.authorization.{abbr}.io")} <= set(names)
    wide = cli("api-resources", "--api-group=apps", "--verbs=list,patch", "-o", "wide")
    assert wide.count("deletecollection") == 5
    versions = cli("api-versions").split()
    assert {"v1", "apps/v1", "batch/v1", cli.dialect("storage.{abbr}.io/v1")} <= set(versions)


def test_version_and_cluster_info(cli: Cli) -> None:
    """version and cluster-info print the release and the address."""
    assert f'"gitVersion": "{default_release(cli.dialect).version}"' in cli("version", "-o", "json")
    assert cli.server.url in cli("cluster-info")


def test_get_raw(cli: Cli) -> None:
    """get --raw requests any path and prints the server's errors."""
    assert cli("get", "--raw", "/healthz") == "ok"
    assert cli("get", "--raw", "/readyz?verbose").endswith("readyz check passed\n")
    assert json.loads(cli("get", "--raw", "/api/v1/namespaces/default"))["kind"] == "Namespace"
    assert "could not find the requested resource" in cli("get", "--raw", "/nothing/here", status=1)


def test_get_columns(cli: Cli) -> None:
    """get prints the server's columns, in both dialects."""
    cli.make(deployment("web", replicas=0))
    cli.make(pod("one", tier="a"))
    cli.make(pod("two", tier="b"))
    rows = cli.words("get", "pods", "--sort-by=.metadata.name")
    assert [row[0] for row in rows] == ["NAME", "one", "two"]
    assert rows[1][:4] == ["one", "0/1", "Pending", "0"]
    assert rows[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    wide = cli.words("get", "deploy,pods", "-o", "wide")
    assert ["deployment.apps/web", "0/0"] in [row[:2] for row in wide]
    assert wide[0][-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert cli.words("get", "pods", "--show-labels", "-l", "tier=a")[1][-1] == "tier=a"
    assert cli.words("get", "pods", "-L", "tier", "--no-headers")[0][-1] == "a"


def test_get_with_selectors(cli: Cli) -> None:
    """The server applies label and field selectors; the error for an unknown field names it."""
    for name, tier in (("one", "a"), ("two", "b"), ("three", "b")):
        cli.make(pod(name, tier=tier))
    assert cli("get", "pods", "-l", "tier=b", "-o", "name").split() == ["pod/three", "pod/two"]
    assert cli("get", "pods", "-l", "tier in (a),other notin (x)", "-o", "name").split() == ["pod/one"]
    assert cli("get", "pods", "--field-selector=metadata.name!=one", "-o", "name").split() == ["pod/three", "pod/two"]
    everywhere = cli("get", "pods", "-A", "--field-selector=status.phase=Pending", "-o", "name").split()
    assert {"pod/one", "pod/two", "pod/three"} <= set(everywhere)
    assert "field label not supported: spec.bogus" in cli("get", "pods", "--field-selector=spec.bogus=1", status=1)
    assert "No resources found" in cli("get", "pods", "-l", "tier=none")
    assert cli("get", "pods", "--chunk-size=1", "-o", "name").split() == ["pod/one", "pod/three", "pod/two"]


def test_get_output_forms(cli: Cli) -> None:
    """Every output format shows the same object."""
    cli.make(config_map("settings", {"app": "x"}, a="1"))
    as_json = cli.json("get", "cm", "settings")
    assert as_json == yaml.safe_load(cli("get", "cm", "settings", "-o", "yaml"))
    assert as_json["data"] == {"a": "1"}
    assert "managedFields" not in as_json["metadata"]
    owners = json.loads(cli("get", "cm", "settings", "-o", "json", "--show-managed-fields"))["metadata"][
        "managedFields"
    ]
    assert owners[0]["operation"] == "Update"
    assert cli("get", "cm", "settings", "-o", "jsonpath={.data.a}") == "1"
    assert cli("get", "cm/settings", "-o", "name") == "configmap/settings\n"
    assert cli("get", "cm", "settings", "-o", "go-template={{.metadata.name}}") == "settings"
    columns = cli("get", "cm", "settings", "-o", "custom-columns=N:.metadata.name,A:.data.a")
    assert columns.split() == ["N", "A", "settings", "1"]
    kinds = [item["kind"] for item in cli.json("get", "cm,sa")["items"]]
    assert set(kinds) == {"ConfigMap", "ServiceAccount"}


def test_get_all(cli: Cli) -> None:
    """The category `all` includes workloads and services."""
    cli.make(deployment("web"))
    cli("create", "service", "clusterip", "front", "--tcp=80:8080")
    names = cli("get", "all", "-o", "name").split()
    assert {"service/front", "deployment.apps/web"} <= set(names)
    assert not any(name.startswith("configmap") for name in names)


def test_describe_shows_related_objects_and_events(cli: Cli) -> None:
    """describe shows an object, related objects and its events."""
    cli.make(deployment("web"))
    assert "RollingUpdateStrategy:  25% max unavailable, 25% max surge" in cli("describe", "deploy", "web")
    cli.make(pod("one"))
    text = cli("describe", "pod/one")
    assert "Service Account:  default" in text and "QoS Class:" in text
    cli("create", "service", "clusterip", "front", "--tcp=80:8080")
    text = cli("describe", "svc/front")
    assert "TargetPort:" in text and "8080/TCP" in text
    for what in ("ns/default", "sa/default", "node", "secret", "cm"):
        cli("describe", what)


def test_explain_shows_fields(cli: Cli) -> None:
    """explain prints fields and their types from the schema."""
    assert "-required-" in cli("explain", "pod.spec.containers")
    text = cli("explain", "deployment", "--recursive")
    assert "progressDeadlineSeconds" in text and "topologySpreadConstraints" in text
    assert "VERSION:" in cli("explain", "cronjobs", "--api-version=batch/v1")
    assert 'field "nothing" does not exist' in cli("explain", "pod.nothing", status=1)
    said = " ".join(cli("explain", "deployment.spec").split())
    assert "How pods of the old template are replaced by pods of the new one." in said and "<empty>" not in said


def test_get_watch(cli: Cli) -> None:
    """get -w prints the current objects and then every change."""
    cli.make(config_map("first"))
    watching = cli.start("get", "cm", "-w", "--output-watch-events", f"--request-timeout={LONG}")
    lines: list[str] = []
    enough = threading.Event()

    def read() -> None:
        assert watching.stdout is not None
        for line in watching.stdout:
            lines.append(line.strip())
            if "second" in line:
                enough.set()
            if "DELETED" in line:
                return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        cli.make(config_map("second"))
        assert enough.wait(PATIENCE), lines
        cli("delete", "cm", "second")
        reader.join(PATIENCE)
    finally:
        watching.kill()
        watching.wait()
    assert any("ADDED" in line and "first" in line for line in lines), lines
    assert any("DELETED" in line and "second" in line for line in lines), lines


def _refused(cli: Cli, *arguments: str, send: Any = None) -> str:
    return cli(*arguments, send=send, status=1)


def test_error_messages(cli: Cli) -> None:
    """Errors have the reference's messages."""
    assert 'Error from server (NotFound): pods "nobody" not found' in _refused(cli, "get", "pod", "nobody")
    assert 'the server doesn\'t have a resource type "nothing"' in _refused(cli, "get", "nothing")
    text = _refused(cli, "get", "pods", "--as=nobody")
    assert 'pods is forbidden: User "nobody" cannot list resource "pods" in API group "" in the namespace' in text
    cli("create", "configmap", "twice")
    assert 'configmaps "twice" already exists' in _refused(cli, "create", "configmap", "twice")
    bad = {**pod("x"), "metadata": {"name": "Bad_Name"}, "spec": {"containers": []}}
    text = _refused(cli, "create", "-f", "-", send=bad)
    assert 'The Pod "Bad_Name" is invalid' in text and "spec.containers: Required value" in text
    text = _refused(cli, "create", "-f", "-", send={"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "x"}})
    assert 'no matches for kind "Nothing" in version "v1"' in text
    stale = cli.json("get", "cm", "twice")
    cli("label", "cm", "twice", "a=b")
    text = _refused(cli, "replace", "-f", "-", send=stale)
    assert "the object has been modified; please apply your changes to the latest version" in text
    assert 'namespaces "nowhere" not found' in _refused(cli, "create", "configmap", "x", "--namespace=nowhere")
    cli.namespace = "nowhere"
    assert "No resources found in nowhere namespace" in cli("get", "pods")


@pytest.mark.parametrize("token", ["no-such-token", "alice-token"])
def test_invalid_token_and_missing_permission(cli: Cli, token: str) -> None:
    """An invalid token and missing permissions have different errors."""
    text = cli(
        *("get", "pods", "--insecure-skip-tls-verify", f"--server={cli.server.url}", f"--token={token}"),
        environment={CONFIG: os.devnull},
        status=1,
    )
    if token == "alice-token":
        assert 'User "alice" cannot list resource "pods"' in text
    else:
        assert "Unauthorized" in text or "provide credentials" in text
