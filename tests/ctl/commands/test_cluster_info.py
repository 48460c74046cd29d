"""``cluster-info dump``."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchd.ctl.commands.cluster_info.dump import DumpWriter
from orchd.ctl.errors import CommandError
from orchd.ctl.printing.forms import Form
from tests.ctl.ctl_runner import Ctl


def test_the_state_of_the_cluster_is_dumped(ctl: Ctl, tmp_path: Path) -> None:
    """A dump has nodes and what is in the chosen namespaces, on standard output or in files."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    assert '"kind": "NodeList"' in ctl("cluster-info", "dump").out
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
