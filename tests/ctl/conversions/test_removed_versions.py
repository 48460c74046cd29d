"""Objects of removed versions, and what took their place."""

from __future__ import annotations

import ast
import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

import orchd
from orchd.ctl.conversions.table import REMOVED, upgrade
from orchd.dialect import DIALECTS, Dialect
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.release import default_release
from tests.ctl.ctl_runner import Ctl

POD = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SELECTOR = {"matchLabels": {"app": "a"}}
NO_LIMIT = 2**31 - 1
RULES = {"rule": "RunAsAny"}
HOOK = {
    "name": "a.example.org", "clientConfig": {"url": "https://h/x"},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
}  # fmt: skip

#: apiVersion and kind of what is converted, its fields beside metadata, the new apiVersion and the new fields. Versions
#: and texts are templates of the dialect; None for new fields: they are the same.
TABLE: list[tuple[str, str, dict[str, Any], str, dict[str, Any] | None]] = [
    ("extensions/v1beta1", "Deployment", {"spec": {"template": POD}}, "apps/v1", {"spec": {
        "template": POD, "selector": SELECTOR, "progressDeadlineSeconds": NO_LIMIT, "revisionHistoryLimit": NO_LIMIT,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
    }}),
    ("extensions/v1beta1", "Deployment", {"spec": {
        "template": POD, "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "progressDeadlineSeconds": 5, "revisionHistoryLimit": 0, "strategy": {"type": "Recreate"},
    }}, "apps/v1", None),
    ("extensions/v1beta1", "Deployment", {"spec": {
        "template": POD, "selector": SELECTOR, "progressDeadlineSeconds": 5, "revisionHistoryLimit": 1, "strategy": {"rollingUpdate": {"maxSurge": "50%"}},
    }}, "apps/v1", {"spec": {
        "template": POD, "selector": SELECTOR, "progressDeadlineSeconds": 5, "revisionHistoryLimit": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": "50%"}},
    }}),
    ("extensions/v1beta1", "DaemonSet", {"spec": {"template": POD}}, "apps/v1",
     {"spec": {"template": POD, "selector": SELECTOR, "updateStrategy": {"type": "OnDelete"}}}),
    ("extensions/v1beta1", "DaemonSet", {"spec": {"template": POD, "selector": SELECTOR, "updateStrategy": {"type": "RollingUpdate"}}}, "apps/v1", None),
    ("extensions/v1beta1", "ReplicaSet", {"spec": {"template": POD}}, "apps/v1", {"spec": {"template": POD, "selector": SELECTOR}}),
    ("extensions/v1beta1", "NetworkPolicy", {"spec": {"podSelector": {}}}, "networking.{abbr}.io/v1", None),
    ("extensions/v1beta1", "PodSecurityPolicy", {"spec": dict.fromkeys(("seLinux", "runAsUser", "fsGroup", "supplementalGroups"), RULES)}, "policy/v1beta1", None),
    ("apps/v1beta1", "Deployment", {"spec": {"template": POD}}, "apps/v1", {"spec": {"template": POD, "selector": SELECTOR, "revisionHistoryLimit": 2}}),
    ("apps/v1beta1", "StatefulSet", {"spec": {"serviceName": "s", "template": POD}}, "apps/v1",
     {"spec": {"serviceName": "s", "template": POD, "selector": SELECTOR, "updateStrategy": {"type": "OnDelete"}}}),
    ("apps/v1beta2", "Deployment", {"spec": {"template": POD, "selector": SELECTOR}}, "apps/v1", None),
    ("apps/v1beta2", "StatefulSet", {"spec": {"serviceName": "s", "template": POD, "selector": SELECTOR}}, "apps/v1", None),
    ("apps/v1beta2", "DaemonSet", {"spec": {"template": POD, "selector": SELECTOR}}, "apps/v1", None),
    ("apps/v1beta2", "ReplicaSet", {"spec": {"template": POD, "selector": SELECTOR}}, "apps/v1", None),
    ("apps/v1beta1", "ControllerRevision", {"revision": 1, "data": {"a": 1}}, "apps/v1", None),
    ("networking.{abbr}.io/v1beta1", "IngressClass", {"spec": {"controller": "example.org/c"}}, "networking.{abbr}.io/v1", None),
    ("rbac.authorization.{abbr}.io/v1beta1", "Role", {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
     "rbac.authorization.{abbr}.io/v1", None),
    ("rbac.authorization.{abbr}.io/v1beta1", "ClusterRoleBinding", {"roleRef": {"apiGroup": "rbac.authorization.{abbr}.io", "kind": "ClusterRole", "name": "r"}},
     "rbac.authorization.{abbr}.io/v1", None),
    ("admissionregistration.{abbr}.io/v1beta1", "MutatingWebhookConfiguration", {"webhooks": [{**HOOK, "sideEffects": "None"}]},
     "admissionregistration.{abbr}.io/v1", {"webhooks": [{
         **HOOK, "sideEffects": "None", "failurePolicy": "Ignore", "matchPolicy": "Exact", "timeoutSeconds": 30, "admissionReviewVersions": ["v1beta1"],
     }]}),
    ("admissionregistration.{abbr}.io/v1beta1", "ValidatingWebhookConfiguration", {"webhooks": [{
         **HOOK, "sideEffects": "NoneOnDryRun", "failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 5, "admissionReviewVersions": ["v1"],
     }]}, "admissionregistration.{abbr}.io/v1", None),
    ("storage.{abbr}.io/v1beta1", "StorageClass", {"provisioner": "example.org/p"}, "storage.{abbr}.io/v1", None),
    ("storage.{abbr}.io/v1beta1", "CSIDriver", {"spec": {"attachRequired": False}}, "storage.{abbr}.io/v1", None),
    ("storage.{abbr}.io/v1beta1", "CSINode", {"spec": {"drivers": []}}, "storage.{abbr}.io/v1", None),
    *(
        (f"storage.{{abbr}}.io/{version}", "VolumeAttachment",
         {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}}, "storage.{abbr}.io/v1", None)
        for version in ("v1alpha1", "v1beta1")
    ),
    ("scheduling.{abbr}.io/v1alpha1", "PriorityClass", {"value": 5}, "scheduling.{abbr}.io/v1", None),
    ("scheduling.{abbr}.io/v1beta1", "PriorityClass", {"value": 5}, "scheduling.{abbr}.io/v1", None),
    ("coordination.{abbr}.io/v1beta1", "Lease", {"spec": {"holderIdentity": "h"}}, "coordination.{abbr}.io/v1", None),
    ("apiregistration.{abbr}.io/v1beta1", "APIService", {"spec": {"group": "g.example.org", "version": "v1", "groupPriorityMinimum": 5, "versionPriority": 5}},
     "apiregistration.{abbr}.io/v1", None),
    ("authorization.{abbr}.io/v1beta1", "SubjectAccessReview",
     {"spec": {"user": "u", "group": ["a"], "resourceAttributes": {"group": "apps", "verb": "get"}}}, "authorization.{abbr}.io/v1",
     {"spec": {"user": "u", "groups": ["a"], "resourceAttributes": {"group": "apps", "verb": "get"}}}),
]  # fmt: skip
for _version in ("extensions/v1beta1", "networking.{abbr}.io/v1beta1"):
    TABLE.append((_version, "Ingress", {"spec": {
        "ingressClassName": "c", "backend": {"serviceName": "a", "servicePort": 80}, "tls": [{"secretName": "t"}],
        "rules": [{"host": "h", "http": {"paths": [
            {"path": "/x", "backend": {"serviceName": "b", "servicePort": "web"}},
            {"path": "/y", "pathType": "Exact", "backend": {"resource": {"kind": "K", "name": "n"}}},
        ]}}, {"host": "bare"}],
    }}, "networking.{abbr}.io/v1", {"spec": {
        "ingressClassName": "c", "defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}, "tls": [{"secretName": "t"}],
        "rules": [{"host": "h", "http": {"paths": [
            {"path": "/x", "pathType": "ImplementationSpecific", "backend": {"service": {"name": "b", "port": {"name": "web"}}}},
            {"path": "/y", "pathType": "Exact", "backend": {"resource": {"kind": "K", "name": "n"}}},
        ]}}, {"host": "bare"}],
    }}))  # fmt: skip
IDS = [f"{version}-{kind}-{at}" for at, (version, kind, *_) in enumerate(TABLE)]


def _in(dialect: Dialect, value: Any) -> Any:
    """A value with its templates expanded."""
    if isinstance(value, str):
        return dialect(value)
    if isinstance(value, dict):
        return {key: _in(dialect, inner) for key, inner in value.items()}
    return [_in(dialect, inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("row", TABLE, ids=IDS)
def test_fields_and_defaults_of_removed_versions(
    row: tuple[str, str, dict[str, Any], str, dict[str, Any] | None], dialect: Dialect
) -> None:
    """An object gets the names that fields have now, and says what was the default; the given one is not changed."""
    version, kind, fields, successor, expected = row
    metadata = {"name": "n", "labels": {"own": "label"}}
    obj = {"apiVersion": dialect(version), "kind": kind, "metadata": metadata, **_in(dialect, fields)}
    before = json.dumps(obj)
    done = upgrade(obj, [dialect])
    assert done == (
        {"apiVersion": dialect(successor), "kind": kind, "metadata": metadata, **_in(dialect, fields if expected is None else expected)}, dialect
    )  # fmt: skip
    assert json.dumps(obj) == before


def test_servers_accept_what_is_converted(ctl: Ctl) -> None:
    """`convert` prints objects that a server of the dialect takes."""
    dialect = ctl.server.dialect
    catalog = builtin_catalog(dialect, default_release(dialect))
    texts = []
    for version, kind, fields, successor, _ in TABLE:
        # Reviews are answered, not stored; a later release has not every successor.
        if kind.endswith("Review") or catalog.kind(dialect(successor), kind) is None:
            continue
        name = {"APIService": "v1.g.example.org"}.get(kind, "n")
        obj = {"apiVersion": dialect(version), "kind": kind, "metadata": {"name": name}, **_in(dialect, fields)}
        texts.append(ctl("convert", "-f", "-", f"--output-version={dialect(successor)}", send=json.dumps(obj)).out)
        assert yaml.safe_load(texts[-1])["apiVersion"] == dialect(successor)
    assert len(ctl("create", "-f", "-", "--dry-run=server", send="---\n".join(texts)).lines) == len(texts)


def test_every_removed_kind_has_a_successor() -> None:
    """No version of the table is served by default, and every successor is; each row is in the examples, or is as
    another one of its group."""
    for dialect in DIALECTS.values():
        catalog = builtin_catalog(dialect, enabled=lambda group, version, default: default)
        for row in REMOVED:
            assert catalog.kind(dialect(row.version), row.kind) is None, row
            assert catalog.kind(dialect(row.successor), row.kind) is not None, row
    shown = {(version, kind) for version, kind, *_ in TABLE}
    assert {(row.version, row.kind) for row in REMOVED if row.change is not None} - shown <= {
        ("authorization.{abbr}.io/v1beta1", "LocalSubjectAccessReview"), ("rbac.authorization.{abbr}.io/v1alpha1", "RoleBinding"),
        ("rbac.authorization.{abbr}.io/v1alpha1", "ClusterRoleBinding"),
        ("certificates.{abbr}.io/v1beta1", "CertificateSigningRequest"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ({"kind": "User", "name": "u", "apiVersion": "rbac/v1alpha1"}, {"kind": "User", "name": "u", "apiGroup": "GROUP"}),
        ({"kind": "Group", "name": "g"}, {"kind": "Group", "name": "g", "apiGroup": "GROUP"}),
        ({"kind": "User", "name": "*"}, {"kind": "Group", "name": "system:authenticated", "apiGroup": "GROUP"}),
        ({"kind": "ServiceAccount", "name": "s", "namespace": "x", "apiVersion": "v1"}, {"kind": "ServiceAccount", "name": "s", "namespace": "x"}),
        ({"kind": "Robot", "name": "r", "apiVersion": "example.org/v1"}, {"kind": "Robot", "name": "r", "apiGroup": "example.org"}),
        ({"kind": "Robot", "name": "r", "apiVersion": "v1"}, {"kind": "Robot", "name": "r"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_subjects_of_the_first_bindings(dialect: Dialect, subject: dict[str, str], expected: dict[str, str]) -> None:
    """Subjects had versions instead of groups, and a user for everybody."""
    group = dialect("rbac.authorization.{abbr}.io")
    obj = {"apiVersion": f"{group}/v1alpha1", "kind": "RoleBinding", "metadata": {"name": "b"}, "subjects": [subject]}
    done = upgrade(obj, [dialect])
    assert done is not None
    assert done[0]["subjects"] == [{key: value.replace("GROUP", group) for key, value in expected.items()}]


def _request(names: dict[Any, str], *alternatives: x509.GeneralName) -> str:
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in names.items()])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    pem = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)
    return base64.b64encode(pem).decode()


NODE = {NameOID.ORGANIZATION_NAME: "system:nodes", NameOID.COMMON_NAME: "system:node:n"}


@pytest.mark.parametrize(
    ("request_", "usages", "signer"),
    [
        (_request(NODE), ["digital signature", "key encipherment", "client auth"], "{long}.io/{short}-apiserver-client-{short}let"),
        (_request(NODE), ["digital signature", "client auth"], "{long}.io/legacy-unknown"),
        (_request(NODE, x509.DNSName("n")), ["digital signature", "key encipherment", "server auth"], "{long}.io/{short}let-serving"),
        (_request({NameOID.COMMON_NAME: "u"}), ["client auth"], "{long}.io/legacy-unknown"), ("no base64!", None, "{long}.io/legacy-unknown"),
        ("", None, "{long}.io/legacy-unknown"),
    ],
)  # fmt: skip
def test_signers_of_requests_by_default(request_: str, usages: list[str] | None, signer: str) -> None:
    """A request without a signer got that of nodes if it has what this one signs."""
    for dialect in DIALECTS.values():
        spec = {"request": request_, **({"usages": usages} if usages else {})}
        version = dialect("certificates.{abbr}.io/v1beta1")
        status = {"conditions": [{"type": "Approved"}]}
        obj = {
            "apiVersion": version,
            "kind": "CertificateSigningRequest",
            "metadata": {"name": "r"},
            "spec": spec,
            "status": status,
        }
        done = upgrade(obj, [dialect])
        assert done is not None
        assert done[0]["spec"]["signerName"] == dialect(signer)
        assert done[0]["spec"]["usages"] == (usages or ["digital signature", "key encipherment"])
        assert done[0]["status"] == {"conditions": [{"type": "Approved", "status": "True"}]}


def test_fields_that_became_annotations() -> None:
    """The revision of a rollback and the generation of a template are annotations; labels are those of the template
    without own ones."""
    dialect = next(iter(DIALECTS.values()))
    deployment = {
        "apiVersion": "extensions/v1beta1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": POD, "rollbackTo": {"revision": 3}},
    }
    daemons = {**deployment, "kind": "DaemonSet", "spec": {"template": POD, "templateGeneration": 7}}
    for obj, key, value in (
        (deployment, "deployment.rollback.to", "3"),
        (daemons, "daemonset.template.generation", "7"),
    ):
        done = upgrade(obj, [dialect])
        assert done is not None
        assert done[0]["metadata"] == {"name": "d", "labels": {"app": "a"}, "annotations": {f"deprecated.{key}": value}}
        assert not {"rollbackTo", "templateGeneration"} & done[0]["spec"].keys()


def test_objects_of_groups_without_a_dialect_become_those_of_stock_clients(ctl: Ctl) -> None:
    """An Ingress of extensions is of the stock dialect, unless a version of the other one is asked for; a broken one is
    an error."""
    obj = {
        "apiVersion": "extensions/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": "i"},
        "spec": {"backend": {"serviceName": "a", "servicePort": 80}},
    }
    text = json.dumps(obj)
    versions = [dialect("networking.{abbr}.io/v1") for dialect in DIALECTS.values()]
    assert yaml.safe_load(ctl("convert", "-f", "-", send=text).out)["apiVersion"] == versions[1]
    for version in versions:
        assert (
            yaml.safe_load(ctl("convert", "-f", "-", f"--output-version={version}", send=text).out)["apiVersion"]
            == version
        )
    broken = json.dumps({"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "d"}})
    error = ctl("convert", "-f", "-", status=1, send=broken).error
    assert "Deployment d: cannot be converted from apps/v1beta1: field 'spec' is missing" in error
    assert "no built-in kind" in ctl("convert", "-f", "-", status=1, send=text.replace("Ingress", "Egress")).error


def test_no_server_imports_the_conversions() -> None:
    """Only the command line imports the shapes of removed versions."""
    root = Path(orchd.__file__).parent
    importers = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("orchd.ctl.conversions")
    }
    assert {each for each in importers if not each.startswith("ctl/conversions/")} == {"ctl/commands/convert.py"}
