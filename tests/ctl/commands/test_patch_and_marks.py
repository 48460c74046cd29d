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


def test_lists_of_labels(ctl: Ctl, file: str) -> None:
    """Of one object without a heading."""
    ctl("label", "cm/a", "m=n")
    assert ctl("label", "cm/a", "--list").lines == ["m=n", "set=x"]
    assert ctl("annotate", "cm/a", "--list").out == ""
    # A single hyphen is a name.
    assert 'configmaps "-" not found' in ctl("label", "cm", "a", "-", "m=n", status=1).error


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("cm a set- x-", ['label "x" not found.', "configmap/a unlabeled"]), ("cm a set- x=1", ["configmap/a labeled"]),
        ("cm a x=1 --dry-run=client", ["configmap/a labeled (dry run)"]), ("cm a set=y --overwrite", ["configmap/a labeled"]),
        ("cm a x=1 --dry-run=server", ["configmap/a labeled (server dry run)"]), ("cm a set=x", ["configmap/a not labeled"]),
        ("cm a set=x --dry-run=client", ["configmap/a not labeled (dry run)"]), ("cm a x=", ["configmap/a labeled"]),
        ("cm -l set=x x=1", ["configmap/a labeled", "configmap/b labeled"]), ("cm -l set=y x=1", []),
    ],
)  # fmt: skip
def test_what_is_said_about_labels(ctl: Ctl, file: str, words: str, line: list[str]) -> None:
    assert ctl("label", *words.split()).lines == line


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("cm a n- n=1", "n is both set and removed"), ("cm a set=y", "configmap/a already has set=x: --overwrite changes it"), ("cm --all --field-selector=a=b n=1", "--all and a selector cannot be used together"),
        ("cm a b n=1 --resource-version=1", "--resource-version is of one object"), ("cm a", "which labels? Write KEY=VALUE"),
    ],
)  # fmt: skip
def test_labels_that_are_not_set(ctl: Ctl, file: str, words: str, says: str) -> None:
    error = ctl("label", *words.split(), status=1).error
    assert says in error
    assert ctl("get", "cm/a", "-o", "jsonpath={.metadata.labels}").out == '{"set":"x"}'


def test_local_labels(ctl: Ctl, file: str) -> None:
    """Nothing is asked of the server; what is not changed is told."""
    assert ctl("label", "-f", file, "--local", "set-").lines == ["configmap/a unlabeled", "configmap/b unlabeled"]
    assert ctl("label", "-f", file, "--local", "set=x").lines == ["configmap/a not labeled", "configmap/b not labeled"]
    assert ctl("label", "-f", file, "--local", "set-", "-o", "jsonpath={.metadata}").out.count('"labels":{}') == 2
    assert ctl("get", "cm/a", "-o", "jsonpath={.metadata.labels}").out == '{"set":"x"}'


def test_patches_that_change_nothing_or_are_not_stored(ctl: Ctl, file: str, tmp_path: Path) -> None:
    """It is told; a patch may come from a file, and change several objects."""
    patch = '{"data": {"x": "y"}}'
    for mode, suffix in (("client", " (dry run)"), ("server", " (server dry run)")):
        assert ctl("patch", "cm", "a", "-p", patch, f"--dry-run={mode}").lines == [f"configmap/a patched{suffix}"]
    assert ctl("get", "cm/a", "-o", "jsonpath={.data}").out == ""
    (tmp_path / "patch").write_text("data: {x: y}\n")
    assert ctl("patch", "cm", "a", "b", f"--patch-file={tmp_path / 'patch'}").lines == [
        "configmap/a patched",
        "configmap/b patched",
    ]
    assert ctl("patch", "cm/a", "-p", patch, "--dry-run=client").lines == ["configmap/a patched (no change) (dry run)"]
    assert ctl("patch", "cm/a", "--type=merge", "-p", '{"data": {"x": null}}', "-o", "jsonpath={.data}").out == ""
    assert ctl("patch", "-f", file, "--local", "-p", patch, "-o", "jsonpath={.data.x}").out == "yy"
    ctl("create", "deployment", "d", "--image=i")
    ctl("patch", "deploy/d", "--subresource=scale", "--type=merge", "-p", '{"spec": {"replicas": 3}}')
    assert ctl("get", "deploy/d", "-o", "jsonpath={.spec.replicas}").out == "3"
