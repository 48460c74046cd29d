"""set, run, expose, autoscale, replace, cluster-info, options, in both dialects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef
from orchd.ctl.api import MERGE
from orchd.testing.server import run
from tests.ctl.ctl_runner import Ctl

DEPLOYMENTS = ResourceRef("apps", "v1", "deployments")
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}\n"


@pytest.fixture
def web(ctl: Ctl) -> Ctl:
    """A server with a deployment of two containers."""
    ctl("create", "deployment", "web", "--image=nginx:1", "--image=busybox")
    return ctl


def spec(ctl: Ctl, what: str = "deploy/web") -> Any:
    obj = json.loads(ctl("get", what, "-o", "json").out)
    return obj["spec"]["template"]["spec"] if "template" in obj["spec"] else obj["spec"]


def test_set_image_changes_one_container_or_all(web: Ctl) -> None:
    """The error for an unknown container lists the existing ones; an unchanged image causes no write."""
    assert web("set", "image", "deploy/web", "nginx=nginx:2").lines == ["deployment.apps/web image updated"]
    assert [each["image"] for each in spec(web)["containers"]] == ["nginx:2", "busybox"]
    assert web("set", "image", "deploy/web", "nginx=nginx:2").out == ""
    assert web("set", "image", "deploy", "web", "*=a:1", "--dry-run=client").lines == ["deployment.apps/web image updated (dry run)"]
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
    assert spec(web)["containers"][0]["resources"] == {"limits": {"cpu": "300m", "memory": "1Gi"}, "requests": {"cpu": "1m"}}
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
                    await api.patch(arguments[0], "web", {"metadata": {"labels": {"n": str(found["metadata"]["resourceVersion"])}}})
                return found

            api.get = get
            return await work(api)

        return plain(session, raced)

    web._connect = connect  # type: ignore[method-assign]
    web("set", "image", "deploy/web", "nginx=raced:1")
    assert next(writes, None) is None
    assert other("get", "deploy/web", "-o", "jsonpath={.metadata.labels.n}").out != ""
    assert spec(other)["containers"][0]["image"] == "raced:1"


def test_run_creates_a_pod_and_service(ctl: Ctl) -> None:
    """Run creates a pod with one container; --expose adds a service; overrides are merged."""
    ctl("create", "serviceaccount", "default")
    ran = ctl("run", "a", "--image=i:1", "--port=80", "--expose", "--env=A=b", "-l", "x=y", "--restart=Never", "--", "one", "two")
    assert ran.lines == ["service/a created", "pod/a created"]
    container = spec(ctl, "pod/a")["containers"][0]
    assert (container["args"], container["env"], container["ports"][0]["containerPort"]) == (["one", "two"], [{"name": "A", "value": "b"}], 80)
    assert spec(ctl, "svc/a")["selector"] == {"x": "y"}
    overrides = '{"spec":{"nodeName":"n","restartPolicy":"OnFailure"}}'
    ctl("run", "b", "--image=i", "--command", f"--overrides={overrides}", "--", "cmd")
    pod = spec(ctl, "pod/b")
    assert (pod["nodeName"], pod["restartPolicy"], pod["containers"][0]["command"]) == ("n", "OnFailure", ["cmd"])
    assert ctl("get", "pod/b", "-o", "jsonpath={.metadata.labels.run}").out == "b"
    assert "kind: Pod" in ctl("run", "c", "--image=i", "--dry-run=client", "-o", "yaml").out
    for words, says in ((("--rm",), "--rm needs"), (("--expose",), "--expose needs"), (("--env=A",), "--env=KEY=VALUE")):
        assert says in ctl("run", "c", "--image=i", *words, status=1).error


def test_run_fails_if_the_pod_does_not_start(ctl: Ctl) -> None:
    """A pod that does not start in time is reported as an error; --rm deletes it."""
    ctl("create", "serviceaccount", "default")
    error = ctl("run", "a", "--image=i", "-i", "--rm", "--pod-running-timeout=3s", status=1).error
    assert "does not run after 3 s" in error
    assert "not found" in ctl("get", "pod/a", status=1).error


def test_expose_derives_a_service_from_the_object(web: Ctl) -> None:
    """Selector, labels and ports come from the object unless flags override them."""
    assert "names no ports: give --port" in web("expose", "deploy/web", status=1).error
    assert web("expose", "deploy/web", "--port=80,443", "--target-port=http", "--name=s").lines == ["service/s exposed"]
    found = spec(web, "svc/s")
    assert found["selector"] == {"app": "web"}
    assert [(each["name"], each["port"], each["targetPort"]) for each in found["ports"]] == [("port-1", 80, "http"), ("port-2", 443, "http")]
    assert web("expose", "svc/s", "--name=t", "--type=NodePort", "--port=80").lines == ["service/t exposed"]
    web("create", "configmap", "m")
    assert "cannot expose a ConfigMap" in web("expose", "cm/m", "--port=80", status=1).error
    assert "--port=x: ports are numbers" in web("expose", "deploy/web", "--port=x", status=1).error


def test_autoscale_creates_an_autoscaler(web: Ctl) -> None:
    """The autoscaler has the object's name; kinds without a scale subresource are rejected."""
    assert web("autoscale", "deploy/web", "--min=2", "--max=5", "--cpu-percent=80").lines == ["horizontalpodautoscaler.autoscaling/web autoscaled"]
    assert web("get", "hpa/web", "-o", "jsonpath={.spec.minReplicas} {.spec.maxReplicas} {.spec.scaleTargetRef.name}").out == "2 5 web"
    web("create", "configmap", "m")
    assert "cannot be scaled" in web("autoscale", "cm/m", "--max=2", status=1).error
    assert "--min=3 is above --max=2" in web("autoscale", "deploy/web", "--min=3", "--max=2", status=1).error


def test_replace_and_forced_replace(ctl: Ctl, tmp_path: Path) -> None:
    """Fields that the file omits are removed; --force deletes and creates the object; a missing object is an error."""
    assert "not found" in ctl("replace", "-f", "-", send=MAP, status=1).error
    ctl("create", "configmap", "m", "--from-literal=x=y")
    uid = ctl("get", "cm/m", "-o", "jsonpath={.metadata.uid}").out
    assert ctl("replace", "-f", "-", send=MAP).lines == ["configmap/m replaced"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.data}").out == '{"a":"b"}'
    assert ctl("get", "cm/m", "-o", "jsonpath={.metadata.uid}").out == uid
    assert ctl("replace", "--force", "-f", "-", send=MAP).lines == ['configmap "m" deleted', "configmap/m replaced"]
    assert ctl("get", "cm/m", "-o", "jsonpath={.metadata.uid}").out != uid
    assert "--force deletes objects" in ctl("replace", "--force", "--dry-run=server", "-f", "-", send=MAP, status=1).error
    ctl("create", "deployment", "web", "--image=i")
    text = ctl("get", "deploy/web", "-o", "yaml").out.replace("image: i", "image: j")
    ctl("replace", "-f", "-", send=text)
    ctl("label", "deploy/web", "x=y")
    assert "modified" in ctl("replace", "-f", "-", send=text, status=1).error
    assert "unknown field" in ctl("replace", "-f", "-", "--validate", send=f"{MAP}frob: 1\n", status=1).error


def test_get_subresource(web: Ctl) -> None:
    """get --subresource reads a subresource of one object."""
    assert web("get", "deploy/web", "--subresource=scale", "-o", "jsonpath={.kind} {.spec.replicas}").out == "Scale 1"
    assert "those that it has are scale, status" in web("get", "deploy/web", "--subresource=x", status=1).error
    assert "of one object" in web("get", "deploy", "--subresource=scale", status=1).error


def test_output_watch_events(web: Ctl) -> None:
    """--output-watch-events prefixes tables and objects with the type of the event."""

    def change(second: int) -> None:
        if second == 1:
            # Not with a second command, whose output would be mixed with the first one's.
            run(web.server.client().patch(DEPLOYMENTS, "default", "web", {"spec": {"paused": True}}, content_type=MERGE))

    web.while_waiting, web.patience = change, 5
    lines = web("get", "deploy", "-w", "--output-watch-events").lines
    assert [line.split()[:2] for line in lines] == [["EVENT", "NAME"], ["ADDED", "web"], ["MODIFIED", "web"]]
    assert "needs -w" in web("get", "deploy", "--output-watch-events", status=1).error


def test_a_dry_run_deletes_nothing(ctl: Ctl) -> None:
    """A dry run deletes nothing, client-side or server-side, by name or by selector."""
    ctl("create", "configmap", "m")
    for words in (("cm/m",), ("cm", "--all")):
        assert ctl("delete", *words, "--dry-run=server").lines == ['configmap "m" deleted (server dry run)']
        assert ctl("delete", *words, "--dry-run=client").lines == ['configmap "m" deleted (dry run)']
    assert ctl("get", "cm/m", "-o", "name").out == "configmap/m\n"


def test_interactive_deletion(ctl: Ctl) -> None:
    """Nothing is deleted unless the answer is yes; -o name prints names."""
    ctl("create", "configmap", "m")
    assert "cancelled" in ctl("delete", "cm/m", "-i", send="n\n").out
    assert ctl("get", "cm/m", "-o", "name").out == "configmap/m\n"
    assert ctl("delete", "cm/m", "-i", "-o", "name", send="y\n").lines[-1] == "configmap/m"
    assert "not both" in ctl("delete", "cm/m", "-f", "-", status=1).error


def test_options_and_get_raw(ctl: Ctl) -> None:
    """`options` prints the flags of every command; get --raw requests any path."""
    assert "--as-group GROUP" in ctl("options").out
    assert ctl("get", "--raw=/readyz?verbose=&exclude=etcd").out.startswith("[+]")
    assert "a path begins with /" in ctl("get", "--raw=x", status=1).error


def test_create_generators(ctl: Ctl) -> None:
    """Services, ingresses, cron jobs, quotas, budgets, priority classes and tokens are created from arguments."""
    ctl("create", "service", "nodeport", "s", "--tcp=80:web", "--tcp=443")
    found = spec(ctl, "svc/s")
    assert (found["type"], found["selector"]) == ("NodePort", {"app": "s"})
    assert [(each["name"], each["targetPort"]) for each in found["ports"]] == [("80-web", "web"), ("443", 443)]
    ctl("create", "service", "clusterip", "h", "--clusterip=None")
    ctl("create", "svc", "externalname", "e", "--external-name=a.example")
    ctl("create", "ingress", "i", "--rule=a.example/b*=s:80,tls=t", "--rule=a.example/c=s:web", "--class=k")
    made = json.loads(ctl("get", "ingress", "i", "-o", "json").out)["spec"]
    assert made["tls"] == [{"hosts": ["a.example"], "secretName": "t"}]
    assert [(each["path"], each["pathType"]) for each in made["rules"][0]["http"]["paths"]] == [("/b", "Prefix"), ("/c", "Exact")]
    ctl("create", "cronjob", "c", "--image=i", "--schedule=*/5 * * * *", "--", "date")
    ctl("create", "quota", "q", "--hard=pods=3,requests.cpu=2")
    ctl("create", "pdb", "b", "--selector=app=s", "--min-available=50%")
    ctl("create", "priorityclass", "p", "--value=-5", "--preemption-policy=Never")
    ctl("create", "serviceaccount", "sa")
    assert ctl("create", "token", "sa").out.count(".") == 2
    ctl("create", "deployment", "d", "--image=a/b:1", "--port=80", "--", "run", "it")
    assert spec(ctl, "deploy/d")["containers"][0]["command"] == ["run", "it"]
    for words, says in (
        (("service", "nodeport", "x"), "which ports?"), (("service", "clusterip", "x", "--tcp=a"), "--tcp=PORT"),
        (("ingress", "x", "--rule=a"), "HOST/PATH=SERVICE:PORT"), (("pdb", "x", "--selector=a=b"), "not both"),
        (("quota", "x", "--hard=pods"), "--hard=KEY=VALUE"),
    ):  # fmt: skip
        assert says in ctl("create", *words, status=1).error


def test_describe_shows_texts_but_no_secrets(ctl: Ctl) -> None:
    """Values of config maps are printed with their line breaks; of secrets only sizes are printed."""
    ctl("create", "configmap", "m", "--from-literal=aKey=one\ntwo")
    assert "aKey:\n----\none\ntwo\n" in ctl("describe", "cm", "m").out
    ctl("create", "secret", "s", "--from-literal=password=hunter22")
    out = ctl("describe", "secret", "s").out
    assert "password:  8 bytes" in out and "aHVudGVyMjI" not in out


def test_unchanged_objects_are_reported(ctl: Ctl) -> None:
    """Commands that change nothing say so: an equal label, a patch without effect, a deployment that is already paused.
    """
    ctl("create", "configmap", "m")
    ctl("label", "cm/m", "a=b")
    assert ctl("label", "cm/m", "a=b").lines == ["configmap/m not labeled"]
    assert ctl("label", "cm/m", "zz-").lines == ['label "zz" not found.', "configmap/m not labeled"]
    assert ctl("patch", "cm/m", "-p", '{"metadata":{"labels":{"a":"b"}}}').lines == ["configmap/m patched (no change)"]
    ctl("create", "deployment", "d", "--image=i")
    ctl("rollout", "pause", "deploy/d")
    assert "is already paused" in ctl("rollout", "pause", "deploy/d", status=1).error
    assert "unknown field" in ctl("create", "-f", "-", status=1, send=MAP + "frob: 1\n").error
    assert ctl("create", "-f", "-", "--validate=ignore", send=MAP.replace("name: m", "name: other") + "frob: 1\n").lines == ["configmap/other created"]
    assert ctl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}").out == "admin"


def test_resolved_variables(web: Ctl) -> None:
    """set env --from refers to config maps and secrets; --list --resolve prints their values."""
    web("create", "configmap", "plain", "--from-literal=a=b")
    web("create", "secret", "generic", "hidden", "--from-literal=c=d")
    web("set", "env", "deploy/web", "--from=cm/plain")
    web("set", "env", "deploy/web", "--from=secret/hidden", "--prefix=P_")
    assert web("set", "env", "deploy/web", "--list", "--resolve", "-c=busybox").lines[1:] == ["A=b", "P_C=d"]
