"""``apply``: field ownership, pruning, recreation, and the last-applied annotation."""

from __future__ import annotations

import json

import pytest
import yaml

from orchd.ctl.applied import owned_part
from tests.ctl.ctl_runner import Ctl

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: "nginx:1"}]}
"""


def maps(*names: str, data: str = "x") -> str:
    return "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {each}, labels: {{set: s}}}}\ndata: {{a: {data}}}\n" for each in names
    )


def test_fields_set_by_other_commands_are_taken_over(ctl: Ctl) -> None:
    """Fields that create, set, scale and patch of this program wrote cause no conflict in apply; those of other
    managers do."""
    ctl("create", "-f", "-", send=WEB)
    ctl("scale", "deploy/web", "--replicas=4")
    ctl("set", "image", "deploy/web", "nginx=nginx:9")
    assert ctl("apply", "-f", "-", send=WEB).lines == ["deployment.apps/web configured"]
    assert ctl("get", "deploy/web", "-o", "go-template={{.spec.replicas}}").out == "1"
    ctl("scale", "deploy/web", "--replicas=4")
    ctl("patch", "deploy/web", "-p", '{"spec": {"replicas": 5}}', "--field-manager=other")
    assert 'conflict with "other"' in ctl("apply", "-f", "-", send=WEB, status=1).error
    assert ctl("apply", "-f", "-", "--force-conflicts", send=WEB).lines == ["deployment.apps/web configured"]


def test_pruning_deletes_what_the_files_no_longer_have(ctl: Ctl) -> None:
    """Applied objects that match the selector and are not in the files are deleted; others, and those that were only
    created, stay."""
    ctl("apply", "-f", "-", send=maps("a", "b", "c"))
    ctl("create", "-f", "-", send=maps("made"))
    ctl("apply", "-f", "-", "--field-manager=other", send=maps("theirs"))
    prune = ("apply", "-f", "-", "--prune", "-l", "set=s")
    assert ctl(*prune, "--dry-run=client", send=maps("a", "b")).lines[2:] == ["configmap/c pruned (dry run)"]
    assert ctl(*prune, "--dry-run=server", send=maps("a", "b")).lines[2:] == ["configmap/c pruned (server dry run)"]
    assert ctl(*prune, "--prune-allowlist=core/v1/Secret", send=maps("a", "b")).lines[2:] == []
    assert ctl(*prune, send=maps("a", "b")).lines == ["configmap/a unchanged", "configmap/b unchanged", "configmap/c pruned"]
    assert ctl("apply", "-f", "-", "--prune", "--all", "--wait", send=maps("a")).lines == ["configmap/a unchanged", "configmap/b pruned"]
    assert ctl("get", "cm", "-l", "set=s", "-o", "name").lines == ["configmap/a", "configmap/made", "configmap/theirs"]


def test_pruning_stops_when_an_object_cannot_be_applied(ctl: Ctl) -> None:
    """If an object of the files is rejected, no object is deleted."""
    ctl("apply", "-f", "-", send=maps("a", "b"))
    broken = maps("a") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: X_, labels: {set: s}}\n"
    assert "X_" in ctl("apply", "-f", "-", "--prune", "-l", "set=s", status=1, send=broken).error
    assert ctl("get", "cm/b", "-o", "name").out == "configmap/b\n"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--prune",), "--prune needs -l SELECTOR, or --all"),
        (("--prune", "--all", "-l", "a=b"), "--prune needs -l SELECTOR, or --all"),
        (("--all",), "go with --prune"),
        (("--prune", "-l", "set=s", "--prune-allowlist=ConfigMap"), "write GROUP/VERSION/KIND"),
        (("-l", "set=no"), "no object of the files has the labels set=no"),
    ],
)
def test_flags_of_pruning_are_checked(ctl: Ctl, flags: tuple[str, ...], says: str) -> None:
    """Pruning requires a selector or --all; its flags are rejected without --prune."""
    assert says in ctl("apply", "-f", "-", *flags, send=maps("a"), status=1).error


def test_immutable_objects_are_recreated_by_force(ctl: Ctl) -> None:
    """With --force an object whose change is rejected is deleted and created."""
    ctl("apply", "-f", "-", send=WEB)
    other = WEB.replace("app: web", "app: other")
    assert "immutable" in ctl("apply", "-f", "-", send=other, status=1).error
    assert ctl("apply", "-f", "-", "--force", send=other).lines == ["deployment.apps/web created"]


def test_what_was_applied_last_is_printed(ctl: Ctl) -> None:
    """view-last-applied prints the fields of the applied file; objects that were never applied are rejected."""
    ctl("apply", "-f", "-", send=WEB)
    ctl("scale", "deploy/web", "--replicas=4")
    shown = yaml.safe_load(ctl("apply", "view-last-applied", "deploy/web").out)
    wanted = yaml.safe_load(WEB)
    del wanted["spec"]["replicas"]  # scale owns it now
    shown["metadata"].pop("namespace")
    shown["spec"].pop("replicas", None)
    assert shown == wanted
    ctl("create", "cm", "m")
    assert "was never applied" in ctl("apply", "view-last-applied", "cm/m", status=1).error
    saved = maps("kept")
    ctl("create", "-f", "-", "--save-config", send=saved)
    assert json.loads(ctl("apply", "view-last-applied", "cm/kept", "-o", "json").out)["data"] == {"a": "x"}
    assert "--create-annotation adds it" in ctl("apply", "set-last-applied", "-f", "-", send=maps("m"), status=1).error
    assert ctl("apply", "set-last-applied", "-f", "-", "--create-annotation", send=maps("m")).lines == ["configmap/m configured"]
    assert "no changes required" in ctl("apply", "set-last-applied", "-f", "-", send=maps("m")).out
    assert "view-last-applied" in ctl("apply", "edit-last-applied", "cm/m", status=1).error


def test_the_owned_part_of_a_value() -> None:
    """Fields and list items by key and by value are taken; the rest is left out."""
    value = {"a": 1, "b": {"c": 2, "d": 3}, "l": [{"name": "x", "v": 1, "w": 2}, {"name": "y"}], "s": ["p", "q"], "e": {"f": 1}}
    fields = {
        "f:a": {}, "f:b": {"f:c": {}}, "f:l": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:v": {}}}, "f:s": {'v:"q"': {}},
        "f:e": {".": {}}, "f:gone": {},
    }  # fmt: skip
    assert owned_part(value, fields) == {"a": 1, "b": {"c": 2}, "l": [{"name": "x", "v": 1}], "s": ["q"], "e": {}}
