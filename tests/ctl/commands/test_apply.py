"""``apply`` and what it remembers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from orchd.client.interfaces import ResourceRef
from orchd.client.requests import Call
from orchd.ctl.cluster.api import MERGE
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede

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
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {each}, labels: {{set: s}}}}\ndata: {{a: {data}}}\n"
        for each in names
    )


MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"


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
    ctl("apply", "-f", "-", send=maps("unselected").replace("set: s", "set: t"))
    ctl("create", "-f", "-", send=maps("created"))
    ctl("apply", "-f", "-", "--field-manager=other", send=maps("theirs"))
    prune = ("apply", "-f", "-", "--prune", "-l", "set=s")
    assert ctl(*prune, "--dry-run=client", send=maps("a", "b")).lines[2:] == ["configmap/c pruned (dry run)"]
    assert ctl(*prune, "--dry-run=server", send=maps("a", "b")).lines[2:] == ["configmap/c pruned (server dry run)"]
    assert ctl(*prune, "--prune-allowlist=core/v1/Secret", send=maps("a", "b")).lines[2:] == []
    assert ctl(*prune, send=maps("a", "b")).lines == [
        "configmap/a unchanged",
        "configmap/b unchanged",
        "configmap/c pruned",
    ]
    assert ctl("apply", "-f", "-", "--prune", "--all", "--wait", send=maps("a")).lines == [
        "configmap/a unchanged",
        "configmap/b pruned",
        "configmap/unselected pruned",
    ]
    assert ctl("get", "cm", "-l", "set=s", "-o", "name").lines == [
        "configmap/a",
        "configmap/created",
        "configmap/theirs",
    ]


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
    assert ctl("apply", "set-last-applied", "-f", "-", "--create-annotation", send=maps("m")).lines == [
        "configmap/m configured"
    ]
    assert "no changes required" in ctl("apply", "set-last-applied", "-f", "-", send=maps("m")).out
    assert "view-last-applied" in ctl("apply", "edit-last-applied", "cm/m", status=1).error


def test_apply_creates_then_configures(ctl: Ctl, tmp_path: Path) -> None:
    """Apply prints whether it created or configured each object; a folder stands for its files; a dry run stores
    nothing."""
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "m.yaml").write_text(MAP)
    (folder / "note.txt").write_text("no object")
    assert ctl("apply", "-f", str(folder)).lines == ["configmap/m created"]
    assert ctl("apply", "-f", str(folder)).lines == ["configmap/m unchanged"]
    changed = MAP.replace("a: b", "a: c")
    assert ctl("apply", "-f", "-", "--dry-run", send=changed).lines == ["configmap/m configured (server dry run)"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a}").out == "b"
    assert ctl("apply", "-f", "-", send=changed).lines == ["configmap/m configured"]


def test_an_error_of_one_object_does_not_stop_the_others(ctl: Ctl) -> None:
    """Create, apply and delete continue after an error, and print every error at the end."""
    maps = [MAP.replace("name: m", f"name: m{number}") for number in range(4)]
    wrong = MAP.replace("data: {a: b}", "data: {a: {}}").replace("name: m", "name: wrong")
    ctl("create", "-f", "-", send=maps[1])
    done = ctl("create", "-f", "-", send="---\n".join([maps[0], maps[1], wrong, maps[2]]), status=1)
    assert done.lines == ["configmap/m0 created", "configmap/m2 created"]
    first, second = done.error.splitlines()
    assert first == 'orchctl: configmaps "m1" already exists' and second.startswith(
        'orchctl: ConfigMap in version "v1" cannot be handled'
    )
    done = ctl("apply", "-f", "-", send="---\n".join([wrong, maps[3]]), status=1)
    assert done.lines == ["configmap/m3 created"]
    done = ctl("delete", "-f", "-", send="---\n".join([maps[0], MAP, wrong, maps[3]]), status=1)
    assert done.lines == [
        'configmap "m0" deleted from default namespace',
        'configmap "m3" deleted from default namespace',
    ]
    assert done.error.splitlines() == ['orchctl: configmaps "m" not found', 'orchctl: configmaps "wrong" not found']


def test_field_conflict_is_refused_unless_forced(ctl: Ctl) -> None:
    """Fields of another manager are not changed without --force-conflicts."""
    ctl("apply", "-f", "-", "--field-manager=other", send=MAP)
    error = ctl("apply", "-f", "-", status=1, send=MAP.replace("a: b", "a: c")).error
    assert "--force-conflicts takes over the fields" in error
    ctl("apply", "-f", "-", "--force-conflicts", send=MAP.replace("a: b", "a: c"))
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a}").out == "c"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "standard input"),
        ("a: 1", "needs apiVersion and kind"),
        ("apiVersion: v1\nkind: Frob\nmetadata: {name: a}", 'no kind "Frob"'),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}", "apply needs metadata.name"),
    ],
)
def test_invalid_manifest_is_named_with_its_place(ctl: Ctl, text: str, says: str) -> None:
    """The error for an invalid file names the place or the missing field."""
    assert says in ctl("apply", "-f", "-", status=1, send=text).error


def test_unchanged_objects_are_reported(ctl: Ctl) -> None:
    """Commands that change nothing say so: an equal label, a patch without effect, a deployment that is already
    paused."""
    ctl("create", "configmap", "m")
    ctl("label", "cm/m", "a=b")
    assert ctl("label", "cm/m", "a=b").lines == ["configmap/m not labeled"]
    assert ctl("label", "cm/m", "zz-").lines == ['label "zz" not found.', "configmap/m not labeled"]
    assert ctl("patch", "cm/m", "-p", '{"metadata":{"labels":{"a":"b"}}}').lines == ["configmap/m patched (no change)"]
    ctl("create", "deployment", "d", "--image=i")
    ctl("rollout", "pause", "deploy/d")
    assert "is already paused" in ctl("rollout", "pause", "deploy/d", status=1).error
    assert "unknown field" in ctl("create", "-f", "-", status=1, send=MAP + "frob: 1\n").error
    assert ctl(
        "create", "-f", "-", "--validate=ignore", send=MAP.replace("name: m", "name: other") + "frob: 1\n"
    ).lines == ["configmap/other created"]
    assert ctl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}").out == "admin"
    assert json.loads(ctl("auth", "whoami", "-o", "json").out)["kind"] == "SelfSubjectReview"


CONFIG_MAPS = ResourceRef("", "v1", "configmaps")


@pytest.mark.parametrize(("field", "conflict"), [("a", True), ("other", False)])
def test_a_conflict_with_others_that_arises_meanwhile_is_one(
    ctl: Ctl, monkeypatch: pytest.MonkeyPatch, field: str, conflict: bool
) -> None:
    """Between the two requests of an apply that takes over fields of its own manager, another manager may write: its
    field of the file is a conflict, and another field is none."""
    ctl("apply", "-f", "-", send=MAP)
    ctl("patch", "cm/m", "-p", '{"data": {"a": "own"}}')
    other = ctl.server.client(agent="other")
    meddled: list[Call] = []

    async def meddle(call: Call) -> None:
        if call.method == "PATCH" and call.query.get("force") and not meddled:
            meddled.append(call)
            await other.patch(
                CONFIG_MAPS, "default", "m", {"data": {field: "theirs"}}, content_type=MERGE, field_manager="other"
            )

    calls = precede(ctl, monkeypatch, meddle)
    ran = ctl("apply", "-f", "-", send=MAP, status=int(conflict))
    assert meddled and ("force" in calls[-1].query) != conflict
    assert ('conflict with "other"' in ran.error) == conflict
    data = yaml.safe_load(ctl("get", "cm/m", "-o", "yaml").out)["data"]
    assert data == ({"a": "theirs"} if conflict else {"a": "b", "other": "theirs"})


def test_pruning_spares_objects_that_changed_meanwhile(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that was deleted and made again since the list is another one, and is not deleted."""
    ctl("apply", "-f", "-", send=maps("a", "b"))
    other = ctl.server.client()

    async def replace(call: Call) -> None:
        if call.method == "DELETE":
            await other.delete(CONFIG_MAPS, "default", "b")
            await other.create(
                CONFIG_MAPS, "default", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
            )

    precede(ctl, monkeypatch, replace)
    ran = ctl("apply", "-f", "-", "--prune", "--all", send=maps("a"), status=1)
    assert "uid" in ran.error.lower() and ran.lines == ["configmap/a unchanged"]
    assert ctl("get", "cm/b", "-o", "name").out == "configmap/b\n"


def test_pruning_leaves_objects_that_are_being_deleted(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object whose deletion has begun is not deleted again, nor reported."""
    ctl("apply", "-f", "-", send=maps("a") + maps("b").replace("name: b,", "name: b, finalizers: [example.org/hold],"))
    ctl("delete", "cm/b", "--wait=false")

    async def nothing(call: Call) -> None:
        """Nothing precedes."""

    calls = precede(ctl, monkeypatch, nothing)
    assert ctl("apply", "-f", "-", "--prune", "--all", send=maps("a")).lines == ["configmap/a unchanged"]
    assert not [call for call in calls if call.method == "DELETE"]


def test_pruning_in_several_namespaces(ctl: Ctl) -> None:
    """Objects without a namespace are pruned, and those of the namespaces of the files."""
    ctl("create", "namespace", "other")
    volume = "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v, labels: {set: s}}\n"
    volume += "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: s, path: /}}\n"
    there = maps("a", "b").replace("name: ", "namespace: other, name: ")
    ctl("apply", "-f", "-", send=maps("a") + there + volume)
    prune = ("apply", "-f", "-", "--prune", "-l", "set=s", "--wait=false")
    lines = ctl(*prune, send=maps("a") + maps("a").replace("name: ", "namespace: other, name: ")).lines
    assert lines == [
        "configmap/a unchanged",
        "configmap/a unchanged",
        "configmap/b pruned",
        "persistentvolume/v pruned",
    ]
    assert ctl("get", "cm", "-n", "other", "-o", "name").lines == ["configmap/a"]


def test_objects_of_another_namespace(ctl: Ctl) -> None:
    """Of two namespaces one is wrong, whatever the command does with the object."""
    there = MAP.replace("name: m", "name: m, namespace: x")
    for command in ("create", "apply", "replace"):
        error = ctl(command, "-f", "-", "-n", "y", send=there, status=1).error
        assert "configmap/m is of namespace 'x', -n says 'y': leave out one of them" in error
