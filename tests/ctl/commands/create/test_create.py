"""``create`` from files and of other kinds."""

from __future__ import annotations

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
    found = json.loads(ctl("get", "cm/m", "-o", "json", "--show-managed-fields").out)
    [text] = found["metadata"]["annotations"].values()
    assert json.loads(text)["data"] == {"a": "b"} and json.loads(text)["metadata"] == {"annotations": {}, "name": "m"}
    assert [each["manager"] for each in found["metadata"]["managedFields"]] == ["me"]


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
    found = spec(ctl, "svc/s")
    assert (found["type"], found["selector"]) == ("NodePort", {"app": "s"})
    assert [(each["name"], each["targetPort"]) for each in found["ports"]] == [("80-web", "web"), ("443", 443)]
    ctl("create", "service", "clusterip", "h", "--clusterip=None")
    ctl("create", "svc", "externalname", "e", "--external-name=a.example")
    ctl("create", "ingress", "i", "--rule=a.example/b*=s:80,tls=t", "--rule=a.example/c=s:web", "--class=k")
    made = json.loads(ctl("get", "ingress", "i", "-o", "json").out)["spec"]
    assert made["tls"] == [{"hosts": ["a.example"], "secretName": "t"}]
    assert [(each["path"], each["pathType"]) for each in made["rules"][0]["http"]["paths"]] == [
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
