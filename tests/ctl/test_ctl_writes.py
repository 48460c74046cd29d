"""Commands that write: apply, diff, create, patch, edit, label, annotate, scale, delete, wait, rollout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.ctl.differences import difference
from orchd.ctl.errors import CommandError
from orchd.ctl.rollout import progress
from orchd.ctl.wait import parse_test
from tests.ctl.ctl_runner import Ctl

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"


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


def test_create_from_files_of_variables(ctl: Ctl, tmp_path: Path) -> None:
    """Comments and empty lines are ignored; an invalid line, or another source besides the file, is rejected."""
    file = tmp_path / "env"
    file.write_text("\ufeffA=1\n# no\n\n  B=two = words \nABSENT\n")
    ctl("create", "configmap", "vars", f"--from-env-file={file}")
    assert yaml.safe_load(ctl("get", "cm/vars", "-o", "yaml").out)["data"] == {"A": "1", "B": "two = words ", "ABSENT": ""}
    ctl("create", "secret", "generic", "vars", f"--from-env-file={file}")
    assert yaml.safe_load(ctl("get", "secret/vars", "-o", "yaml").out)["data"]["A"] == "MQ=="
    refused = ctl("create", "configmap", "w", f"--from-env-file={file}", "--from-literal=a=b", status=1).error
    assert "--from-env-file cannot be combined" in refused
    file.write_text("A=1\n1 B=2\n")
    assert "line 2: '1 B' is not the name of a variable" in ctl("create", "cm", "w", f"--from-env-file={file}", status=1).error
    assert "No such file" in ctl("create", "cm", "w", "--from-env-file=/none", status=1).error


def test_an_error_of_one_object_does_not_stop_the_others(ctl: Ctl) -> None:
    """Create, apply and delete continue after an error, and print every error at the end."""
    maps = [MAP.replace("name: m", f"name: m{number}") for number in range(4)]
    wrong = MAP.replace("data: {a: b}", "data: {a: {}}").replace("name: m", "name: wrong")
    ctl("create", "-f", "-", send=maps[1])
    done = ctl("create", "-f", "-", send="---\n".join([maps[0], maps[1], wrong, maps[2]]), status=1)
    assert done.lines == ["configmap/m0 created", "configmap/m2 created"]
    assert 'configmaps "m1" already exists; ' in done.error and done.error.count("\n") == 1
    done = ctl("apply", "-f", "-", send="---\n".join([wrong, maps[3]]), status=1)
    assert done.lines == ["configmap/m3 created"]
    done = ctl("delete", "-f", "-", send="---\n".join([maps[0], MAP, wrong, maps[3]]), status=1)
    assert done.lines == ['configmap "m0" deleted', 'configmap "m3" deleted']
    assert 'configmaps "m" not found; configmaps "wrong" not found' in done.error


def test_diff_shows_changes_and_sets_the_exit_status(ctl: Ctl) -> None:
    """Diff prints what apply would change; its exit status says whether there are differences."""
    ctl("apply", "-f", "-", send=MAP)
    assert ctl("diff", "-f", "-", send=MAP).out == ""
    runner = Ctl(ctl.server)
    with pytest.raises(AssertionError, match=r"\+  a: c"):
        runner("diff", "-f", "-", send=MAP.replace("a: b", "a: c"))


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


def test_create_from_arguments(ctl: Ctl, tmp_path: Path) -> None:
    """Simple kinds are created from arguments."""
    (tmp_path / "f").write_bytes(b"\xff")
    ctl("create", "configmap", "m", "--from-literal=a=b", f"--from-file={tmp_path / 'f'}")
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a} {.binaryData.f}").out == "b /w=="
    ctl("create", "secret", "s", "--from-literal=a=b")
    assert ctl("get", "secret/s", "-o", "jsonpath={.data.a}").out == "Yg=="
    assert "write --from-literal=KEY=VALUE" in ctl("create", "configmap", "x", "--from-literal=a", status=1).error
    assert "already exists" in ctl("create", "configmap", "m", status=1).error


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


def test_edit_sends_changes_and_reopens_after_a_refusal(ctl: Ctl) -> None:
    """The edited object is sent; without a change there is no request; after a rejection the editor opens again with
    the reason."""
    ctl("apply", "-f", "-", send=MAP)
    ctl.edit = lambda text: text.replace("a: b", "a: edited")
    assert ctl("edit", "cm", "m").lines == ["configmap/m edited"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a}").out == "edited"
    ctl.edit = lambda text: text
    assert "no changes made" in ctl("edit", "cm", "m").out
    seen: list[str] = []

    def wrong(text: str) -> str:
        seen.append(text)
        return text if len(seen) > 1 else text.replace("  name: m", "  name: other")

    ctl.edit = wrong
    refused = ctl("edit", "cm", "m", status=1).error
    assert "metadata.name cannot be changed" in refused
    assert seen[1].startswith("# ")
    kept = Path(refused.split()[-1])
    assert "name: other" in kept.read_text()
    kept.unlink()


def test_edit_takes_forms_subresources_and_several_objects(ctl: Ctl) -> None:
    """edit opens JSON or YAML, a subresource, and several objects in turn."""
    ctl("apply", "-f", "-", send=MAP)
    ctl.edit = lambda text: text.replace('"a": "b"', '"a": "c"')
    ran = ctl("edit", "cm", "m", "-o", "json", "--output-patch")
    assert ran.lines == ["configmap/m edited", 'Patch: {"data":{"a":"c"}}']
    ctl("create", "cm", "n")
    ctl.edit = lambda text: text.replace("  name:", "  annotations: {x: text}\n  name:")
    assert ctl("edit", "cm", "m", "n").lines == ["configmap/m edited", "configmap/n edited"]
    ctl("create", "ns", "sub")
    seen: list[str] = []
    ctl.edit = lambda text: seen.append(text)
    ctl("edit", "ns", "sub", "--subresource=status")
    assert "phase: Active" in seen[0]
    assert "yaml or json" in ctl("edit", "cm", "m", "-o", "name", status=1).error


def test_difference_is_a_merge_patch() -> None:
    """Removed keys become null, lists are replaced, equal members are left out."""
    before = {"a": 1, "b": {"c": 1, "d": [1]}, "e": 1}
    assert difference(before, {"a": 1, "b": {"c": 1, "d": [2]}, "f": None}) == {"b": {"d": [2]}, "e": None, "f": None}


def test_scale_and_rollout(ctl: Ctl) -> None:
    """Scale uses the subresource; restart annotates the template; pause sets spec.paused."""
    ctl("create", "deployment", "web", "--image=nginx:1", "-r", "2")
    assert "has 2 replicas, not 5" in ctl("scale", "deploy/web", "--replicas=3", "--current-replicas=5", status=1).error
    ctl("scale", "deploy/web", "--replicas=3")
    assert ctl("get", "deploy/web", "-o", "jsonpath={.spec.replicas}").out == "3"
    ctl("rollout", "restart", "deploy/web")
    assert "restartedAt" in ctl("get", "deploy/web", "-o", "jsonpath={.spec.template.metadata.annotations}").out
    ctl("rollout", "pause", "deploy/web")
    assert ctl("get", "deploy/web", "-o", "jsonpath={.spec.paused}").out == "true"
    assert "resume it first" in ctl("rollout", "undo", "deploy/web", status=1).error
    assert "no rollouts" in ctl("rollout", "status", "ns/default", status=1).error
    assert "cannot be scaled" in ctl("scale", "ns/default", "--replicas=1", status=1).error


def test_rollout_undo(ctl: Ctl) -> None:
    """Undo restores the template of an earlier ReplicaSet, without its pod-template-hash label."""
    ctl("create", "deployment", "web", "--image=nginx:1")
    owner = ctl("get", "deploy/web", "-o", "jsonpath={.metadata.uid}").out.strip()
    key = ctl.server.dialect("deployment.{long}.io/revision")
    for number, image in ((1, "nginx:0"), (2, "nginx:1")):
        ctl("create", "-f", "-", send=f"""
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-{number}
  annotations: {{{key}: "{number}"}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: {owner}, controller: true}}]
spec:
  selector: {{matchLabels: {{app: web, pod-template-hash: h{number}}}}}
  template:
    metadata: {{labels: {{app: web, pod-template-hash: h{number}}}}}
    spec: {{containers: [{{name: nginx, image: "{image}"}}]}}
""")  # fmt: skip
    assert [line.split()[0] for line in ctl("rollout", "history", "deploy/web").lines[2:-1]] == ["1", "2"]
    assert "nginx:0" in ctl("rollout", "history", "deploy/web", "--revision=1").out
    ctl("rollout", "undo", "deploy/web")
    template = "{.spec.template.spec.containers[0].image} {.spec.template.metadata.labels}"
    assert ctl("get", "deploy/web", "-o", f"jsonpath={template}").out == 'nginx:0 {"app":"web"}'
    assert "no revision 9" in ctl("rollout", "undo", "deploy/web", "--to-revision=9", status=1).error


def test_rollout_status_completes_when_all_replicas_are_updated() -> None:
    """A rollout is complete when all replicas are updated and available and no old ones are left."""
    def deployment(**status: int) -> dict[str, object]:
        return {"kind": "Deployment", "metadata": {"name": "w", "generation": 2}, "spec": {"replicas": 2}, "status": status}

    assert "to be observed" in progress(deployment(observedGeneration=1))[0]
    assert "1 out of 2" in progress(deployment(observedGeneration=2, updatedReplicas=1))[0]
    assert "1 old" in progress(deployment(observedGeneration=2, updatedReplicas=2, replicas=3))[0]
    assert "1 of 2" in progress(deployment(observedGeneration=2, updatedReplicas=2, replicas=2, availableReplicas=1))[0]
    assert progress(deployment(observedGeneration=2, updatedReplicas=2, replicas=2, availableReplicas=2))[1]


def test_delete_waits_for_the_object_to_be_gone(ctl: Ctl) -> None:
    """Delete waits until the object is gone; at the timeout it prints why the object still exists."""
    ctl("apply", "-f", "-", send=MAP)
    assert ctl("delete", "cm", "m").lines == ['configmap "m" deleted']
    assert "not found" in ctl("delete", "cm", "m", status=1).error
    assert ctl("delete", "cm", "m", "--ignore-not-found").status == 0
    assert "selector (-l) or --all" in ctl("delete", "cm", status=1).error
    ctl("apply", "-f", "-", send=MAP.replace("{name: m}", '{name: m, finalizers: ["a.b/c"]}'))
    error = ctl("delete", "-f", "-", "--timeout=3s", status=1, send=MAP).error
    assert "finalizers are a.b/c" in error
    assert "needs --force" in ctl("delete", "cm", "m", "--grace-period=0", status=1).error


def test_wait_ends_with_the_condition_or_the_timeout(ctl: Ctl) -> None:
    """Wait ends when the condition is true, and fails at the timeout."""
    ctl("apply", "-f", "-", send=MAP)
    assert ctl("wait", "cm/m", "--for=jsonpath={.data.a}=b").lines == ["configmap/m condition met"]
    assert "timed out" in ctl("wait", "cm/m", "--for=condition=Ready", "--timeout=3s", status=1).error

    def remove(second: int) -> None:
        if second == 2:
            Ctl(ctl.server)("delete", "cm", "m", "--no-wait")

    ctl.while_waiting = remove
    assert ctl("wait", "cm/m", "--for=delete").lines == ["configmap/m condition met"]
    assert "write condition=NAME" in ctl("wait", "cm/m", "--for=frob", status=1).error


def test_condition_counts_for_its_observed_generation() -> None:
    """A condition of an older observed generation is not counted."""
    obj: dict[str, Any] = {"metadata": {"generation": 2}, "status": {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}}
    assert not parse_test("condition=ready")(obj)
    obj["status"]["conditions"][0]["observedGeneration"] = 2
    assert parse_test("condition=Ready")(obj)
    assert not parse_test("condition=Ready=false")(obj)
    assert parse_test("jsonpath={.status.conditions[?(@.type==\"Ready\")].status}=True")(obj)
    with pytest.raises(CommandError):
        parse_test("condition=")


def test_create_kinds_from_arguments(ctl: Ctl) -> None:
    """Jobs, roles and bindings are created from arguments; API groups are resolved by the server's discovery."""
    dialect = ctl.server.dialect
    rbac = dialect("rbac.authorization.{abbr}.io")
    assert ctl("create", "job", "j", "--image=a", "--", "sh", "-c", "x").out == "job.batch/j created\n"
    words = ("create", "role", "r", "--verb=get,list", "--resource=pods,deployments.apps,pods/log", "--resource-name=a")
    ctl(*words)
    rules = yaml.safe_load(ctl("get", "role", "r", "-o", "yaml").out)["rules"]
    assert rules == [
        {"apiGroups": [""], "resourceNames": ["a"], "resources": ["pods", "pods/log"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resourceNames": ["a"], "resources": ["deployments"], "verbs": ["get", "list"]},
    ]
    ctl("create", "clusterrole", "c", "--verb=get", "--non-resource-url=/x,/y")
    done = ctl("create", "rolebinding", "b", "--clusterrole=c", "--user=u", "--serviceaccount=a:s")
    assert done.out == f"rolebinding.{rbac}/b created\n"
    assert yaml.safe_load(ctl("get", "rolebinding", "b", "-o", "yaml").out)["subjects"] == [
        {"apiGroup": rbac, "kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "a"},
    ]  # fmt: skip
    assert ctl("create", "clusterrolebinding", "b", "--clusterrole=c", "--group=g").status == 0
    assert "NAMESPACE:NAME" in ctl("create", "rolebinding", "x", "--role=c", "--serviceaccount=s", status=1).error
    assert "--role or --clusterrole" in ctl("create", "rolebinding", "x", "--user=u", status=1).error
    assert "resource type" in ctl("create", "role", "x", "--verb=get", "--resource=nosuch", status=1).error


def test_create_under_short_names(ctl: Ctl) -> None:
    """Create accepts short names of kinds, and the type of a secret before its name."""
    ctl("create", "ns", "n")
    ctl("create", "secret", "generic", "s", "--from-literal=a=b")
    assert "needs --cert and --key" in ctl("create", "secret", "tls", "t", status=1).error
    ctl("create", "cm", "m", "-n", "n")
    assert ctl("get", "cm", "m", "-n", "n", "-o", "name").out == "configmap/m\n"


def test_boolean_flags_take_values(ctl: Ctl) -> None:
    """`--switch=false` sets a boolean flag to false; the last value counts, and -- ends the flags."""
    ctl("create", "cm", "m")
    ctl("label", "cm", "m", "a=b")
    assert "--overwrite" in ctl("label", "cm", "m", "a=c", "--overwrite", "--overwrite=false", status=1).error
    ctl("label", "cm", "m", "a=c", "--overwrite=true")
    assert "true or false" in ctl("delete", "cm", "m", "--wait=perhaps", status=1).error
    assert ctl("label", "cm", "m", "a-").out == "configmap/m unlabeled\n"
    assert ctl("delete", "cm", "m", "--wait=false").status == 0


def test_missing_features_name_the_replacement(ctl: Ctl, tmp_path: Path) -> None:
    """The errors for kustomizations and commands that do not exist name what to use instead."""
    assert "kustomize build d | " in ctl("apply", "-k", "d", status=1).error
    assert "no command 'debug': describe" in ctl("debug", "pod/a", status=1).error
    assert "no command 'create x'" in ctl("create", "x", status=1).error


def test_failed_diff_has_its_own_status(ctl: Ctl, tmp_path: Path) -> None:
    """A failed diff exits with status 2, since 1 means differences, and prints only the error."""
    absent = ctl("diff", "-f", str(tmp_path / "absent"), status=2)
    unknown_field = ctl("diff", "-f", "-", send=MAP.replace("\ndata:", "\nnosuch:"), status=2)
    unknown_kind = ctl("diff", "-f", "-", send=MAP.replace("ConfigMap", "NoSuch"), status=2)
    assert [ran.out for ran in (absent, unknown_field, unknown_kind)] == ["", "", ""]
    assert "absent" in absent.error and "nosuch" in unknown_field.error and "NoSuch" in unknown_kind.error


def test_edit_gives_up_after_several_rejections(ctl: Ctl) -> None:
    """If all texts of an editor are rejected, edit ends after a number of attempts."""
    ctl("apply", "-f", "-", send=MAP)
    attempts: list[str] = []

    def wrong(text: str) -> str:
        attempts.append(text)
        return f"{text}\nunknown{len(attempts)}: [\n"

    ctl.edit = wrong
    error = ctl("edit", "cm", "m", status=1).error
    assert len(attempts) == 20 and "the text is kept in " in error
    Path(error.split()[-1]).unlink()
