"""Selection of objects."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.ctl.ctl_runner import Ctl

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


def test_objects_of_files_are_changed(ctl: Ctl, file: str) -> None:
    """label, annotate, patch and get take -f; names beside it are refused."""
    assert ctl("label", "-f", file, "n=1").lines == ["configmap/a labeled", "configmap/b labeled"]
    assert ctl("label", "-f", file, "n-").lines == ["configmap/a unlabeled", "configmap/b unlabeled"]
    assert ctl("annotate", "-f", file, "n=1").lines == ["configmap/a annotated", "configmap/b annotated"]
    assert ctl("patch", "-f", file, "-p", '{"data": {"x": "y"}}').lines == [
        "configmap/a patched",
        "configmap/b patched",
    ]
    assert "by -f or by name" in ctl("label", "-f", file, "cm/a", "n=1", status=1).error
    assert "by -f or by name" in ctl("get", "-f", file, "cm/a", status=1).error


def test_local_changes_need_no_server(ctl: Ctl, file: str, tmp_path: Path) -> None:
    """With --local the changed objects are printed, and the server's stay."""
    web = tmp_path / "web.yaml"
    web.write_text(ctl("create", "deployment", "web", "--image=nginx:1", "--dry-run=client", "-o", "yaml").out)
    assert ctl("label", "-f", file, "n=1", "--local", "-o", "jsonpath={.metadata.labels.n} ").out == "1 1 "
    assert ctl("annotate", "-f", file, "n=1", "--local").lines == ["configmap/a annotated", "configmap/b annotated"]
    image = "go-template={{(index .spec.template.spec.containers 0).image}}"
    assert ctl("set", "image", "-f", str(web), "--local", "nginx=nginx:9", "-o", image).out == "nginx:9"
    assert ctl("set", "env", "-f", str(web), "--local", "A=b").lines == ["deployment.apps/web env updated"]
    merged = '{"spec": {"template": {"spec": {"containers": [{"name": "nginx", "image": "x"}]}}}}'
    patched = yaml.safe_load(ctl("patch", "-f", str(web), "--local", "-p", merged, "-o", "yaml").out)
    assert patched["spec"]["template"]["spec"]["containers"] == [{"name": "nginx", "image": "x"}]
    operations = '[{"op": "replace", "path": "/spec/replicas", "value": 7}]'
    assert (
        ctl("patch", "-f", str(web), "--local", "--type=json", "-p", operations, "-o", "jsonpath={.spec.replicas}").out
        == "7"
    )
    bad = ctl(
        "patch",
        "-f",
        str(web),
        "--local",
        "--type=json",
        "-p",
        '[{"op": "test", "path": "/kind", "value": 1}]',
        status=1,
    )
    assert "cannot be applied to Deployment web" in bad.error
    assert "name them with -f" in ctl("label", "cm/a", "n=1", "--local", status=1).error


def test_whole_types_and_selectors(ctl: Ctl) -> None:
    """scale and rollout act on all objects of a selector, a type or a file; nothing chosen is said."""
    for name in ("web", "api"):
        ctl("create", "deployment", name, "--image=nginx:1")
    assert ctl("scale", "deploy", "--all", "--replicas=2").lines == [
        "deployment.apps/api scaled",
        "deployment.apps/web scaled",
    ]
    assert ctl("scale", "deploy", "-l", "app=web", "--replicas=3", "-o", "jsonpath={.spec.replicas}").out == "3"
    assert "check the selector" in ctl("scale", "deploy", "-l", "app=no", "--replicas=1", status=1).error
    assert ctl("rollout", "pause", "deploy").lines == ["deployment.apps/api paused", "deployment.apps/web paused"]
    assert ctl("rollout", "resume", "deploy", "-l", "app=web").lines == ["deployment.apps/web resumed"]
    both = ctl("rollout", "restart", "deploy", status=1)
    assert both.lines == ["deployment.apps/web restarted"] and "api is paused: resume it first" in both.error
    none = ctl("rollout", "restart", "deploy", "-l", "app=no")
    assert (none.out, none.error) == ("", "No resources found in default namespace.\n")


def test_one_failing_object_does_not_stop_the_others(ctl: Ctl, file: str) -> None:
    """replace, label, patch, scale and set go on, and fail at the end with the reason."""
    ctl("delete", "cm", "a")
    for words in (
        ("replace", "-f", file),
        ("label", "-f", file, "n=1"),
        ("patch", "-f", file, "-p", '{"data": {"x": "y"}}'),
    ):
        ran = ctl(*words, status=1)
        assert len(ran.lines) == 1 and ran.lines[0].startswith("configmap/b "), ran.out
        assert ran.error == 'orchctl: configmaps "a" not found\n'


def test_services_and_autoscalers_of_files(ctl: Ctl, tmp_path: Path) -> None:
    """expose and autoscale take the object from a file."""
    ctl("create", "deployment", "web", "--image=nginx:1", "--port=80")
    web = tmp_path / "web.yaml"
    web.write_text(ctl("get", "deploy/web", "-o", "yaml").out)
    assert ctl("expose", "-f", str(web)).lines == ["service/web exposed"]
    assert ctl("autoscale", "-f", str(web), "--max=3").lines == ["horizontalpodautoscaler.autoscaling/web autoscaled"]
    assert ctl("wait", "-f", str(web), "--for=jsonpath={.spec.replicas}=1", "-o", "name").lines == [
        "deployment.apps/web"
    ]
