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


def test_objects_that_are_not_there_are_created_by_force(ctl: Ctl) -> None:
    """What only an object that is there has is left out of the new one."""
    ctl("create", "configmap", "n")
    uid = ctl("get", "cm/n", "-o", "jsonpath={.metadata.uid}").out
    there = ctl("get", "cm/n", "-o", "yaml").out
    ran = ctl("replace", "--force", "--grace-period=0", "-f", "-", send=f"{MAP}---\n{there}")
    assert ran.lines == ['configmap "n" deleted from default namespace', "configmap/m replaced", "configmap/n replaced"]
    assert ctl("get", "cm/n", "-o", "jsonpath={.metadata.uid}").out != uid


def test_dry_runs_and_problems(ctl: Ctl) -> None:
    """A dry run changes nothing; an object that cannot be replaced does not keep others from it."""
    ctl("create", "configmap", "m")
    for mode, suffix in (("client", "dry run"), ("server", "server dry run")):
        assert ctl("replace", "-f", "-", f"--dry-run={mode}", send=MAP).lines == [f"configmap/m replaced ({suffix})"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data}").out == ""
    unnamed = MAP.replace("name: m", "labels: {a: b}")
    ran = ctl("replace", "-f", "-", send=f"{unnamed}---\n{MAP}", status=1)
    assert "ConfigMap: replace needs metadata.name" in ran.error and ran.lines == ["configmap/m replaced"]
    assert (
        "--force deletes objects"
        in ctl("replace", "-f", "-", "--force", "--subresource=status", send=MAP, status=1).error
    )
    key = ctl.server.dialect("{short}ctl.{long}.io/last-applied-configuration")
    ctl("replace", "-f", "-", "--save-config", send=MAP)
    assert key in ctl("get", "cm/m", "-o", "json").out
    ctl("replace", "-f", "-", send=MAP)
    assert key not in ctl("get", "cm/m", "-o", "json").out


LEASE = "apiVersion: GROUP/v1\nkind: Lease\nmetadata: {name: l}\nspec: {holderIdentity: a}\n"


def test_versions_of_replaced_objects(ctl: Ctl) -> None:
    """Without a version the present one is replaced, also of kinds that need one; a version that is none is an error."""
    text = LEASE.replace("GROUP", ctl.server.dialect("coordination.{abbr}.io"))
    ctl("create", "-f", "-", send=text)
    assert (
        ctl("replace", "-f", "-", send=text.replace("holderIdentity: a", "holderIdentity: b"))
        .lines[0]
        .endswith("/l replaced")
    )
    assert ctl("get", "lease/l", "-o", "jsonpath={.spec.holderIdentity}").out == "b"
    for version in ("x", "1"):
        ctl(
            "replace", "-f", "-", send=text.replace("{name: l}", f"{{name: l, resourceVersion: '{version}'}}"), status=1
        )
    assert ctl("get", "lease/l", "-o", "jsonpath={.spec.holderIdentity}").out == "b"
