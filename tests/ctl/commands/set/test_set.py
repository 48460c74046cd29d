"""``set``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd import errors
from orchd.client.requests import Call
from orchd.errors import ApiError
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede


def spec(ctl: Ctl, what: str = "deploy/web") -> Any:
    obj = json.loads(ctl("get", what, "-o", "json").out)
    return obj["spec"]["template"]["spec"] if "template" in obj["spec"] else obj["spec"]


def test_set_image_changes_one_container_or_all(web: Ctl) -> None:
    """The error for an unknown container lists the existing ones; an unchanged image causes no write."""
    assert web("set", "image", "deploy/web", "nginx=nginx:2").lines == ["deployment.apps/web image updated"]
    assert [each["image"] for each in spec(web)["containers"]] == ["nginx:2", "busybox"]
    assert web("set", "image", "deploy/web", "nginx=nginx:2").out == ""
    assert web("set", "image", "deploy", "web", "*=a:1", "--dry-run=client").lines == [
        "deployment.apps/web image updated (dry run)"
    ]
    web("set", "image", "deploy", "--all", "*=a:1")
    assert [each["image"] for each in spec(web)["containers"]] == ["a:1", "a:1"]
    assert "deployment.apps/web has nginx, busybox" in web("set", "image", "deploy/web", "x=a", status=1).error
    assert "CONTAINER=IMAGE" in web("set", "image", "deploy/web", status=1).error
    web("create", "configmap", "m")
    assert "ConfigMap has no pod template" in web("set", "image", "cm/m", "x=a", status=1).error


def test_set_image_finds_the_pod_template_of_each_kind(ctl: Ctl) -> None:
    """The template of a CronJob is in its job template; that of a pod is the pod."""
    ctl("create", "-f", "-", send=json.dumps({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "a", "image": "i"}]}}}}},
    }))  # fmt: skip
    ctl("set", "image", "cj/c", "a=b")
    path = "{.spec.jobTemplate.spec.template.spec.containers[0].image}"
    assert ctl("get", "cj/c", "-o", f"jsonpath={path}").out == "b"


def test_set_env_sets_lists_and_removes_variables(web: Ctl) -> None:
    """Variables are set, listed, imported from config maps and removed, in the selected containers."""
    web("set", "env", "deploy/web", "A=b", "B=c=d", "-c", "ngi*")
    assert spec(web)["containers"][0]["env"] == [{"name": "A", "value": "b"}, {"name": "B", "value": "c=d"}]
    assert "env" not in spec(web)["containers"][1]
    assert "already has A" in web("set", "env", "deploy/web", "A=x", "--overwrite=false", "-c", "nginx", status=1).error
    web("create", "configmap", "m", "--from-literal=some.key=1", "--from-literal=other=2")
    web("set", "env", "deploy/web", "--from=cm/m", "--keys=some.key", "--prefix=P_", "A-", "-c", "nginx")
    assert web("set", "env", "deploy/web", "--list").lines == [
        "# Deployment web, container nginx", "B=c=d", "# P_SOME_KEY from configmap m, key some.key",
        "# Deployment web, container busybox",
    ]  # fmt: skip
    assert "has no key 'zz'" in web("set", "env", "deploy/web", "--from=cm/m", "--keys=zz", status=1).error
    assert "not a name of a variable" in web("set", "env", "deploy/web", "a b=c", status=1).error
    assert "KEY=VALUE" in web("set", "env", "deploy/web", status=1).error


def test_set_resources_merges_quantities(web: Ctl) -> None:
    """Given quantities are merged with the existing ones."""
    web("set", "resources", "deploy/web", "-c", "nginx", "--limits=cpu=200m,memory=1Gi")
    web("set", "resources", "deploy/web", "-c", "nginx", "--limits=cpu=300m", "--requests=cpu=1m")
    assert spec(web)["containers"][0]["resources"] == {
        "limits": {"cpu": "300m", "memory": "1Gi"},
        "requests": {"cpu": "1m"},
    }
    assert spec(web)["containers"][1].get("resources", {}) == {}
    assert "--limits=cpu=200m,memory=512Mi" in web("set", "resources", "deploy/web", "--limits=cpu", status=1).error
    web("set", "serviceaccount", "deploy", "web", "robot")
    assert spec(web)["serviceAccountName"] == "robot"
    web("set", "serviceaccount", "deploy", "web", "other")
    assert spec(web)["serviceAccountName"] == "other"


def test_set_selector_replaces_and_set_subject_adds(web: Ctl) -> None:
    """The selector of a service is replaced; subjects are added once, in the dialect's group."""
    web("expose", "deploy/web", "--port=80")
    assert web("set", "selector", "service", "web", "x=y,z=").lines == ["service/web selector updated"]
    assert spec(web, "svc/web")["selector"] == {"x": "y", "z": ""}
    assert "only selectors of services" in web("set", "selector", "deploy/web", "x=y", status=1).error
    web("create", "rolebinding", "rb", "--clusterrole=view", "--user=a")
    for _ in range(2):
        web("set", "subject", "rolebinding", "rb", "--user=a", "--group=g", "--serviceaccount=default:sa")
    assert web("get", "rolebinding/rb", "-o", "jsonpath={.subjects[*].name}").out == "a g sa"
    assert "only role bindings" in web("set", "subject", "deploy/web", "--user=a", status=1).error


def test_concurrent_change_is_kept_by_set(web: Ctl) -> None:
    """A concurrent change between the read and the write of `set` is not undone."""
    other = Ctl(web.server)
    writes = iter(range(2))
    plain = web._connect

    def connect(session: Any, work: Any) -> Any:
        async def raced(api: Any) -> Any:
            read = api.get

            async def get(*arguments: Any, **named: Any) -> Any:
                found = await read(*arguments, **named)
                if next(writes, None) is not None:
                    await api.patch(
                        arguments[0], "web", {"metadata": {"labels": {"n": str(found["metadata"]["resourceVersion"])}}}
                    )
                return found

            api.get = get
            return await work(api)

        return plain(session, raced)

    web._connect = connect  # type: ignore[method-assign]
    web("set", "image", "deploy/web", "nginx=raced:1")
    assert next(writes, None) is None
    assert other("get", "deploy/web", "-o", "jsonpath={.metadata.labels.n}").out != ""
    assert spec(other)["containers"][0]["image"] == "raced:1"


def test_resolved_variables(web: Ctl) -> None:
    """set env --from refers to config maps and secrets; --list --resolve prints their values."""
    web("create", "configmap", "plain", "--from-literal=a=b")
    web("create", "secret", "generic", "hidden", "--from-literal=c=d")
    web("set", "env", "deploy/web", "--from=cm/plain")
    web("set", "env", "deploy/web", "--from=secret/hidden", "--prefix=P_")
    assert web("set", "env", "deploy/web", "--list", "--resolve", "-c=busybox").lines[1:] == ["A=b", "P_C=d"]


def test_variables_with_references_are_listed(ctl: Ctl) -> None:
    """What a variable refers to is told, or with --resolve its value."""
    ctl("create", "configmap", "m", "--from-literal=k=v")
    sources = (
        ("A", "configMapKeyRef: {name: m, key: k}", "A from configmap m, key k", "A=v"),
        ("B", "secretKeyRef: {name: s, key: t}", "B from secret s, key t", "B=u"),
        ("C", "fieldRef: {fieldPath: spec.nodeName}", "C from field path spec.nodeName", ""),
        ("D", "resourceFieldRef: {resource: limits.cpu}", "D from resource field limits.cpu", ""),
    )
    variables = ", ".join(f"{{name: {name}, valueFrom: {{{source}}}}}" for name, source, _, _ in sources)
    pod = f"{{containers: [{{name: c, image: i, env: [{variables}, {{name: E, value: w}}]}}]}}"
    manifest = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {pod}\n"
    ctl("create", "serviceaccount", "default")
    listed = ctl("set", "env", "--local", "-f", "-", "--list", send=manifest).out
    for _, _, words, _ in sources:
        assert words in listed
    assert "E=w" in listed
    ctl("create", "-f", "-", send=manifest)
    ctl("create", "secret", "generic", "s", "--from-literal=t=u")
    resolved = ctl("set", "env", "pod/p", "--list", "--resolve").lines
    assert {value for *_, value in sources if value} <= set(resolved)
    assert "A=v" not in ctl("set", "env", "pod/p", "--list").lines


def test_objects_that_change_all_the_time(web: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conflict is tried again four times; another error is not."""
    for error, attempts in (
        (errors.conflict("", "deployments", "web", errors.MODIFIED), 5),
        (errors.internal("no"), 1),
    ):

        async def fail(call: Call, error: ApiError = error) -> None:
            if call.method == "PATCH":
                raise error

        with monkeypatch.context() as patch:
            calls = precede(web, patch, fail)
            web("set", "image", "deploy/web", "nginx=nginx:2", status=1)
        assert [call.method for call in calls].count("PATCH") == attempts


def test_dry_runs_of_set(web: Ctl) -> None:
    """Nothing is changed; what the server would store, or the local change, is printed."""
    for mode in ("client", "server"):
        ran = web("set", "image", "deploy/web", "nginx=nginx:2", f"--dry-run={mode}", "-o", "jsonpath={..image}")
        assert ran.out == "nginx:2 busybox"
    assert [each["image"] for each in spec(web)["containers"]] == ["nginx:1", "busybox"]
    # What is not changed is printed all the same where a form is given.
    assert web("set", "image", "deploy/web", "nginx=nginx:1", "-o", "name").lines == ["deployment.apps/web"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("resources deploy/web --limits==1", "write --limits=cpu=200m,memory=512Mi"), ("resources deploy/web --requests=cpu=", "write --requests=cpu=200m"),
        ("resources deploy/web --limits=cpu=1 -c none", "unable to find container"), ("selector service", "which selector?"), ("selector", "which selector?"),
        ("selector service s a=b,=c", "a service's selector is KEY=VALUE"), ("serviceaccount", "which service account?"),
        ("subject rolebinding r", "which subjects? Give --user, --group or --serviceaccount"), ("image deploy/web nginx=", "which image? Write CONTAINER=IMAGE"),
        ("selector service web a=b --resource-version=1", "not 1: read it again"), ("env deploy/web --from=deploy/web", "write configmap/NAME or secret/NAME"),
        ("env deploy/web --from=cm", "write configmap/NAME or secret/NAME"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(web: Ctl, words: str, says: str) -> None:
    web("expose", "deploy/web", "--port=80")
    assert says in web("set", *words.split(), status=1).error


def test_objects_of_files_are_set(web: Ctl) -> None:
    """Of files the last word alone is the value."""
    text = web("get", "deploy/web", "-o", "yaml").out
    assert web("set", "serviceaccount", "-f", "-", "robot", send=text).lines == [
        "deployment.apps/web serviceaccount updated"
    ]
    template = spec(web)
    assert (template["serviceAccountName"], template["serviceAccount"]) == ("robot", "robot")
    web("expose", "deploy/web", "--port=80")
    service = web("get", "svc/web", "-o", "yaml").out
    version = web("get", "svc/web", "-o", "jsonpath={.metadata.resourceVersion}").out
    web("set", "selector", "-f", "-", "a=b", f"--resource-version={version}", send=service)
    assert spec(web, "svc/web")["selector"] == {"a": "b"}
    assert (
        web("set", "resources", "-f", "-", "--limits=cpu=1", "--local", "-o", "jsonpath={..limits.cpu}", send=text).out
        == "1 1"
    )
    web("create", "clusterrolebinding", "b", "--clusterrole=view")
    web("set", "subject", "clusterrolebinding", "b", "--user=u", "--serviceaccount=n:s")
    subjects = json.loads(web("get", "clusterrolebinding", "b", "-o", "json").out)["subjects"]
    group = web.server.dialect("rbac.authorization.{abbr}.io")
    assert subjects == [
        {"apiGroup": group, "kind": "User", "name": "u"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ]
