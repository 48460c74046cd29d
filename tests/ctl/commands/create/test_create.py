"""``create`` from files and of other kinds."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from tests.ctl.ctl_runner import Ctl


def spec(ctl: Ctl, what: str = "deploy/web") -> Any:
    obj = json.loads(ctl("get", what, "-o", "json").out)
    return obj["spec"]["template"]["spec"] if "template" in obj["spec"] else obj["spec"]


def test_created_objects_keep_their_configuration(ctl: Ctl) -> None:
    """With --save-config an annotation has the object; --field-manager owns its fields."""
    ctl("create", "cm", "m", "--from-literal=a=b", "--save-config", "--field-manager=me")
    config_map = json.loads(ctl("get", "cm/m", "-o", "json", "--show-managed-fields").out)
    [text] = config_map["metadata"]["annotations"].values()
    assert json.loads(text)["data"] == {"a": "b"} and json.loads(text)["metadata"] == {"annotations": {}, "name": "m"}
    assert [each["manager"] for each in config_map["metadata"]["managedFields"]] == ["me"]


def test_raw_requests(ctl: Ctl) -> None:
    """--raw sends a file unchanged to a path, and prints the response."""
    path = "/api/v1/namespaces/default/configmaps"
    body = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "%s"}}'
    assert json.loads(ctl("create", "--raw", path, "-f", "-", send=body % 1).out)["data"] == {"a": "1"}
    assert json.loads(ctl("replace", "--raw", f"{path}/m", "-f", "-", send=body % 2).out)["data"] == {"a": "2"}
    assert json.loads(ctl("delete", "--raw", f"{path}/m").out)["status"] == "Success"
    assert "a path begins with /" in ctl("create", "--raw", "x", "-f", "-", status=1, send=body).error
    assert "--raw takes one file" in ctl("replace", "--raw", path, status=1).error
    assert "leave out types" in ctl("delete", "cm", "--raw", path, status=1).error


def test_edited_and_selected_creation(ctl: Ctl) -> None:
    """`create --edit` opens the objects before their creation; -l selects objects of the files."""
    text = "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {n}, labels: {{is: {n}}}}}\n" for n in "ab"
    )
    assert ctl("create", "-f", "-", "-l", "is=b", send=text).lines == ["configmap/b created"]
    ctl.edit = lambda shown: shown.replace("name: a", "name: c")
    assert ctl("create", "-f", "-", "-l", "is=a", "--edit", send=text).lines == ["configmap/c created"]
    ctl.edit = lambda shown: None
    assert "edit cancelled" in ctl("create", "-f", "-", "--edit", status=1, send=text).error
    assert (
        "no object of the files has the labels is=z"
        in ctl("create", "-f", "-", "-l", "is=z", status=1, send=text).error
    )


def test_create_from_arguments(ctl: Ctl, tmp_path: Path) -> None:
    """Simple kinds are created from arguments."""
    (tmp_path / "f").write_bytes(b"\xff")
    ctl("create", "configmap", "m", "--from-literal=a=b", f"--from-file={tmp_path / 'f'}")
    assert ctl("get", "cm/m", "-o", "jsonpath={.data.a} {.binaryData.f}").out == "b /w=="
    ctl("create", "secret", "s", "--from-literal=a=b")
    assert ctl("get", "secret/s", "-o", "jsonpath={.data.a}").out == "Yg=="
    assert "write --from-literal=KEY=VALUE" in ctl("create", "configmap", "x", "--from-literal=a", status=1).error
    assert "already exists" in ctl("create", "configmap", "m", status=1).error


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


def test_create_generators(ctl: Ctl) -> None:
    """Services, ingresses, cron jobs, quotas, budgets, priority classes and tokens are created from arguments."""
    ctl("create", "service", "nodeport", "s", "--tcp=80:web", "--tcp=443")
    service_spec = spec(ctl, "svc/s")
    assert (service_spec["type"], service_spec["selector"]) == ("NodePort", {"app": "s"})
    assert [(each["name"], each["targetPort"]) for each in service_spec["ports"]] == [("80-web", "web"), ("443", 443)]
    ctl("create", "service", "clusterip", "h", "--clusterip=None")
    ctl("create", "svc", "externalname", "e", "--external-name=a.example")
    ctl("create", "ingress", "i", "--rule=a.example/b*=s:80,tls=t", "--rule=a.example/c=s:web", "--class=k")
    ingress_spec = json.loads(ctl("get", "ingress", "i", "-o", "json").out)["spec"]
    assert ingress_spec["tls"] == [{"hosts": ["a.example"], "secretName": "t"}]
    assert [(each["path"], each["pathType"]) for each in ingress_spec["rules"][0]["http"]["paths"]] == [
        ("/b", "Prefix"),
        ("/c", "Exact"),
    ]
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


def test_ingresses(ctl: Ctl) -> None:
    """Rules of one host are together; secrets have the hosts of their rules."""
    ctl(
        *("create", "ingress", "i", "--default-backend=d:80", "--annotation=a=b"),
        *("--rule=a.example/x*=s:80,tls=t", "--rule=a.example/y=s:web,tls=t", "--rule=b.example/=s:1,tls=t"),
        *("--rule=/z=u:2,tls", "--rule=c.example/=s:1"),
    )
    obj = json.loads(ctl("get", "ingress/i", "-o", "json").out)

    def path(text: str, service: str, port: Any, kind: str = "Exact") -> Any:
        port_field = {"number": port} if isinstance(port, int) else {"name": port}
        return {"path": text, "pathType": kind, "backend": {"service": {"name": service, "port": port_field}}}

    assert obj["metadata"]["annotations"] == {"a": "b"}
    assert obj["spec"] == {
        "defaultBackend": {"service": {"name": "d", "port": {"number": 80}}},
        "rules": [
            {"host": "a.example", "http": {"paths": [path("/x", "s", 80, "Prefix"), path("/y", "s", "web")]}},
            {"host": "b.example", "http": {"paths": [path("/", "s", 1)]}},
            {"http": {"paths": [path("/z", "u", 2)]}},
            {"host": "c.example", "http": {"paths": [path("/", "s", 1)]}},
        ],
        "tls": [{"secretName": "t", "hosts": ["a.example", "b.example"]}, {}],
    }
    assert "write SERVICE:PORT" in ctl("create", "ingress", "j", "--default-backend=d", status=1).error
    assert "which rules?" in ctl("create", "ingress", "j", status=1).error


def test_jobs_of_cron_jobs(ctl: Ctl) -> None:
    """A job from the template of a cron job, which owns it, with a mark that it was created by hand."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 0 * * *", "jobTemplate": {"metadata": metadata, "spec": {"template": template}}},
    }
    ctl("create", "-f", "-", send=json.dumps(manifest))
    ctl("create", "job", "now", "--from=cronjob/nightly")
    job = json.loads(ctl("get", "job/now", "-o", "json").out)
    assert job["metadata"]["labels"]["a"] == "b"
    mark = ctl.server.dialect("cronjob.{long}.io/instantiate")
    assert job["metadata"]["annotations"] == {"c": "d", mark: "manual"}
    [owner] = job["metadata"]["ownerReferences"]
    assert owner == {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": owner["uid"]}
    assert owner["uid"] == json.loads(ctl("get", "cj/nightly", "-o", "json").out)["metadata"]["uid"]
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "i"
    ctl("create", "job", "other", "--image=i", "--", "date", "-u")
    pod = json.loads(ctl("get", "job/other", "-o", "json").out)["spec"]["template"]["spec"]
    assert (pod["containers"][0]["command"], pod["restartPolicy"]) == (["date", "-u"], "Never")
    for words, message in (
        ((), "give either --image or --from"),
        (("--image=i", "--from=cj/x"), "give either --image or --from"),
        (("--from=pod/x",), "write --from=cronjob/NAME"),
        (("--from=cj",), "write --from=cronjob/NAME"),
    ):
        assert message in ctl("create", "job", "x", *words, status=1).error


def test_tokens(ctl: Ctl) -> None:
    """Lifetime, audiences and the object of a token are those of the flags."""
    ctl("create", "serviceaccount", "sa")
    ctl("create", "secret", "generic", "s")

    def token(*flags: str) -> tuple[Any, Any]:
        response = json.loads(ctl("create", "token", "sa", "-o", "json", *flags).out)
        payload = response["status"]["token"].split(".")[1]
        return response["spec"], json.loads(base64.urlsafe_b64decode(payload + "=="))

    spec, claims = token("--duration=20m", "--audience=a", "--audience=b")
    assert (spec["expirationSeconds"], claims["aud"]) == (1200, ["a", "b"])
    assert claims["exp"] - claims["iat"] == 1200
    bound = ("--bound-object-kind=Secret", "--bound-object-name=s")
    uid = json.loads(ctl("get", "secret/s", "-o", "json").out)["metadata"]["uid"]
    assert token(*bound)[0]["boundObjectRef"]["name"] == "s"
    assert token(*bound, f"--bound-object-uid={uid}")[0]["boundObjectRef"]["uid"] == uid
    assert ctl("create", "token", "sa", *bound, "--bound-object-uid=x", status=1).error
    assert token()[0]["expirationSeconds"] == 3600
    for flags, message in (
        (bound[:1], "go together: give both"),
        (bound[1:], "go together: give both"),
        (("--bound-object-uid=x",), "needs --bound-object-kind"),
        (("--duration=-1s",), "--duration must not be negative"),
    ):
        assert message in ctl("create", "token", "sa", *flags, status=1).error


def test_lists_of_files(ctl: Ctl) -> None:
    """The objects of a list, also of lists in it, are created one by one."""
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    inner = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [{**one, "metadata": {"name": "b"}}]}
    whole = {"apiVersion": "v1", "kind": "List", "items": [one, inner]}
    assert ctl("create", "-f", "-", send=json.dumps(whole)).lines == ["configmap/a created", "configmap/b created"]
    for bad, words in (
        ({**whole, "items": [{"kind": "ConfigMap"}]}, "an object needs apiVersion and kind"),
        ({**one, "metadata": None}, "ConfigMap needs metadata with a name"),
        ({"apiVersion": "v1", "kind": "PodList"}, "PodList needs metadata with a name"),
    ):
        assert words in ctl("create", "-f", "-", send=json.dumps(bad), status=1).error
