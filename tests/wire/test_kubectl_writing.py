"""The stock command-line client writes to a server of either dialect: core, apps and batch kinds."""

from __future__ import annotations

import copy
import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.testing.processes.daemon import PATIENCE
from tests.waiting import LONG
from tests.wire.wire_cli import Cli, config_map, deployment, pod

DIALECT_NAMES = ["kubernetes", "orch"]


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ("namespace {ns}-more", "namespace/{ns}-more"),
        ("configmap one --from-literal=a=b", "configmap/one"),
        ("secret generic one --from-literal=a=b", "secret/one"),
        ("secret docker-registry two --docker-username=u --docker-password=p --docker-server=r", "secret/two"),
        ("serviceaccount one", "serviceaccount/one"),
        ("quota one --hard=pods=10,cpu=2", "resourcequota/one"),
        ("service clusterip one --tcp=80:8080", "service/one"),
        ("service nodeport two --tcp=80", "service/two"),
        ("service loadbalancer three --tcp=80", "service/three"),
        ("service externalname four --external-name=a.example", "service/four"),
        ("deployment one --image=example/main:1 --replicas=0", "deployment.apps/one"),
        ("job one --image=example/main:1 -- echo hello", "job.batch/one"),
        ("cronjob one --image=example/main:1 --schedule=*/5 * * * *", "cronjob.batch/one"),
    ],
)
def test_create_generators(cli: Cli, arguments: str, made: str) -> None:
    """Every generator creates an object that can be read, described and deleted."""
    words = arguments.format(ns=cli.namespace)
    head, _, schedule = words.partition(" --schedule=")
    asked = [*head.split(), *([f"--schedule={schedule}"] if schedule else [])]
    name = made.format(ns=cli.namespace)
    assert cli("create", *asked) == f"{name} created\n"
    assert cli.json("get", name)["metadata"]["name"] == name.partition("/")[2]
    cli("describe", name)
    assert "deleted" in cli("delete", name, "--wait=false")


def test_create_from_files(cli: Cli, tmp_path: Path) -> None:
    """A file may hold several objects, in YAML or JSON, and a folder several files; dry runs store nothing."""
    (tmp_path / "a.yaml").write_text(yaml.dump_all([config_map("one"), config_map("two")]))
    (tmp_path / "b.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [config_map("three")]}))
    for how in ("client", "server"):
        assert cli("create", "-f", str(tmp_path), f"--dry-run={how}").count("created") == 3
    assert "No resources found" in cli("get", "cm", "-l", "x=y")
    assert cli("create", "-f", str(tmp_path)).count("created\n") == 3
    assert cli("delete", "-f", str(tmp_path)).count("deleted") == 3
    (tmp_path / "text").write_text("hello\n")
    cli("create", "configmap", "files", f"--from-file={tmp_path / 'text'}")
    assert cli("get", "cm", "files", "-o", "jsonpath={.data.text}") == "hello\n"
    assert cli("create", "job", "again", "--image=x", "-o", "name") == "job.batch/again\n"


def test_create_from_template(cli: Cli) -> None:
    """A job is created from a cron job's template."""
    cli("create", "cronjob", "often", "--image=example/main:1", "--schedule=*/5 * * * *")
    assert cli("create", "job", "now", "--from=cronjob/often") == "job.batch/now created\n"
    assert cli.json("get", "job", "now")["metadata"]["ownerReferences"][0]["kind"] == "CronJob"


def test_apply_creates_changes_and_removes(cli: Cli) -> None:
    """Apply creates, changes and removes what its file specifies, and leaves other fields unchanged."""
    assert cli("apply", "-f", "-", send=config_map("one", a="1", b="2")) == "configmap/one created\n"
    assert cli("apply", "-f", "-", send=config_map("one", a="1", b="2")) == "configmap/one unchanged\n"
    cli("patch", "cm", "one", "--type=merge", "-p", '{"data":{"mine":"yes"}}')
    changed = config_map("one", a="9")
    text = cli("diff", "-f", "-", send=changed, status=1)
    assert '-  a: "1"' in text and '+  a: "9"' in text and '-  b: "2"' in text
    assert cli("apply", "-f", "-", send=changed) == "configmap/one configured\n"
    assert cli.stored("ConfigMap", "one")["data"] == {"a": "9", "mine": "yes"}
    assert cli("diff", "-f", "-", send=changed) == ""
    assert '"a":"9"' in cli("apply", "view-last-applied", "cm", "one", "-o", "json").replace('": "', '":"')


def test_apply_merges_keyed_lists(cli: Cli) -> None:
    """Keyed lists are merged: containers, ports and variables of other managers stay."""
    wanted = deployment("web", replicas=0)
    cli("apply", "-f", "-", send=wanted)
    extra = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "example/side:1"}]}}}}
    cli("patch", "deploy", "web", "-p", json.dumps(extra))
    cli("set", "env", "deploy/web", "-c", "main", "A=b")
    wanted = copy.deepcopy(wanted)
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "example/main:2"
    assert cli("apply", "-f", "-", send=wanted) == "deployment.apps/web configured\n"
    containers = cli.stored("Deployment", "web")["spec"]["template"]["spec"]["containers"]
    by_name = {c["name"]: c for c in containers}
    assert by_name["main"]["image"] == "example/main:2" and by_name["main"]["env"] == [{"name": "A", "value": "b"}]
    assert by_name["side"]["image"] == "example/side:1"


def test_apply_prune(cli: Cli) -> None:
    """--prune deletes objects that were applied before and are not applied any more."""
    names = [f"--prune-allowlist={kind}" for kind in ("core/v1/ConfigMap", "core/v1/Secret")]
    both = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [config_map("one", {"set": "s"}), config_map("two", {"set": "s"})],
    }
    cli("apply", "-f", "-", send=both)
    cli.make(config_map("three", {"set": "s"}))
    text = cli("apply", "-f", "-", "--prune", "-l", "set=s", *names, send=config_map("one", {"set": "s"}))
    assert "configmap/two pruned" in text
    assert cli("get", "cm", "-l", "set=s", "-o", "name").split() == ["configmap/one", "configmap/three"]


def test_server_side_apply(cli: Cli) -> None:
    """Each manager owns its fields: a conflict names field and manager, and may be forced."""

    def apply(obj: dict[str, Any], *more: str, status: int = 0) -> str:
        return cli("apply", "--server-side", "-f", "-", *more, send=obj, status=status)

    assert apply(config_map("one", a="1")) == "configmap/one serverside-applied\n"
    apply(config_map("one", b="2"), "--field-manager=other")
    assert cli.stored("ConfigMap", "one")["data"] == {"a": "1", "b": "2"}
    text = apply(config_map("one", a="9"), "--field-manager=other", status=1)
    assert "Apply failed with 1 conflict" in text and ".data.a" in text
    apply(config_map("one", a="9"), "--field-manager=other", "--force-conflicts")
    assert cli.stored("ConfigMap", "one")["data"] == {"a": "9"}
    assert "(server dry run)" in apply(config_map("one", z="1"), "--dry-run=server")
    managers = cli("get", "cm", "one", "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager}")
    assert "other" in managers.split()
    wanted = deployment("web", replicas=0)
    apply(wanted)
    apply(wanted)
    assert cli.stored("Deployment", "web")["metadata"]["generation"] == 1


def test_client_side_apply_migrates_to_server_side(cli: Cli) -> None:
    """After client-side apply a server-side apply has no conflict, and can still remove fields."""
    if not cli.stock:
        pytest.skip("the server looks for the annotation of its own dialect")
    cli("apply", "-f", "-", send=config_map("one", a="1", b="2"))
    cli("apply", "--server-side", "-f", "-", send=config_map("one", a="2"))
    assert cli.stored("ConfigMap", "one")["data"] == {"a": "2"}


def test_replace_and_forced_replace(cli: Cli) -> None:
    """replace updates the object; with --force it is deleted and created with another uid."""
    cli.make(config_map("one", a="1"))
    before = cli.stored("ConfigMap", "one")["metadata"]["uid"]
    assert cli("replace", "-f", "-", send=config_map("one", b="2")) == "configmap/one replaced\n"
    stored_config_map = cli.stored("ConfigMap", "one")
    assert stored_config_map["data"] == {"b": "2"} and stored_config_map["metadata"]["uid"] == before
    assert "replaced" in cli("replace", "--force", "-f", "-", send=config_map("one", c="3"))
    assert cli.stored("ConfigMap", "one")["metadata"]["uid"] != before
    text = cli("replace", "-f", "-", send=config_map("none"), status=1)
    assert 'configmaps "none" not found' in text


def test_every_patch_type(cli: Cli) -> None:
    """All patch types work on objects and on the status."""
    cli.make(config_map("one", a="1"))
    for kind, patch in (
        ("strategic", '{"data":{"b":"2"}}'),
        ("merge", '{"data":{"a":null,"c":"3"}}'),
        ("json", '[{"op":"add","path":"/data/d","value":"4"}]'),
    ):
        assert cli("patch", "cm", "one", f"--type={kind}", "-p", patch) == "configmap/one patched\n"
    assert cli.stored("ConfigMap", "one")["data"] == {"b": "2", "c": "3", "d": "4"}
    assert "(no change)" in cli("patch", "cm", "one", "--type=merge", "-p", '{"data":{"b":"2"}}')
    cli("patch", "cm", "one", "--type=json", "-p", '[{"op":"test","path":"/data/d","value":"5"}]', status=1)
    cli.make(pod("one"))
    status = {"status": {"phase": "Running", "podIP": "10.1.2.3"}}
    cli("patch", "pod", "one", "--subresource=status", "-p", json.dumps(status))
    assert cli("get", "pod", "one", "-o", "jsonpath={.status.podIP}") == "10.1.2.3"
    text = cli("patch", "pod", "one", "-p", '{"spec":{"restartPolicy":"Never"}}', status=1)
    assert "pod updates may not change fields other than" in text


def test_edit_sends_changes(cli: Cli, tmp_path: Path) -> None:
    """The edited object is sent; without a change nothing is sent; a rejection opens the editor again."""
    cli.make(config_map("one", word="before"))
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nsed -i s/before/after/ "$1"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    assert cli("edit", "cm", "one", environment={"EDITOR": str(script)}) == "configmap/one edited\n"
    assert cli.stored("ConfigMap", "one")["data"] == {"word": "after"}
    assert "no changes made" in cli("edit", "cm", "one", environment={"EDITOR": "true"})
    cli.make(deployment("web", replicas=0))
    script.write_text('#!/bin/sh\nsed -i "s/  replicas: .*/  replicas: -1/" "$1"\n')
    text = cli("edit", "deploy", "web", environment={"EDITOR": str(script)}, status=1)
    assert "must be greater than or equal to 0" in text or "is invalid" in text


def test_label_and_annotate(cli: Cli) -> None:
    """Labels and annotations are set, overwritten only with the flag, and removed."""
    cli.make(config_map("one"))
    for verb, done, where in (("label", "labeled", "labels"), ("annotate", "annotate", "annotations")):
        assert f"configmap/one {done}" in cli(verb, "cm", "one", "x=y")
        assert "--overwrite is false" in cli(verb, "cm", "one", "x=z", status=1)
        cli(verb, "cm", "one", "x=z", "--overwrite")
        assert cli.stored("ConfigMap", "one")["metadata"][where]["x"] == "z"
        cli(verb, "cm", "one", "x-")
    assert "labeled" in cli("label", "cm", "--all", "seen=yes")
    text = cli("label", "cm", "one", "x=not valid", status=1)
    assert "a valid label must be" in text or "is invalid" in text


def test_delete_by_name_label_and_all(cli: Cli) -> None:
    """Objects are deleted by name, by label or all; a missing one is an error unless ignored."""
    for name in ("a", "b", "c", "d"):
        cli.make(config_map(name, {"half": "yes" if name in "ab" else "no"}))
    assert cli("delete", "cm", "a", "--wait") == 'configmap "a" deleted\n'
    assert cli("delete", "cm", "-l", "half=yes") == 'configmap "b" deleted\n'
    assert 'configmaps "a" not found' in cli("delete", "cm", "a", status=1)
    assert cli("delete", "cm", "a", "--ignore-not-found") == ""
    assert "(server dry run)" in cli("delete", "cm", "c", "--dry-run=server")
    assert set(cli("delete", "cm", "--all", "-o", "name").split()) >= {"configmap/c", "configmap/d"}
    cli("wait", "--for=delete", "cm/c", f"--timeout={LONG}")


def test_delete_scheduled_and_unscheduled_pods(cli: Cli) -> None:
    """A pod without a node is deleted at once; one with a node waits for it, unless forced."""
    cli.make(pod("free"))
    cli("delete", "pod", "free", f"--timeout={LONG}")
    bound = pod("bound")
    bound["spec"]["nodeName"] = "somewhere"
    cli.make(bound)
    cli("delete", "pod", "bound", "--wait=false")
    stored_pod = cli.stored("Pod", "bound")
    assert stored_pod["metadata"]["deletionGracePeriodSeconds"] == 30
    text = cli("delete", "pod", "bound", "--grace-period=0", "--force")
    assert 'pod "bound" force deleted' in text
    assert "not found" in cli("get", "pod", "bound", status=1)


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_delete_cascade_modes(cli: Cli, cascade: str) -> None:
    """Dependents are deleted before the owner, after it, or orphaned."""
    cli.make(config_map("owner"))
    uid = cli.stored("ConfigMap", "owner")["metadata"]["uid"]
    kept = config_map("kept")
    kept["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    ]
    cli.make(kept)
    cli("delete", "cm", "owner", f"--cascade={cascade}", f"--timeout={LONG}")
    if cascade == "orphan":
        assert "ownerReferences" not in cli.stored("ConfigMap", "kept")["metadata"]
    else:
        cli("wait", "--for=delete", "cm/kept", f"--timeout={LONG}")


def test_deleted_namespace_is_waited_for(cli: Cli) -> None:
    """Deleting a namespace deletes its contents, and waits for that."""
    cli("create", "configmap", "one", "--from-literal=a=b")
    cli("delete", "namespace", cli.namespace, f"--timeout={LONG}")
    assert "not found" in cli("get", "namespace", cli.namespace, status=1)


def test_scale_with_a_precondition(cli: Cli) -> None:
    """scale sets the number of replicas, with an optional precondition."""
    cli.make(deployment("web", replicas=0))
    assert cli("scale", "deploy", "web", "--replicas=2") == "deployment.apps/web scaled\n"
    text = cli("scale", "deploy/web", "--current-replicas=9", "--replicas=1", status=1)
    assert "Expected replicas to be 9, was 2" in text
    cli("scale", "deploy/web", "--current-replicas=2", "--replicas=0")
    assert cli("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "0"


def test_set_commands(cli: Cli) -> None:
    """`set` changes images, variables, resources, selectors and subjects."""
    cli.make(deployment("web", replicas=0))
    assert cli("set", "image", "deploy/web", "main=example/main:2") == "deployment.apps/web image updated\n"
    cli("set", "env", "deploy/web", "X=y")
    assert "X=y" in cli("set", "env", "deploy/web", "--list")
    cli("set", "resources", "deploy", "web", "--limits=cpu=1,memory=1Gi", "--requests=cpu=500m")
    cli("create", "serviceaccount", "other")
    cli("set", "serviceaccount", "deploy/web", "other")
    spec = cli.stored("Deployment", "web")["spec"]["template"]["spec"]
    main = spec["containers"][0]
    assert main["image"] == "example/main:2" and spec["serviceAccountName"] == "other"
    assert main["resources"] == {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
    assert cli("expose", "deploy", "web", "--port=80", "--target-port=8080") == "service/web exposed\n"
    cli("set", "selector", "svc", "web", "other=one")
    assert cli.stored("Service", "web")["spec"]["selector"] == {"other": "one"}


def test_run_creates_a_pod(cli: Cli) -> None:
    """run creates a pod."""
    assert cli("run", "one", "--image=example/main:1", "--labels=a=b", "--", "sleep", "1") == "pod/one created\n"
    pod = cli.stored("Pod", "one")
    assert pod["spec"]["containers"][0]["args"] == ["sleep", "1"]
    assert pod["metadata"]["labels"] == {"a": "b"}


def test_wait_for_conditions(cli: Cli) -> None:
    """wait returns when a condition or value is reached, and fails at the timeout."""
    cli.make(pod("one"))
    assert "condition met" in cli("wait", "--for=jsonpath={.status.phase}=Pending", "pod/one", f"--timeout={LONG}")
    assert "timed out" in cli("wait", "--for=condition=Ready", "pod/one", "--timeout=100ms", status=1)
    waiting = cli.start("wait", "--for=condition=Ready", "pod/one", f"--timeout={LONG}")
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    cli("patch", "pod", "one", "--subresource=status", "-p", json.dumps(status))
    assert "condition met" in waiting.communicate(timeout=PATIENCE)[0]


def test_rollout_commands(cli: Cli) -> None:
    """A changed template is a revision that can be shown, paused, restarted and undone."""
    cli.make(deployment("web", replicas=0))
    assert "successfully rolled out" in cli("rollout", "status", "deploy/web", f"--timeout={LONG}")
    cli("set", "image", "deploy/web", "main=example/main:2")
    assert "successfully rolled out" in cli("rollout", "status", "deploy/web", f"--timeout={LONG}")
    if cli.stock:  # which finds revisions by annotations of its own dialect
        history = cli.words("rollout", "history", "deploy/web")
        assert [row[0] for row in history[2:]] == ["1", "2"]
        assert "example/main:1" in cli("rollout", "history", "deploy/web", "--revision=1")
        assert cli("rollout", "undo", "deploy/web") == "deployment.apps/web rolled back\n"
        image = cli("get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
        assert image == "example/main:1"
    assert cli("rollout", "pause", "deploy/web") == "deployment.apps/web paused\n"
    assert "already paused" in cli("rollout", "pause", "deploy/web", status=1)
    assert cli("rollout", "resume", "deploy/web") == "deployment.apps/web resumed\n"
    assert cli("rollout", "restart", "deploy/web") == "deployment.apps/web restarted\n"


def test_cordon_taint_and_uncordon(cli: Cli) -> None:
    """Nodes are cordoned, tainted and uncordoned."""
    name = f"node-{cli.namespace}"
    cli.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    try:
        assert cli("cordon", name) == f"node/{name} cordoned\n"
        assert cli("cordon", name) == f"node/{name} already cordoned\n"
        assert cli.stored("Node", name)["spec"]["unschedulable"] is True
        assert cli("uncordon", name) == f"node/{name} uncordoned\n"
        assert cli("taint", "node", name, "a=b:NoSchedule") == f"node/{name} tainted\n"
        assert "already has" in cli("taint", "node", name, "a=c:NoSchedule", status=1)
        cli("taint", "node", name, "a=c:NoSchedule", "--overwrite")
        assert "a=c:NoSchedule" in cli("describe", "node", name)
        assert cli("taint", "node", name, "a-") == f"node/{name} untainted\n"
        cli("label", "node", name, "zone=a")
        assert cli("get", "nodes", "-l", "zone=a", "-o", "name") == f"node/{name}\n"
    finally:
        cli("delete", "node", name)
