"""The stock command-line client, run against a real server process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess
from tests.waiting import until

NAME = KUBERNETES("{short}ctl")
CONFIG = KUBERNETES("{SHORT}CONFIG")


#: Traces of unexpected failures in the log.
COMPLAINTS = ("Unhandled error", "Unhandled Error", "Traceback", "incident", "#critical", "never retrieved")


def complaints(log: str) -> list[str]:
    return [line for line in log.splitlines() if any(word in line for word in COMPLAINTS)]


def binary() -> str:
    """Path of the client; ORCHD_TEST_CLIENT overrides it. Skips the test if there is none."""
    path = os.environ.get("ORCHD_TEST_CLIENT") or shutil.which(NAME)
    if not path:
        pytest.skip(f"no {NAME} on this machine")
    return path


class Cli:
    """The client as the server's administrator. Called with arguments, it returns what the client printed.

    `home` keeps its discovery cache, so that one run does not see another server's.
    """

    def __init__(self, server: DaemonProcess, home: Path) -> None:
        self.server = server
        self.dialect = server.dialect
        self._binary = binary()
        # Its runs are short: garbage collection takes a third of their time.
        self._environment = {**os.environ, "HOME": str(home), CONFIG: str(server.config_file), "GOGC": "off"}
        self.namespace = "default"

    @property
    def stock(self) -> bool:
        """Whether the server uses the stock names. Columns, schema and some annotations depend on it."""
        return self.dialect is KUBERNETES

    def start(self, *arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start it without waiting, output in a pipe."""
        return subprocess.Popen(
            [self._binary, f"--namespace={self.namespace}", *arguments],
            env={**self._environment, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __call__(
        self, *arguments: str, send: Any = None, status: int = 0, environment: Mapping[str, str] | None = None
    ) -> str:
        """Run it to the end. `send` is its standard input (as JSON unless it is a string); `status` is the expected
        exit status."""
        text = send if isinstance(send, str) else json.dumps(send) if send is not None else ""
        process = self.start(*arguments, environment=environment)
        try:
            out, _ = process.communicate(text, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            raise AssertionError(f"{arguments} hung after: {out}") from None
        assert process.returncode == status, f"{arguments} ended with {process.returncode}: {out}"
        return out

    def json(self, *arguments: str) -> Any:
        """Its output with -o json."""
        return json.loads(self(*arguments, "-o", "json"))

    def words(self, *arguments: str, status: int = 0) -> list[list[str]]:
        """Its output as lines of words: columns without their widths."""
        return [line.split() for line in self(*arguments, status=status).splitlines() if line]

    def make(self, obj: Mapping[str, Any]) -> Any:
        """Create what a test begins with, without the client; the stored object."""
        code, response = self.server.request("POST", self._path(obj["kind"]), obj)
        assert code == 201, response
        return response

    def stored(self, kind: str, name: str) -> Any:
        """An object as the server has it, without the client."""
        code, response = self.server.request("GET", f"{self._path(kind)}/{name}")
        assert code == 200, response
        return response

    def _path(self, kind: str) -> str:
        return _PATHS[kind].format(namespace=self.namespace)


#: Collections of the kinds that `Cli.make` and `Cli.stored` know.
_PATHS = {
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "Event": "/api/v1/namespaces/{namespace}/events",
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "Service": "/api/v1/namespaces/{namespace}/services",
}


def in_new_namespace(server: DaemonProcess, name: str) -> str:
    """A namespace in which pods can be created: its default service account exists."""
    code, response = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert code == 201, response
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until(lambda: server.request("GET", account)[0] == 200, "no default account")
    return name


def pod(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
    }


def deployment(name: str, replicas: int = 2) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "example/main:1", "ports": [{"containerPort": 80}]}]},
            },
        },
    }


def config_map(name: str, labels: Mapping[str, str] | None = None, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **({"labels": dict(labels)} if labels else {})},
        "data": data,
    }
