"""``create`` from files and of other kinds."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
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


def _path(text: str, kind: str, service: str, **port: Any) -> dict[str, Any]:
    return {"path": text, "pathType": kind, "backend": {"service": {"name": service, "port": port}}}


def _template(kind: str, **container: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "x", "image": "i", **container}], "restartPolicy": kind}}}


_LABELS = {"app": "x"}
_PORT = {"protocol": "TCP", "port": 80, "targetPort": 80, "name": "80"}
_SELECTOR = {"selector": _LABELS}


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("service clusterip x --tcp=80", {"spec": {**_SELECTOR, "type": "ClusterIP", "ports": [_PORT]}}),
        ("service clusterip x --clusterip=None", {"spec": {**_SELECTOR, "type": "ClusterIP", "clusterIP": "None"}}),
        ("service clusterip x --tcp=80:web,1:65535 --clusterip=10.0.0.1", {"spec": {
            **_SELECTOR, "type": "ClusterIP", "clusterIP": "10.0.0.1",
            "ports": [{**_PORT, "targetPort": "web", "name": "80-web"}, {**_PORT, "port": 1, "targetPort": 65535, "name": "1-65535"}],
        }}),
        ("service nodeport x --tcp=80", {"spec": {**_SELECTOR, "type": "NodePort", "ports": [_PORT]}}),
        ("service nodeport x --tcp=80 --node-port=30000", {"spec": {**_SELECTOR, "type": "NodePort", "ports": [{**_PORT, "nodePort": 30000}]}}),
        ("service loadbalancer x --tcp=80", {"spec": {**_SELECTOR, "type": "LoadBalancer", "ports": [_PORT]}}),
        ("service externalname x --external-name=e", {"spec": {**_SELECTOR, "type": "ExternalName", "externalName": "e"}}),
        ("service externalname x --external-name=e --tcp=80", {"spec": {**_SELECTOR, "type": "ExternalName", "externalName": "e", "ports": [_PORT]}}),
        ("ingress x --default-backend=s:80", {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}),
        ("ingress x --rule=/a=s:web --annotation=k=v --class=c", {
            "spec": {"ingressClassName": "c", "rules": [{"http": {"paths": [_path("/a", "Exact", "s", name="web")]}}]}, "annotations": {"k": "v"},
        }),
        ("ingress x --rule=h/a*=s:1,tls=t --rule=h/b=s:2,tls=t --rule=/c=s:3,tls", {"spec": {
            "rules": [{"host": "h", "http": {"paths": [_path("/a", "Prefix", "s", number=1), _path("/b", "Exact", "s", number=2)]}},
                      {"http": {"paths": [_path("/c", "Exact", "s", number=3)]}}],
            "tls": [{"secretName": "t", "hosts": ["h"]}, {}],
        }}),
        ("job x --image=i", {"spec": _template("Never")}), ("job x --image=i -- a b", {"spec": _template("Never", command=["a", "b"])}),
        ("cronjob x --image=i --schedule=s", {"spec": {"schedule": "s", "jobTemplate": {"metadata": {"name": "x"}, "spec": _template("OnFailure")}}}),
        ("cronjob x --image=i --schedule=s --restart=Never -- a",
         {"spec": {"schedule": "s", "jobTemplate": {"metadata": {"name": "x"}, "spec": _template("Never", command=["a"])}}}),
        ("deployment x --image=r/a_B:1@d --image=c --port=80 --replicas=0", {"spec": {
            "replicas": 0, "selector": {"matchLabels": _LABELS}, "template": {"metadata": {"labels": _LABELS}, "spec": {"containers": [
                {"name": "a-b", "image": "r/a_B:1@d", "ports": [{"containerPort": 80}]}, {"name": "c", "image": "c"},
            ]}},
        }}),
        ("pdb x --selector=a=b,c=d --min-available=1", {"spec": {"selector": {"matchLabels": {"a": "b", "c": "d"}}, "minAvailable": 1}}),
        ("pdb x --selector=a=b --max-unavailable=5%", {"spec": {"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": "5%"}}),
        ("priorityclass x", {"value": 0, "globalDefault": False, "preemptionPolicy": "PreemptLowerPriority"}),
        ("priorityclass x --value=5 --global-default --preemption-policy=Never --description=d",
         {"value": 5, "globalDefault": True, "preemptionPolicy": "Never", "description": "d"}),
        ("quota x --hard=pods=1,,cpu=2", {"spec": {"hard": {"pods": "1", "cpu": "2"}}}),
        ("quota x --hard=pods=1 --scopes=BestEffort,Terminating", {"spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort", "Terminating"]}}),
        ("quota x", {"spec": {"hard": {}}}),
        ("role x --verb=get,list --verb=watch --resource=*,pods/log --resource-name=a", {"rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"], "resourceNames": ["a"]},
            {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get", "list", "watch"], "resourceNames": ["a"]},
        ]}),
        ("clusterrole x --verb=get --non-resource-url=/a,/b", {"rules": [{"nonResourceURLs": ["/a", "/b"], "verbs": ["get"]}]}),
        ("clusterrole x --verb=get --resource=po --non-resource-url=/a",
         {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}, {"nonResourceURLs": ["/a"], "verbs": ["get"]}]}),
    ],
)  # fmt: skip
def test_fields_of_created_objects(ctl: Ctl, words: str, fields: dict[str, Any]) -> None:
    """What the arguments say, and nothing else."""
    first, mark, rest = words.partition(" -- ")
    line = (*first.split(), "--dry-run=client", "-o", "json", *(["--", *rest.split()] if mark else []))
    obj = json.loads(ctl("create", *line).out)
    labels = {"labels": _LABELS} if obj["kind"] in ("Service", "Deployment") else {}
    notes = {"annotations": fields["annotations"]} if "annotations" in fields else {}
    assert obj.pop("metadata") == {"name": "x", **labels, **notes}
    obj.pop("apiVersion")
    obj.pop("kind")
    assert obj == {key: value for key, value in fields.items() if key != "annotations"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("service clusterip x", "only a headless service (--clusterip=None) has none"), ("service clusterip x --clusterip=10.0.0.1", "which ports?"),
        ("service nodeport x", "which ports? Give --tcp=PORT:TARGETPORT"), ("service loadbalancer x", "which ports? Give --tcp=PORT:TARGETPORT"),
        ("service nodeport x --tcp=0", "--tcp=0: write --tcp=PORT"), ("service nodeport x --tcp=65536", "--tcp=65536: write"),
        ("service nodeport x --tcp=80,", "--tcp=: write"), ("ingress x", "which rules? Give --rule"), ("ingress x --rule=h=s:1", "--rule=h=s:1: write HOST/PATH"),
        ("ingress x --rule=h/=s:1,ssl", "--rule=h/=s:1,ssl: write"), ("ingress x --default-backend=s", "--default-backend=s: write SERVICE:PORT"),
        ("ingress x --default-backend=s:", "write SERVICE:PORT"), ("ingress x --default-backend=:1", "write SERVICE:PORT"),
        ("ingress x --rule=/=s:1 --annotation=a", "write --annotation=KEY=VALUE"), ("job x", "give either --image or --from"),
        ("job x --image=i --from=cronjob/c", "give either --image or --from"), ("job x --from=job/c", "write --from=cronjob/NAME"),
        ("job x --from=cj/", "write --from=cronjob/NAME"), ("deployment x --image=a --image=b -- c", "requires a single --image"),
        ("pdb x --selector=a=b", "give --min-available or --max-unavailable, and not both"), ("pdb x --selector=a --min-available=1", "--selector='a': write"),
        ("pdb x --selector=a=b --min-available=1 --max-unavailable=1", "and not both"), ("quota x --hard==1", "write --hard=KEY=VALUE"),
        ("quota x --hard=a=1,a=2", "there is a value for a already"), ("clusterrole x --verb=get", "a cluster role needs --verb, and --resource"),
        ("clusterrole x --resource=pods", "a cluster role needs --verb"), ("clusterrole x --aggregation-rule=a=b --resource=pods", "leave out --verb, --resource"),
        ("clusterrole x --aggregation-rule=a=b --resource-name=c", "leave out --verb"), ("clusterrole x --aggregation-rule=a=b --non-resource-url=/", "leave out"),
        ("rolebinding x --role=a --clusterrole=b", "give --role or --clusterrole, and not both"), ("rolebinding x --role=a --serviceaccount=:b", "NAMESPACE:NAME"),
        ("rolebinding x --role=a --serviceaccount=a:", "NAMESPACE:NAME"), ("rolebinding x --role=a --serviceaccount=a:b:c", "NAMESPACE:NAME"),
        ("secret docker-registry x --docker-username=u", "needs --docker-username and --docker-password"),
        ("secret docker-registry x --docker-password=p", "needs --docker-username and --docker-password"),
        ("secret docker-registry x --from-file=f --docker-email=e", "--from-file goes without"),
        ("secret tls x --key=/none", "a TLS secret needs --cert and --key"), ("secret generic x --from-literal=a=1 --from-literal=a=2", "a value for a already"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(ctl: Ctl, words: str, says: str) -> None:
    """The error says what to write; nothing is created."""
    first, mark, rest = words.partition(" -- ")
    assert says in ctl("create", *first.split(), *(["--", *rest.split()] if mark else []), status=1).error


def test_labels_of_jobs_of_cron_jobs(ctl: Ctl) -> None:
    """A job has the template's labels and annotations, and the cron job as its owner."""
    template = "metadata: {labels: {a: b}, annotations: {c: d}}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}"
    ctl(
        "create",
        "-f",
        "-",
        send=f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: c}}\nspec: {{schedule: '* * * * *', jobTemplate: {{{template}}}}}\n",
    )
    uid = ctl("get", "cj/c", "-o", "jsonpath={.metadata.uid}").out
    job = json.loads(ctl("create", "job", "j", "--from=cronjobs.batch/c", "--dry-run=client", "-o", "json").out)
    assert job["metadata"] == {
        "name": "j", "labels": {"a": "b"}, "annotations": {"c": "d", ctl.server.dialect("cronjob.{long}.io/instantiate"): "manual"},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": uid}],
    }  # fmt: skip
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "i"


def test_folders_of_files(ctl: Ctl, tmp_path: Path) -> None:
    """Each file of a folder is a value under its name; folders inside are left out."""
    (tmp_path / "d" / "sub").mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / "d" / name).write_text(name)
    words = ("create", "cm", "m", "--dry-run=client", "-o", "jsonpath={.data}")
    assert ctl(*words, f"--from-file={tmp_path / 'd'}").out == '{"a":"a","b":"b"}'
    assert "Is a directory" in ctl(*words, f"--from-file=k={tmp_path / 'd'}", status=1).error
    error = ctl(*words, f"--from-file={tmp_path / 'd'}", f"--from-file=a={tmp_path / 'd' / 'b'}", status=1).error
    assert "there is a value for a already" in error


def test_names_that_the_server_makes(ctl: Ctl) -> None:
    """They are those that are reported."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}\n"
    [line] = ctl("create", "-f", "-", send=text).lines
    [name] = ctl("get", "cm", "-o", "name").lines
    assert line == f"{name} created" and name.startswith("configmap/x-")
