"""``replace``."""

from __future__ import annotations

from pathlib import Path

from tests.ctl.ctl_runner import Ctl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"


def test_replace_and_forced_replace(ctl: Ctl, tmp_path: Path) -> None:
    """Fields that the file omits are removed; --force deletes and creates the object; a missing object is an error."""
    assert "not found" in ctl("replace", "-f", "-", send=MAP, status=1).error
    ctl("create", "configmap", "m", "--from-literal=x=y")
    uid = ctl("get", "cm/m", "-o", "jsonpath={.metadata.uid}").out
    assert ctl("replace", "-f", "-", send=MAP).lines == ["configmap/m replaced"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data}").out == '{"a":"b"}'
    assert ctl("get", "cm/m", "-o", "jsonpath={.metadata.uid}").out == uid
    assert ctl("replace", "--force", "-f", "-", send=MAP).lines == [
        'configmap "m" deleted from default namespace',
        "configmap/m replaced",
    ]
    assert ctl("get", "cm/m", "-o", "jsonpath={.metadata.uid}").out != uid
    assert (
        "--force deletes objects" in ctl("replace", "--force", "--dry-run=server", "-f", "-", send=MAP, status=1).error
    )
    ctl("create", "deployment", "web", "--image=i")
    text = ctl("get", "deploy/web", "-o", "yaml").out.replace("image: i", "image: j")
    ctl("replace", "-f", "-", send=text)
    ctl("label", "deploy/web", "x=y")
    assert "modified" in ctl("replace", "-f", "-", send=text, status=1).error
    assert "unknown field" in ctl("replace", "-f", "-", "--validate", send=f"{MAP}frob: 1\n", status=1).error
