"""The stock command-line client with API groups whose names it knows: access, certificates, schema and others."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from orchd.dialect import KUBERNETES
from tests.waiting import LONG
from tests.wire.wire_cli import Cli, config_map, deployment, pod

DIALECT_NAMES = [KUBERNETES.name]


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ("role one --verb=get,list --resource=pods", "role.rbac.authorization.{abbr}.io/one"),
        ("rolebinding one --role=one --user=alice", "rolebinding.rbac.authorization.{abbr}.io/one"),
        ("clusterrole {ns} --verb=get --resource=nodes", "clusterrole.rbac.authorization.{abbr}.io/{ns}"),
        (
            "clusterrolebinding {ns} --clusterrole=view --user=alice",
            "clusterrolebinding.rbac.authorization.{abbr}.io/{ns}",
        ),
        ("ingress one --rule=a.example/x=one:80", "ingress.networking.{abbr}.io/one"),
        ("poddisruptionbudget one --selector=app=web --min-available=1", "poddisruptionbudget.policy/one"),
        ("priorityclass {ns} --value=10", "priorityclass.scheduling.{abbr}.io/{ns}"),
    ],
)
def test_create_generators(cli: Cli, arguments: str, made: str) -> None:
    """Generators of these groups create objects."""
    name = KUBERNETES(made).replace("{ns}", cli.namespace)
    assert cli("create", *arguments.replace("{ns}", cli.namespace).split()) == f"{name} created\n"
    cli("get", name)
    cli("describe", name)
    cli("delete", name)


def test_client_schema_validation(cli: Cli) -> None:
    """The server rejects a field that the schema does not have, unless validation is off."""
    bad = pod("one")
    bad["spec"]["containers"][0]["bogus"] = 1
    text = cli("create", "-f", "-", send=bad, status=1)
    assert 'unknown field "spec.containers[0].bogus"' in text
    assert cli("create", "-f", "-", "--validate=false", send=bad) == "pod/one created\n"


def test_auth_can_i(cli: Cli) -> None:
    """auth can-i answers for the user and for others, and lists permissions."""
    assert cli("auth", "can-i", "create", "pods") == "yes\n"
    assert cli("auth", "can-i", "create", "pods", "--as=alice", status=1) == "no\n"
    cli("create", "role", "reader", "--verb=get,list", "--resource=pods")
    cli("create", "rolebinding", "reader", "--role=reader", "--user=alice")
    assert cli("auth", "can-i", "get", "pods", "--as=alice") == "yes\n"
    assert cli("auth", "can-i", "get", "pods", "--subresource=log", "--as=alice", status=1) == "no\n"
    rows = cli.words("auth", "can-i", "--list", "--as=alice")
    assert ["pods", "[]", "[]", "[get", "list]"] in rows
    assert "No resources found" in cli("get", "pods", "--as=alice")
    assert "forbidden" in cli("get", "cm", "--as=alice", status=1)
    assert "forbidden" in cli("create", "role", "more", "--verb=*", "--resource=*", "--as=alice", status=1)
    cli("set", "subject", "rolebinding", "reader", "--user=bob")
    rules = {
        "apiVersion": KUBERNETES("rbac.authorization.{abbr}.io/v1"),
        "kind": "Role",
        "metadata": {"name": "other", "namespace": cli.namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    assert "reconciliation required create" in cli("auth", "reconcile", "-f", "-", send=rules)
    assert "reconciled" in cli("auth", "reconcile", "-f", "-", send=rules)


def test_auth_whoami(cli: Cli) -> None:
    """auth whoami prints the user and the groups, through an API of later releases."""
    text = cli("auth", "whoami")
    assert "Username" in text and "system:authenticated" in text


def _request(name: str) -> dict[str, Any]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    pem = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    return {
        "apiVersion": KUBERNETES("certificates.{abbr}.io/v1"),
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "signerName": "example.com/signer",
            "usages": ["client auth"],
            "request": base64.b64encode(pem).decode(),
        },
    }


def test_certificate_approve_and_deny(cli: Cli) -> None:
    """A request is approved or denied once."""
    for name, verb, done in (("good", "approve", "Approved"), ("bad", "deny", "Denied")):
        name = f"{name}-{cli.namespace}"
        cli("create", "-f", "-", send=_request(name))
        assert cli.words("get", "csr", name)[1][-1] == "Pending"
        cli("certificate", verb, name)
        assert cli.words("get", "csr", name)[1][-1] == done
        assert name in cli("describe", "csr", name)
        other = "deny" if verb == "approve" else "approve"
        assert "already" in cli("certificate", other, name, status=1)


def test_create_token(cli: Cli) -> None:
    """create token issues a token that is valid for its account while the account exists."""
    cli("create", "serviceaccount", "robot")
    token = cli("create", "token", "robot").strip()
    assert token.count(".") == 2
    me = f"system:serviceaccount:{cli.namespace}:robot"
    arguments = ("get", "pods", "--insecure-skip-tls-verify", f"--server={cli.server.url}", f"--token={token}")
    nobody = {KUBERNETES("{SHORT}CONFIG"): "/dev/null"}
    assert f'User "{me}" cannot list' in cli(*arguments, environment=nobody, status=1)
    cli("create", "rolebinding", "robot", "--clusterrole=view", f"--serviceaccount={cli.namespace}:robot")
    assert "No resources found" in cli(*arguments, environment=nobody)
    cli("delete", "serviceaccount", "robot")
    text = cli(*arguments, environment=nobody, status=1)
    assert "Unauthorized" in text or "provide credentials" in text


def test_autoscale_creates_an_autoscaler(cli: Cli) -> None:
    """autoscale creates an autoscaler, in the version that the client prefers."""
    cli.make(deployment("web", replicas=0))
    assert "autoscaled" in cli("autoscale", "deploy", "web", "--min=1", "--max=5")
    assert cli.words("get", "hpa", "web")[1][:2] == ["web", "Deployment/web"]
    cli("describe", "hpa", "web")


def test_drain_evicts_pods(cli: Cli) -> None:
    """drain cordons a node and evicts its pods."""
    name = f"node-{cli.namespace}"
    cli.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    try:
        bound = pod("bound")
        bound["spec"] |= {"nodeName": name, "terminationGracePeriodSeconds": 0}
        cli.make(bound)
        assert "cannot delete" in cli("drain", name, status=1)
        text = cli("drain", name, "--force", f"--timeout={LONG}")
        assert "evicting pod" in text and f"node/{name} drained" in text
        assert "not found" in cli("get", "pod", "bound", status=1)
        assert "SchedulingDisabled" in cli("get", "node", name)
    finally:
        cli("delete", "node", name)


def test_events_are_listed_and_described(cli: Cli) -> None:
    """Events are listed, and shown with the object that they describe."""
    cli.make(pod("one"))
    uid = cli.stored("Pod", "one")["metadata"]["uid"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "one.1", "namespace": cli.namespace},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "one", "namespace": cli.namespace, "uid": uid},
        "reason": "Tested",
        "message": "by a test",
        "type": "Normal",
        "source": {"component": "test"},
        "firstTimestamp": "2024-01-01T00:00:00Z",
        "lastTimestamp": "2024-01-01T00:00:00Z",
        "count": 1,
    }
    cli.make(event)
    assert "Tested" in cli("get", "events") and "by a test" in cli("events", "--for=pod/one")
    assert "Tested" in cli("describe", "pod", "one")


def test_logs_and_exec_of_an_unscheduled_pod(cli: Cli) -> None:
    """logs and exec of a pod without a node fail."""
    cli.make(pod("one"))
    assert cli("logs", "one") == ""
    assert "does not have a host assigned" in cli("exec", "one", "--", "ls", status=1)


def _definition(group: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "description": "How large."},
                    "color": {"type": "string", "default": "green"},
                },
            },
            "status": {"type": "object", "x-" + KUBERNETES.long + "-preserve-unknown-fields": True},
        },
    }
    return {
        "apiVersion": KUBERNETES("apiextensions.{abbr}.io/v1"),
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                    },
                    "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                }
            ],
        },
    }


def test_custom_kind_commands(cli: Cli) -> None:
    """Custom objects are created, printed, applied, patched, scaled and explained."""
    group = f"{cli.namespace}.example.com"
    cli("create", "-f", "-", send=_definition(group))
    cli("wait", "--for=condition=Established", f"crd/widgets.{group}", f"--timeout={LONG}")
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": 3}}
    assert cli("apply", "-f", "-", send=widget) == f"widget.{group}/one created\n"
    assert cli("apply", "-f", "-", send=widget) == f"widget.{group}/one unchanged\n"
    assert cli.words("get", f"widgets.{group}")[1][:2] == ["one", "3"]
    assert cli.json("get", f"widget.{group}", "one")["spec"] == {"size": 3, "color": "green"}
    text = cli("apply", "-f", "-", "--validate=false", send={**widget, "spec": {"size": 0}}, status=1)
    assert "should be greater than or equal to 1" in text
    cli("patch", f"widget.{group}", "one", "--type=merge", "-p", '{"spec":{"color":"red"}}')
    cli("apply", "--server-side", "--field-manager=other", "-f", "-", send={**widget, "spec": {"size": 3}})
    cli("scale", f"widget.{group}", "one", "--replicas=5")
    assert cli.json("get", f"widget.{group}", "one")["spec"] == {"size": 5, "color": "red"}
    assert "How large." in cli("explain", "widgets.spec.size", f"--api-version={group}/v1")
    cli("delete", f"widget.{group}", "--all")
    cli("delete", f"crd/widgets.{group}", f"--timeout={LONG}")
    assert "the server doesn't have a resource type" in cli("get", f"widgets.{group}", status=1)


def test_cluster_info_dump(cli: Cli) -> None:
    """cluster-info dump completes."""
    cli.make(config_map("one"))
    text = cli("cluster-info", "dump", f"--namespaces={cli.namespace}")
    assert '"kind": "NodeList"' in text


def test_every_kind_lists(cli: Cli) -> None:
    """Every kind is listed with the columns of the server."""
    names = cli("api-resources", "--verbs=list", "-o", "name").split()
    cli("get", ",".join(names), "-A", "-o", "name")
    roles = json.loads(cli("get", "--raw", KUBERNETES("/apis/rbac.authorization.{abbr}.io/v1/clusterroles?limit=2")))
    assert len(roles["items"]) == 2 and roles["metadata"]["continue"]
