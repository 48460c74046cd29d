"""The pytest plugin, the unittest mixin and the trial mixin, as users run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchd.testing.processes.daemon import PATIENCE

FIXTURES = """
import pytest
from orchd.testing import Cluster

MAPS = "/api/v1/namespaces/%s/configmaps"

def test_server(orchd_server, orchd_namespace):
    assert isinstance(orchd_server, Cluster)
    assert orchd_server.request("POST", MAPS % orchd_namespace, {"metadata": {"name": "a"}})[0] == 201
    orchd_server.seen = orchd_namespace

def test_namespaces_are_fresh_and_removed(orchd_server, orchd_namespace):
    assert orchd_server.seen != orchd_namespace
    assert orchd_server.request("GET", "/api/v1/namespaces/" + orchd_server.seen)[0] == 404

def test_client(orchd_client, orchd_namespace):
    kubernetes = pytest.importorskip("kubernetes")
    core = kubernetes.client.CoreV1Api(orchd_client)
    assert core.read_namespace(orchd_namespace).metadata.name == orchd_namespace

def test_configuration(orchd_kubeconfig, orchd_server):
    assert orchd_server.url in open(orchd_kubeconfig).read()

def test_own_server(orchd_cluster, orchd_server):
    assert orchd_cluster.url != orchd_server.url
"""

OPTIONS = """
def test_options(orchd_server, orchd_namespace, orchd_client):
    assert orchd_server.dialect.name == "orch"
    assert orchd_server.request("GET", "/openapi/v3")[0] == 200
    assert not orchd_server.runs_controllers("namespace")
    assert orchd_client.url == orchd_server.url and orchd_client.token == orchd_server.token
    assert orchd_server.request("GET", "/api/v1/namespaces/kept")[0] == (200 if KEPT else 404)
    orchd_server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "kept"}})
"""

UNITTEST = """
import unittest
from orchd.testing.unittest import ClusterMixin

class Shared(ClusterMixin, unittest.TestCase):
    cluster_arguments = {"controllers": False}
    urls = set()

    def test_one(self):
        self.check()

    def test_other(self):
        self.check()
        self.assertEqual(len(self.urls), self.expected)

    expected = 1

    def check(self):
        self.urls.add(self.cluster.url)
        self.assertEqual(self.cluster.request("GET", f"/api/v1/namespaces/{self.namespace}")[0], 200)

class Isolated(Shared):
    isolated = True
    urls = set()
    expected = 2
"""

TRIAL = """
from twisted.internet import reactor
from twisted.trial.unittest import TestCase
from orchd.client.interfaces import ResourceRef
from orchd.testing.trial import TrialClusterMixin

class Tests(TrialClusterMixin, TestCase):
    async def test_time(self):
        cluster = await self.start_cluster(reactor, dialect="orch", controllers=False)
        client, events = cluster.client(), ResourceRef("", "v1", "events")
        event = {"metadata": {"name": "a", "namespace": "default"}, "involvedObject": {"namespace": "default"}, "reason": "T"}
        await client.create(events, "default", event)
        await cluster.advance(3500)
        self.assertEqual(len((await client.list(events, "default"))["items"]), 1)
        await cluster.advance(200)
        self.assertEqual((await client.list(events, "default"))["items"], [])
        with self.assertRaisesRegex(Exception, 'User "ada" cannot list'):
            await cluster.client("ada").list(events, "default")
        await cluster.client("ada", "system:masters").list(events, "default")

    async def test_connections(self):
        from OpenSSL import SSL
        from twisted.internet.ssl import Certificate
        from twisted.web.client import Agent, BrowserLikePolicyForHTTPS, readBody
        cluster = await self.start_cluster(reactor)
        trust = Certificate.loadPEM(cluster.config.authority)
        agent = Agent(reactor, BrowserLikePolicyForHTTPS(trustRoot=trust))
        answer = await agent.request(b"GET", cluster.url.encode() + b"/readyz")
        self.assertEqual(await readBody(answer), b"ok")
"""


#: Without the plugins of everything else that is installed, which takes as long as the tests here.
ALONE = ("-p", "orchd.testing.pytest_plugin")


def run(folder: Path, *arguments: str, autoload: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a module in `folder` in a process of its own; pytest loads all installed plugins only with `autoload`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    if not autoload:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def run_tests(folder: Path, *arguments: str, autoload: bool = False) -> str:
    """`run`, which must succeed; its output."""
    done = run(folder, *arguments, autoload=autoload)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


PYTEST = ("pytest", "-q", "-p", "no:cacheprovider")


def test_documented_fixtures_work(tmp_path: Path) -> None:
    """Each fixture returns what docs/testing.md says, without any configuration."""
    (tmp_path / "test_program.py").write_text(FIXTURES)
    assert "5 passed" in run_tests(tmp_path, *PYTEST, autoload=True)


def test_each_worker_has_its_own_server(tmp_path: Path) -> None:
    """Each worker of a distributed run has its own server."""
    pytest.importorskip("xdist")
    (tmp_path / "test_program.py").write_text(
        "import pytest\n@pytest.mark.parametrize('number', range(6))\ndef test_it(orchd_cluster, orchd_namespace, number):\n    pass\n"
    )
    assert "6 passed" in run_tests(tmp_path, *PYTEST, *ALONE, "-p", "xdist", "-n", "2")


def test_options_and_ini_file(tmp_path: Path) -> None:
    """The ini file configures the server, and the command line overrides it; a folder keeps the store."""
    lines = ["[pytest]", "orchd_dialect = orch", "orchd_controllers = off", "orchd_feature_gates = OpenAPIV3=false"]
    (tmp_path / "pytest.ini").write_text("\n".join(lines))
    for kept in (False, True):
        (tmp_path / "test_program.py").write_text(f"KEPT = {kept}\n{OPTIONS}")
        assert "1 passed" in run_tests(
            tmp_path, *PYTEST, *ALONE, "--orchd-feature-gates=OpenAPIV3=true", "--orchd-folder=store"
        )


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--orchd-nodes=many", "orchd-nodes: 'many' is not a number"),
        ("--orchd-flags=word", "orchd-flags: 'word' is not of the form"),
        ("--orchd-feature-gates=A=yes", "orchd-feature-gates: 'yes' is neither"),
    ],
)
def test_invalid_options_are_named(tmp_path: Path, option: str, complaint: str) -> None:
    """The error for an invalid option names it."""
    (tmp_path / "test_program.py").write_text("def test_it(orchd_server):\n    pass\n")
    done = run(tmp_path, *PYTEST, *ALONE, option)
    assert done.returncode != 0
    assert complaint in done.stdout + done.stderr


def test_unittest_mixin(tmp_path: Path) -> None:
    """A class shares a cluster with a namespace per test, or each test has its own cluster."""
    (tmp_path / "test_program.py").write_text(UNITTEST)
    assert "Ran 4 tests" in run_tests(tmp_path, "unittest", "test_program")


def test_trial_mixin(tmp_path: Path) -> None:
    """A server on the running reactor leaves nothing in it, and the test controls its time."""
    (tmp_path / "test_program.py").write_text(TRIAL)
    assert "Ran 2 tests" in run_tests(tmp_path, "twisted.trial", "test_program")


LEFT = """
def test_leaves_objects(orchd_server, orchd_namespace):
    path = f"/api/v1/namespaces/{orchd_namespace}/configmaps"
    for name, finalizers in (("kept", ["example.com/never"]), ("plain", [])):
        assert orchd_server.request("POST", path, {"metadata": {"name": name, "finalizers": finalizers}})[0] == 201
    orchd_server.left = orchd_namespace

def test_leaves_a_pod_and_a_namespace(orchd_server, orchd_namespace):
    path = f"/api/v1/namespaces/{orchd_namespace}"
    pod = {"metadata": {"name": "p", "finalizers": ["a.example.com/x"]}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    assert orchd_server.request("POST", f"{path}/pods", pod)[0] == 201
    service = {"metadata": {"name": "s", "finalizers": ["b.example.com/x"]}, "spec": {"ports": [{"port": 80}]}}
    assert orchd_server.request("POST", f"{path}/services", service)[0] == 201
    namespace = orchd_server.request("GET", path)[1]
    namespace["metadata"]["finalizers"] = ["c.example.com/x"]
    assert orchd_server.request("PUT", path, namespace)[0] == 200

def test_namespace_is_gone(orchd_server):
    assert orchd_server.request("GET", f"/api/v1/namespaces/{orchd_server.left}")[0] == 404
"""


def test_finalizers_of_left_objects_are_removed(tmp_path: Path) -> None:
    """Objects with finalizers that a test leaves do not keep its namespace, nor do its own; a line of the summary names
    them. Pods go before all else."""
    (tmp_path / "test_left.py").write_text(LEFT)
    out = run_tests(tmp_path, *PYTEST, *ALONE)
    assert "3 passed, 2 warnings" in out
    assert "left objects with finalizers, which were removed: configmaps/kept (example.com/never)" in out
    assert "configmaps/plain" not in out
    assert "removed: namespaces/test-" in out
    assert "(c.example.com/x), pods/p (a.example.com/x), services/s (b.example.com/x)" in out


EARLY = """
import os

CONFIG = os.environ.get("KUBECONFIG", "")
"""


def test_server_starts_before_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With orchd_environment a program that is imported by a conftest file finds the server of the run; without it a
    fixture sets the environment of a test."""
    (tmp_path / "program.py").write_text(EARLY)
    (tmp_path / "conftest.py").write_text("import program\n")
    (tmp_path / "test_early.py").write_text(
        "import program\n\ndef test_it(orchd_server):\n    assert program.CONFIG == orchd_server.config_file\n"
    )
    assert "1 passed" in run_tests(tmp_path, *PYTEST, *ALONE, "-o", "orchd_environment=on")
    (tmp_path / "test_early.py").write_text(
        "import os\nimport program\n\n"
        "def test_it(orchd_environment, orchd_server):\n"
        "    assert program.CONFIG == 'before' and os.environ['KUBECONFIG'] == orchd_server.config_file\n\n"
        "def test_after():\n    assert os.environ['KUBECONFIG'] == 'before'\n"
    )
    monkeypatch.setenv("KUBECONFIG", "before")
    assert "2 passed" in run_tests(tmp_path, *PYTEST, *ALONE)
