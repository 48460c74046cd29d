"""``cluster-info`` and ``cluster-info dump``."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd import errors
from orchd.client.requests import Call
from orchd.ctl.commands.cluster_info.dump import DumpWriter
from orchd.ctl.errors import CommandError
from orchd.ctl.printing.forms import Form
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede


def test_the_state_of_the_cluster_is_dumped(ctl: Ctl, tmp_path: Path) -> None:
    """A dump has nodes and what is in the chosen namespaces, on standard output or in files."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    for words in ((), ("--output-directory=-",)):
        out = ctl("cluster-info", "dump", *words).out
        assert '"kind": "NodeList"' in out and "dumped to" not in out
    ran = ctl("cluster-info", "dump", "--namespaces=default", f"--output-directory={tmp_path / 'd'}", "-o", "yaml")
    assert ran.lines == [f"Cluster info dumped to {tmp_path / 'd'}"]
    assert "name: web" in (tmp_path / "d/default/deployments.yaml").read_text()
    assert (tmp_path / "d/nodes.yaml").exists()
    assert "a dump is json or yaml" in ctl("cluster-info", "dump", "-o", "name", status=1).error


def test_dump_writes_only_into_its_folder(tmp_path: Path) -> None:
    """A name from the server that leads out of the folder is an error, and nothing is written."""
    writer = DumpWriter(str(tmp_path / "dump"), Form("json"))
    for namespace in ("..", "a/../..", "/etc"):
        with pytest.raises(CommandError, match="not a file name"):
            writer.write_log(namespace, "x", "y", "text")
    assert not list(tmp_path.iterdir())


SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: default, labels: {"{long}.io/cluster-service": "true", "{long}.io/name": NamedDNS}}
spec: {ports: [{name: udp, port: 53}, {name: tcp, port: 54}]}
---
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: default, labels: {"{long}.io/cluster-service": "true"}}
spec: {ports: [{port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: without, namespace: default, labels: {"{long}.io/cluster-service": "true"}}
spec: {type: ExternalName, externalName: example.org}
---
apiVersion: v1
kind: Service
metadata: {name: other, namespace: default, labels: {"{long}.io/cluster-service": "false"}}
spec: {ports: [{port: 443}]}
"""


def test_services_of_the_cluster_have_addresses(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """The services with the label are below the server's address, by their name or number of port; users that may not
    list services see the server alone."""
    ctl("create", "-f", "-", send=ctl.server.dialect(SERVICES))
    root = "https://example.org/api/v1/namespaces/default/services"
    lines = ctl("--server=https://example.org/", "cluster-info").lines
    assert lines[:4] == [
        "Control plane is running at https://example.org",
        f"NamedDNS is running at {root}/dns:udp/proxy",
        f"metrics is running at {root}/metrics:443/proxy",
        f"without is running at {root}/without/proxy",
    ]
    assert lines[4] == "" and len(lines) == 6

    async def forbid(call: Call) -> None:
        if "/services" in call.path:
            raise errors.forbidden("", "services", "", "no rule allows it")

    precede(ctl, monkeypatch, forbid)
    assert ctl("--server=https://example.org/", "cluster-info").lines == [lines[0], *lines[4:]]


def test_logs_are_dumped(cluster: Ctl, tmp_path: Path) -> None:
    """The log of each container of the namespaces, or why it cannot be read."""
    cluster("create", "namespace", "other")
    for words in (("--namespaces=default,other",), ("-A",)):
        out = cluster("cluster-info", "dump", *words).out
        start = "==== START logs for container c of pod default/p1 ====\nthe log cannot be read: "
        assert out.count("==== END logs for container c of pod default/p1 ====\n") == 1 and start in out
    folder = tmp_path / "d"
    cluster("cluster-info", "dump", "-A", f"--output-directory={folder}")
    assert (folder / "default" / "p1" / "c.txt").read_text().startswith("the log cannot be read: ")
    assert (folder / "other" / "pods.json").exists()
    cluster("cluster-info", "dump", f"--output-directory={folder}")
    (tmp_path / "f").write_text("")
    error = cluster("cluster-info", "dump", f"--output-directory={tmp_path / 'f' / 'g'}", status=1).error
    assert "Not a directory: check --output-directory" in error


def test_logs_end_with_one_line_break(capsys: pytest.CaptureFixture[str]) -> None:
    writer = DumpWriter("", Form("json"))
    for text in ("a\nb", "a\nb\n"):
        writer.write_log("n", "p", "c", text)
        place = "logs for container c of pod n/p ===="
        assert capsys.readouterr().out == f"==== START {place}\na\nb\n==== END {place}\n"
