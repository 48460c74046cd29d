"""``patch``, ``label`` and ``annotate``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ctl.ctl_runner import Ctl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"
MAPS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {set: x}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, labels: {set: x}}
"""


@pytest.fixture
def file(ctl: Ctl, tmp_path: Path) -> str:
    """A file with two config maps that the server has, and a deployment file beside it."""
    (tmp_path / "m.yaml").write_text(MAPS)
    ctl("create", "-f", str(tmp_path / "m.yaml"))
    return str(tmp_path / "m.yaml")


def test_patch_label_annotate(ctl: Ctl) -> None:
    """Existing values are changed only with --overwrite; KEY- removes one."""
    ctl("apply", "-f", "-", send=MAP)
    ctl("patch", "cm", "m", "--type=json", "-p", '[{"op":"add","path":"/data/x","value":"y"}]')
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.x}").out == "y"
    assert ctl("label", "cm", "m", "q=r", "z=z").lines == ["configmap/m labeled"]
    assert "--overwrite changes it" in ctl("label", "cm", "m", "q=s", status=1).error
    ctl("label", "cm", "--all", "q=s", "--overwrite", "z-")
    assert ctl("get", "cm/m", "-o", "jsonpath={.metadata.labels}").out == '{"q":"s"}'
    ctl("annotate", "cm/m", "u=v")
    assert ctl("get", "cm/m", "-o", "jsonpath={.metadata.annotations.u}").out == "v"
    assert "write KEY=VALUE" in ctl("label", "cm", "m", status=1).error.replace("Write", "write")


def test_conditional_and_contradicting_labels(ctl: Ctl, file: str) -> None:
    """--resource-version guards one object; a key is not set and removed at once; --all goes without a selector."""
    assert "object has been modified" in ctl("label", "cm", "a", "n=1", "--resource-version=1", status=1).error
    assert "of one object" in ctl("label", "-f", file, "n=1", "--resource-version=1", status=1).error
    assert "both set and removed" in ctl("label", "cm", "a", "n=1", "n-", status=1).error
    assert "--all and a selector" in ctl("label", "cm", "--all", "-l", "a=b", "n=1", status=1).error
    assert "--all and a selector" in ctl("delete", "cm", "--all", "-l", "a=b", status=1).error
    assert ctl("label", "cm", "a", "b", "--list").lines == [
        "Listing labels for configmap/a:",
        " set=x",
        "Listing labels for configmap/b:",
        " set=x",
    ]
