"""An in-process server in each dialect, and the command line as its client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from orchd.dialect import DIALECTS
from orchd.store.interfaces import KeyValue
from orchd.testing.doubles.server import InProcessServer, make_server
from tests.ctl.ctl_runner import Ctl

#: A server, and what its store had when it was started.
FreshServer = tuple[InProcessServer, Mapping[str, KeyValue]]


@pytest.fixture(params=list(DIALECTS), scope="module")
def fresh_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshServer]:
    server = make_server(tmp_path_factory.mktemp("server"), f"--dialect={request.param}")
    yield server, server.contents()
    server.stop()


@pytest.fixture
def server(fresh_server: FreshServer) -> Iterator[InProcessServer]:
    """The module's server; afterwards its store is as before."""
    server, contents = fresh_server
    yield server
    server.restore(contents)


@pytest.fixture
def ctl(server: InProcessServer) -> Ctl:
    return Ctl(server)


NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"


POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p1, labels: {app: a}}\nspec: {nodeName: n1, containers: [{name: c, image: nginx}]}\n"


@pytest.fixture
def cluster(ctl: Ctl) -> Ctl:
    """A node with a pod that has no controller."""
    ctl("create", "-f", "-", send=NODE)
    ctl("create", "serviceaccount", "default")
    ctl("create", "-f", "-", send=POD)
    return ctl


@pytest.fixture
def web(ctl: Ctl) -> Ctl:
    """A server with a deployment of two containers."""
    ctl("create", "deployment", "web", "--image=nginx:1", "--image=busybox")
    return ctl
