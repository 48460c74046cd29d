"""Validation rules of single groups beyond the recorded ones, on create and update."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate import dispatch
from tests.kinds.test_body_bounds import lines

SETTINGS = ObjectSettings(dialect=ORCH)
CATALOG = builtin_catalog(ORCH, enabled=lambda group, version, default: True)
Object = dict[str, Any]


def _resource(api: str) -> Resource:
    *gv, plural = ORCH(api).split("/")
    resource = CATALOG.resource(gv[0] if len(gv) == 2 else "", gv[-1], plural)
    assert resource is not None, api
    return resource


def errors_of(api: str, obj: Object, old: Object | None = None, sub: str = "") -> list[str]:
    """``field: message`` of every error; `api` is ``group/version/plural``."""
    resource = _resource(api)
    head = {"name": "a", **({"namespace": "b"} if resource.namespaced else {})}
    new = {**obj, "apiVersion": resource.api_version, "metadata": {**head, **obj.get("metadata", {})}}
    if old is None:
        causes = dispatch.validate_create(new, resource, SETTINGS)
    else:
        before = {**old, "metadata": {**head, **old.get("metadata", {})}}
        causes = dispatch.validate_update(new, before, resource, SETTINGS, subresource=sub)
    return [f"{cause.field}: {cause.message}" for cause in causes]


DISK = {"name": "d", "gcePersistentDisk": {"pdName": "p"}}
POD: Object = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}],
        "restartPolicy": "Always",
        "dnsPolicy": "Default",
        "volumes": [DISK],
    },
}
ONE_WRITER = (
    "spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid value: false: must be true for replicated pods > 1; "
    "GCE PD can only be mounted on multiple machines if it is read-only"
)


@pytest.mark.parametrize("replicas", [0, 1, 2])
@pytest.mark.parametrize("api", ["apps/v1/deployments", "apps/v1/replicasets", "v1/replicationcontrollers"])
def test_single_writer_disk_must_be_read_only_for_replicas(api: str, replicas: int) -> None:
    """With two or more replicas the disk must be read-only."""
    selector = {"a": "b"} if api.startswith("v1") else {"matchLabels": {"a": "b"}}
    spec = {
        "replicas": replicas,
        "selector": selector,
        "template": POD,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "5", "maxUnavailable": 0}},
    }
    expected = (
        []
        if "deployments" not in api
        else [
            'spec.strategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"5"}: a valid '
            "percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation "
            "is '[0-9]+%')"
        ]
    )
    assert sorted(errors_of(api, {"spec": spec})) == sorted(([ONE_WRITER] if replicas > 1 else []) + expected)


JOB: Object = {
    "completions": 1,
    "selector": {"matchLabels": {"controller-uid": "u"}},
    "template": {
        "metadata": {"labels": {"controller-uid": "u", "job-name": "a"}},
        "spec": {**POD["spec"], "restartPolicy": "Never"},
    },
}


def test_job_restart_policies() -> None:
    """The default policy is reported as required; other values as unsupported."""
    for policy, words in (
        ("Always", 'Required value: valid values: "OnFailure", "Never"'),
        ("x", 'Unsupported value: "x": supported values: "OnFailure", "Never"'),
    ):
        template = {**JOB["template"], "spec": {**JOB["template"]["spec"], "restartPolicy": policy}}
        causes = errors_of("batch/v1/jobs", {"metadata": {"uid": "u"}, "spec": {**JOB, "template": template}})
        assert causes[-1] == f"spec.template.spec.restartPolicy: {words}"


def test_job_labels_must_match() -> None:
    """A missing label is required, a different one invalid."""
    template = {**JOB["template"], "metadata": {"labels": {"controller-uid": "x"}}}
    causes = errors_of("batch/v1/jobs", {"metadata": {"uid": "u"}, "spec": {**JOB, "template": template}})
    at = "spec.template.metadata.labels"
    assert causes[:2] == [
        f'{at}[controller-uid]: Invalid value: map[string]string{{"controller-uid":"x"}}: must be \'u\'',
        f"{at}[job-name]: Required value: must be 'a'",
    ]


def test_job_tracking_annotation_cannot_be_added() -> None:
    """The annotation may be kept but not added."""
    key = ORCH("batch.{long}.io/job-tracking")
    tracked = {"metadata": {"uid": "u", "annotations": {key: ""}}, "spec": JOB}
    assert errors_of("batch/v1/jobs", tracked, tracked) == []
    added = errors_of("batch/v1/jobs", tracked, {"metadata": {"uid": "u"}, "spec": JOB})
    assert added == [f"metadata.annotations[{key}]: Forbidden: cannot add this annotation"]


@pytest.mark.parametrize("plural", ["statefulsets", "deployments", "replicasets"])
def test_available_replicas_are_ready(plural: str) -> None:
    """A status with more available than ready replicas is refused."""
    status = {"replicas": 3, "readyReplicas": 1, "availableReplicas": 2}
    assert errors_of(f"apps/v1/{plural}", {"status": status}, {}, "status") == [
        "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"
    ]


def test_uncounted_terminated_pods_of_jobs() -> None:
    status = {"ready": -1, "uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}}
    job = {"metadata": {"uid": "u"}, "spec": JOB}
    assert errors_of("batch/v1/jobs", {**job, "status": status}, job, "status") == [
        "status.ready: Invalid value: -1: must be greater than or equal to 0",
        'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    ]


TARGET = {"kind": "D", "name": "d"}


def test_second_metric_source_is_forbidden() -> None:
    """All but one metric source are forbidden, whatever they contain."""
    metric = {"type": "Pods", "pods": {}, "resource": {}, "external": {}}
    spec = {"maxReplicas": 1, "scaleTargetRef": TARGET, "metrics": [metric]}
    causes = errors_of("autoscaling/v2/horizontalpodautoscalers", {"spec": spec})
    assert {cause.split(":")[0].split(".")[2] for cause in causes} == {"external", "resource"}
    assert causes[-1] == "spec.metrics[0].resource: Forbidden: must populate the given metric source only"


def test_min_replicas_zero_is_kept_on_update() -> None:
    spec = {"minReplicas": 0, "maxReplicas": 1, "scaleTargetRef": TARGET}
    metric = {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}}
    new = {"spec": {**spec, "metrics": [metric]}}
    api = "autoscaling/v2/horizontalpodautoscalers"
    assert errors_of(api, new) == ["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"]
    assert errors_of(api, new, new) == []


def test_behavior_annotation_is_validated() -> None:
    """Field names in the annotation are case-insensitive."""
    note = '{"scaleup": {"Policies": [{"type": "Pods", "value": 0, "periodSeconds": 1}]}}'
    annotations = {ORCH("autoscaling.alpha.{long}.io/behavior"): note}
    spec = {"maxReplicas": 1, "scaleTargetRef": TARGET, "targetCPUUtilizationPercentage": 5}
    causes = errors_of(
        "autoscaling/v1/horizontalpodautoscalers", {"metadata": {"annotations": annotations}, "spec": spec}
    )
    assert causes == ["spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero"]


def test_ingress_rules() -> None:
    """A path without a type has no further errors; the class annotation is checked last."""
    key = ORCH("{long}.io/ingress.class")
    spec = {"ingressClassName": "c", "rules": [{"http": {"paths": [{"backend": {}}]}}], "tls": [{"hosts": ["*"]}]}
    causes = errors_of("networking.{abbr}.io/v1/ingresses", {"metadata": {"annotations": {key: "x"}}, "spec": spec})
    assert [cause.split(": ")[0] for cause in causes] == [
        "spec.rules[0].http.paths[0].pathType",
        "spec.tls[0].hosts[0]",
        f"annotations.{key}",
    ]
    reference = {"resource": {"kind": ".", "name": ".."}}
    assert errors_of("networking.{abbr}.io/v1/ingresses", {"spec": {"defaultBackend": reference}}) == [
        "spec.defaultBackend.resource.kind: Invalid value: \".\": may not be '.'",
        "spec.defaultBackend.resource.name: Invalid value: \"..\": may not be '..'",
    ]


def test_ip_block_except_reports_the_first_problem() -> None:
    block = {"cidr": "10.0.0.0/8", "except": ["x", "11.0.0.0/9"]}
    spec = {"podSelector": {}, "ingress": [{"from": [{"ipBlock": block}]}]}
    assert errors_of("networking.{abbr}.io/v1/networkpolicies", {"spec": spec}) == [
        'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "x": not a valid CIDR'
    ]


POLICY = {
    "runAsUser": {"rule": "RunAsAny"},
    "seLinux": {"rule": "RunAsAny"},
    "supplementalGroups": {"rule": "RunAsAny"},
    "fsGroup": {"rule": "RunAsAny"},
}


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        (
            {"runAsGroup": {"rule": "MustRunAs"}},
            ["spec.runAsGroup.ranges: Invalid value: []policy.IDRange(nil): must provide at least one range"],
        ),
        (
            {"runAsGroup": {"rule": "x"}},
            ['spec.runAsGroup.rule: Unsupported value: "x": supported values: "MustRunAs", "RunAsAny", "MayRunAs"'],
        ),
        (
            {"allowedHostPaths": [{"pathPrefix": "/a/../b"}, {}, {}]},
            [
                "spec.allowedHostPaths[0]: Invalid value: \"/a/../b\": must not contain '..'",
                "spec.allowedHostPaths[1]: Required value: is required",
            ],
        ),
        (
            {"allowedFlexVolumes": [{}]},
            ["spec.allowedFlexVolumes.allowedFlexVolumes[0].driver: Required value: must specify a driver"],
        ),
        (
            {"allowedProcMountTypes": ["x"]},
            ['spec.allowedProcMountTypes[0]: Unsupported value: "x": supported values: "Default", "Unmasked"'],
        ),
        (
            {"allowedUnsafeSysctls": ["a.*", ""], "forbiddenSysctls": ["a.b", "c", "*"]},
            [
                'spec.allowedUnsafeSysctls[1]: Invalid value: "": empty sysctl not allowed',
                "spec.forbiddenSysctls.items: Forbidden: if '*' is present, must not specify other sysctls",
                'spec.forbiddenSysctls[0]: Invalid value: "a.b": sysctl overlaps with a.*',
                'spec.allowedUnsafeSysctls[0]: Invalid value: "a.*": sysctl overlaps with *',
                'spec.allowedUnsafeSysctls[1]: Invalid value: "": sysctl overlaps with *',
            ],
        ),
        (
            {"runtimeClass": {"allowedRuntimeClassNames": ["a", "a"], "defaultRuntimeClassName": "b"}},
            [
                'spec.runtimeClass.allowedRuntimeClassNames[1]: Duplicate value: "a"',
                'spec.runtimeClass.allowedRuntimeClassNames: Required value: default "b" must be allowed',
            ],
        ),
        (
            {"requiredDropCapabilities": ["A"], "allowedCapabilities": ["*", "A"]},
            [
                'requiredDropCapabilities: Invalid value: []core.Capability{"A"}: must be empty when all capabilities are allowed '
                "by a wildcard",
                'allowedCapabilities: Invalid value: "A": capability is listed in allowedCapabilities and requiredDropCapabilities',
            ],
        ),
    ],
)
def test_pod_security_policy_rules(spec: Object, causes: list[str]) -> None:
    assert errors_of("policy/v1beta1/podsecuritypolicies", {"spec": {**POLICY, **spec}}) == causes


_SECCOMP, _APPARMOR = (
    ORCH(f"{name}.security.{stage}.{{long}}.io/") for name, stage in (("seccomp", "alpha"), ("apparmor", "beta"))
)


@pytest.mark.parametrize(
    ("key", "text", "problems"),
    [
        (f"{_SECCOMP}defaultProfileName", "runtime/default", []),
        (f"{_SECCOMP}defaultProfileName", "docker/default", []),
        (f"{_SECCOMP}defaultProfileName", "unconfined", []),
        (f"{_SECCOMP}defaultProfileName", "localhost/a/b", []),
        (f"{_SECCOMP}defaultProfileName", "*", ['"*": must be a valid seccomp profile']),
        (f"{_SECCOMP}defaultProfileName", "localhost//a", ['"/a": must be a relative path']),
        (f"{_SECCOMP}defaultProfileName", "localhost/../a", ["\"../a\": must not contain '..'"]),
        (f"{_SECCOMP}allowedProfileNames", "*,localhost/a", []),
        (f"{_SECCOMP}allowedProfileNames", "*,x,", ['"x": must be a valid seccomp profile', '"": must be a valid seccomp profile']),
        (f"{_APPARMOR}defaultProfileName", "localhost/a", []),
        (f"{_APPARMOR}defaultProfileName", "y", ['"y": invalid AppArmor profile name: "y"']),
        (f"{_APPARMOR}defaultProfileName", "a,b", ['"a,b": invalid AppArmor profile name: "a,b"']),
        (f"{_APPARMOR}allowedProfileNames", "unconfined,runtime/default,", []),
        (f"{_APPARMOR}allowedProfileNames", "a,localhost/b", ['"a,localhost/b": invalid AppArmor profile name: "a"']),
    ],
)  # fmt: skip
def test_profiles_in_annotations_of_security_policies(key: str, text: str, problems: list[str]) -> None:
    causes = errors_of("policy/v1beta1/podsecuritypolicies", {"metadata": {"annotations": {key: text}}, "spec": POLICY})
    assert causes == [f"metadata.annotations[{key}]: Invalid value: {problem}" for problem in problems]


@pytest.mark.parametrize(
    ("version", "more"),
    [("v1", ["status.currentHealthy: Invalid value: -1: must be greater than or equal to 0"]), ("v1beta1", [])],
)
def test_budget_conditions_are_validated(version: str, more: list[str]) -> None:
    """Conditions are validated in every version, numbers only in the stable one."""
    status = {"currentHealthy": -1, "conditions": [{"type": "A b", "status": "x", "reason": "1"}]}
    causes = errors_of(f"policy/{version}/poddisruptionbudgets", {"status": status}, {}, "status")
    assert [cause.split(" (e.g.")[0] for cause in causes] == [
        "status.conditions[0].type: Invalid value: \"A b\": name part must consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character",
        'status.conditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"',
        "status.conditions[0].lastTransitionTime: Required value: must be set",
        'status.conditions[0].reason: Invalid value: "1": a condition reason must start with alphabetic character, '
        "optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character "
        "or '_'",
        *more,
    ]


def test_volume_attachment_rules() -> None:
    """The volume name is validated on create only; messages of errors are limited in length."""
    spec = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "A"}}
    causes = errors_of("storage.{abbr}.io/v1/volumeattachments", {"spec": spec})
    assert [cause.split(": ")[0] for cause in causes] == ["spec.source.persistentVolumeName"]
    status = {"attachError": {"message": "x" * 1025}, "attachmentMetadata": {"a": "b" * 262144}}
    assert (
        errors_of("storage.{abbr}.io/v1/volumeattachments", {"spec": spec, "status": status}, {"spec": spec}, "status")
        == [
            "status.attachmentMetadata: Too long: must have at most 262144 bytes",
            "status.attachError.message: Too long: must have at most 262144 bytes",
        ]
        * 2
    )


HOOK: Object = {
    "name": "a.b.c",
    "sideEffects": "None",
    "admissionReviewVersions": ["x"],
    "clientConfig": {},
    "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
}


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        (["*", "pods"], "if '*' is present, must not specify other resources without subresources"),
        (["pods", "*"], ""),
        (["*/*", "pods"], "if '*/*' is present, must not specify other resources"),
    ],
)
def test_webhook_rule_resources(resources: list[str], words: str) -> None:
    """The client configuration is checked before the review versions; of rules without subresources only the last one
    counts."""
    rule = {**HOOK["rules"][0], "resources": resources}
    body = {"webhooks": [{**HOOK, "rules": [rule]}]}
    causes = errors_of("admissionregistration.{abbr}.io/v1/validatingwebhookconfigurations", body)
    shown = "[]string{" + ", ".join(f'"{r}"' for r in resources) + "}"
    first = [f"webhooks[0].rules[0].resources: Invalid value: {shown}: {words}"] if words else []
    assert causes == [
        *first,
        "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        'webhooks[0].admissionReviewVersions: Invalid value: []string{"x"}: must include at least one of v1, v1beta1',
    ]


def test_endpoint_hostname_rules() -> None:
    """All errors of a domain name are one cause."""
    endpoints = [{"addresses": [address]} for address in ("a_b.c", "a.", "", f"{'a' * 64}.b", "x.y.")]
    body = {"addressType": "FQDN", "endpoints": endpoints}
    causes = errors_of("discovery.{abbr}.io/v1/endpointslices", body)
    assert [cause.split(": a lowercase")[0] for cause in causes] == [
        'endpoints[0].addresses[0]: Invalid value: "a_b.c"',
        'endpoints[1].addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots',
        "endpoints[2].addresses[0]: Required value",
        f'endpoints[3].addresses[0]: Invalid value: "{"a" * 64}": must be no more than 63 characters',
    ]


def test_signing_request_condition_rules() -> None:
    """A condition without a type is validated like any other."""
    status = {"conditions": [{"status": "x"}, {"status": "True"}]}
    request: Object = {"spec": {}}
    causes = errors_of(
        "certificates.{abbr}.io/v1/certificatesigningrequests", {**request, "status": status}, request, "approval"
    )
    assert [cause for cause in causes if cause.startswith("status")] == [
        "status.conditions[0].type: Required value",
        'status.conditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"',
        "status.conditions[1].type: Required value",
        'status.conditions[1].type: Duplicate value: ""',
    ]


#: Requests that are signed with SHA-1, which the cryptography package does not do for requests.
SHA1_RSA = (
    "MIIBSzCBtQIBADAMMQowCAYDVQQDDAFhMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDJOKav7/Kw44o3e2qIfnOnNMjt3u/oAhiq2KW2BH"
    "EwDLUY4wjDiHQpsiqX+ciLSoMIrByOJXign455QzphzUBPybjSlErGrGqD7m/YR2lGQrmUlHr72bsbt2PPjvjj58eSNxfl37V4cSHtKeMtG+h5"
    "YsjPfMzmDaA7QmR8Q9cGDQIDAQABoAAwDQYJKoZIhvcNAQEFBQADgYEAwRRaU/Tk/O60T3o29Qt2Bzb+wBXuleQVi4bberYYC0NdVw2Cifn+V4"
    "3ycX0z94+u819F98ZBMbYkp9G1vN3K6GMedVBJRa1eYLkFb19P7mbqxdfAY5xAt2K9oAVaLq8JJD9arjcY9zL1ms86Rg20iN8Dirzan57E2cUP"
    "kfm3rdE="
)
SHA1_EC = (
    "MIHGMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNyeePKByYAxdNsxpLo0D2R1TRP+w2l8XUC1jzZi0lvaw+"
    "zfVxwlGrkD4oAr4/n0LxqzvjqZM/Vzi1X9mdiW47egADAJBgcqhkjOPQQBA0kAMEYCIQD9ElMhFfiEGfyFIGhQ0qwiQXvNYbvFpXfIxGAKDU5N"
    "OQIhAIfGTQk4TJrFzsXRnr1bHDK6SoQzGo/MZioJAi/2rJMQ"
)


@pytest.mark.parametrize("der", [SHA1_RSA, SHA1_EC])
def test_signing_requests_may_be_signed_with_sha1(der: str) -> None:
    """A signature with SHA-1 is verified as any other."""
    wrong = b64encode(b64decode(der)[:-1] + bytes([b64decode(der)[-1] ^ 1])).decode()
    for text, refused in ((der, False), (wrong, True)):
        pem = f"-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n"
        spec = {"request": b64encode(pem.encode()).decode(), "signerName": "a.b/c", "usages": ["any"]}
        causes = errors_of("certificates.{abbr}.io/v1/certificatesigningrequests", {"spec": spec})
        assert any(cause.startswith("spec.request") for cause in causes) is refused, causes


@pytest.mark.parametrize("wrong", [b"\xf4", b"!"])
def test_signing_requests_that_are_not_base64(wrong: bytes) -> None:
    """A block with other characters than those of base64 is no request."""
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\nMII%bA\n-----END CERTIFICATE REQUEST-----\n" % wrong
    spec = {"request": b64encode(pem).decode(), "signerName": "a.b/c"}
    causes = errors_of("certificates.{abbr}.io/v1/certificatesigningrequests", {"spec": spec})
    assert causes[0].endswith("PEM block type must be CERTIFICATE REQUEST")


@pytest.mark.parametrize(
    ("signer", "causes"),
    [
        ("a.b/c..d", ['Invalid value: "c..d": validating label ""']),
        ("a..b/c", ['Invalid value: "a..b": validating label ""']),
        ("_a._b/C.D", ['Invalid value: "_a._b": validating label "_a"', 'Invalid value: "C.D": validating label "C"']),
        (f"{'a.' * 126}aa/c", ["Too long: must have at most 253 bytes"]),
    ],
)
def test_signer_name_rules(signer: str, causes: list[str]) -> None:
    """Only the first invalid part of each half is reported."""
    found_ = errors_of("certificates.{abbr}.io/v1/certificatesigningrequests", {"spec": {"signerName": signer}})
    told = [cause.removeprefix("spec.signerName: ") for cause in found_ if cause.startswith("spec.signerName")]
    assert [text.split(": a lowercase")[0] for text in told] == causes


@pytest.mark.parametrize(
    ("sub", "kind", "words"),
    [
        ("", "Approved", ["add"]),
        ("status", "Approved", ["add"]),
        ("approval", "Approved", []),
        ("status", "Failed", []),
        ("approval", "Failed", []),
    ],
)
def test_approval_conditions_need_the_approval_endpoint(sub: str, kind: str, words: list[str]) -> None:
    """The Approved condition requires the approval endpoint."""
    status = {"conditions": [{"type": kind, "status": "True"}]}
    causes = errors_of("certificates.{abbr}.io/v1/certificatesigningrequests", {"status": status}, {"status": {}}, sub)
    assert [c for c in causes if c.startswith("status")] == [
        f'status.conditions: Forbidden: updates may not {word} a condition of type "{kind}"' for word in words
    ]


def test_issued_certificates_are_immutable() -> None:
    """A certificate is set once, through the status endpoint."""
    api, old = "certificates.{abbr}.io/v1/certificatesigningrequests", {"status": {"certificate": "YQ=="}}
    new = {"status": {"certificate": "Yg=="}}
    assert (
        errors_of(api, new, old, "approval")[-1]
        == "status.certificate: Forbidden: updates may not set certificate content"
    )
    assert errors_of(api, new, old, "status")[-1] == (
        "status.certificate: Forbidden: updates may not modify existing certificate content"
    )


def test_endpoint_hint_rules() -> None:
    """Zones are label values without duplicates; port numbers are not checked."""
    hints = {"forZones": [{"name": "a"}, {"name": "a"}, {"name": "b c"}]}
    body = {"addressType": "IPv4", "endpoints": [{"addresses": ["1.1.1.1"], "hints": hints}]}
    ports = [{"name": "", "protocol": "TCP", "port": 70000}]
    causes = errors_of("discovery.{abbr}.io/v1/endpointslices", {**body, "ports": ports})
    assert [cause.split(": a valid label")[0] for cause in causes] == [
        'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
        'endpoints[0].hints.forZones[2].name: Invalid value: "b c"',
    ]


def test_api_service_name_is_version_and_group() -> None:
    """An invalid name has one error; a valid name must be the version and the group."""
    spec = {"group": "g.x", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    for name, words in (("a/b", "may not contain '/'"), ("a", 'must be `spec.version+"."+spec.group`: "v1.g.x"')):
        body = {"metadata": {"name": name}, "spec": spec}
        causes = errors_of("apiregistration.{abbr}.io/v1/apiservices", body)
        assert causes == [f'metadata.name: Invalid value: "{name}": {words}']


def test_metadata_of_changed_webhooks_is_validated_twice() -> None:
    """Once by the rules of all kinds and once by the kind's own."""
    bad = {"metadata": {"labels": {"a b": "c"}}, "webhooks": []}
    api = "admissionregistration.{abbr}.io/v1/mutatingwebhookconfigurations"
    assert (len(errors_of(api, bad)), len(errors_of(api, bad, {}))) == (1, 3)


def test_deployment_rollback_annotation() -> None:
    """The stable version has the rollback revision in an annotation, which must be an integer from 0."""
    metadata = {"annotations": {"deprecated.deployment.rollback.revision": "-2"}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": POD, "strategy": {"type": "Recreate"}}
    assert errors_of("apps/v1/deployments", {"metadata": metadata, "spec": spec}) == [
        "spec.rollback.version: Invalid value: -2: must be greater than or equal to 0"
    ]


def test_data_of_revisions_is_shown_as_bytes() -> None:
    """Any data is valid; errors print it as bytes."""
    causes = errors_of("apps/v1/controllerrevisions", {"data": {"a": 2}}, {"data": {"a": 1}})
    shown = "0x7b, 0x22, 0x61, 0x22, 0x3a, 0x32, 0x7d"
    assert causes == [
        f'data: Invalid value: runtime.Unknown{{TypeMeta:runtime.TypeMeta{{APIVersion:"", Kind:""}}, Raw:[]uint8{{{shown}}}, '
        'ContentEncoding:"", ContentType:"application/json"}: field is immutable'
    ]


def test_topology_of_a_storage_capacity_is_immutable() -> None:
    """An empty selector, which selects all nodes, is not the same as none."""
    kind, body = "storage.{abbr}.io/v1beta1/csistoragecapacities", {"storageClassName": "a"}
    empty: Object = {**body, "nodeTopology": {}}
    for new, old in ((empty, body), (body, empty)):
        assert [cause.partition(":")[0] for cause in errors_of(kind, new, old)] == ["nodeTopology"]


def test_source_of_an_attachment_is_immutable() -> None:
    """An empty inline volume is not the same as none."""
    before: Object = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    after = {**before, "source": {"persistentVolumeName": "v", "inlineVolumeSpec": {}}}
    causes = errors_of("storage.{abbr}.io/v1/volumeattachments", {"spec": after}, {"spec": before})
    assert any(cause.startswith("spec: ") and cause.endswith("field is immutable") for cause in causes)


def test_storage_capacity_must_not_be_negative() -> None:
    """New objects have two errors for a negative capacity; maximumVolumeSize is not checked."""
    body = {"storageClassName": "a", "capacity": "-1", "maximumVolumeSize": "-1"}
    causes = errors_of("storage.{abbr}.io/v1beta1/csistoragecapacities", body)
    assert causes == ['capacity: Invalid value: "-1": must be greater than or equal to 0'] * 2


class Counted(str):
    """A text that counts comparisons of its values."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def test_thousands_of_finalizers_are_not_compared_with_each_other() -> None:
    """While an object is being deleted, its finalizers are compared with those that it had."""

    def terminating() -> Object:
        names = [Counted(f"example.com/{n}") for n in range(1000)]
        return {"metadata": {"finalizers": names, "deletionTimestamp": "2026-01-01T00:00:00Z"}}

    Counted.comparisons = 0
    assert errors_of("v1/configmaps", terminating(), terminating()) == []
    assert Counted.comparisons < 10_000


def test_topologies_of_storage_classes() -> None:
    """Repeated terms and values are reported, an empty term once for each term of the class; no more than can be
    returned."""
    api = "storage.{abbr}.io/v1/storageclasses"

    def errors(*terms: list[str]) -> list[str]:
        expressions = [[{"key": "a", "values": values}] if values else [] for values in terms]
        topologies = [{"matchLabelExpressions": each} for each in expressions]
        more = {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", "allowedTopologies": topologies}
        return errors_of(api, {"provisioner": "x.y/z", **more})

    repeated = 'allowedTopologies[{}].matchLabelExpressions: Duplicate value: ""'
    value = 'allowedTopologies[0].matchLabelExpressions[0].values[2]: Duplicate value: "v"'
    assert errors(["v", "w", "v"], ["w", "v"], ["v"]) == [value, repeated.format(1)]
    assert errors(["v"], []) == [repeated.format(1)] * 2
    assert len(errors(*[[]] * 600)) == 500


def test_thousands_of_tolerations_are_not_compared_with_each_other() -> None:
    """Tolerations of a pod may only be added, except their time."""

    def tolerant(*seconds: int) -> Object:
        listed = [
            {"key": Counted(f"k{n}"), "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": each}
            for n, each in enumerate(seconds)
        ]
        return {**POD, "spec": {**POD["spec"], "tolerations": listed}}

    Counted.comparisons = 0
    errors_of("v1/pods", tolerant(*[2] * 500), tolerant(*[1] * 500))
    assert Counted.comparisons < 20_000
    (error,) = errors_of("v1/pods", tolerant(1), tolerant(1, 1))
    assert error == "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"


def test_thousands_of_addresses_and_claims_are_not_compared_with_each_other() -> None:
    """Addresses of a node are compared by their text, volumes of a stateful set with the set of its claims."""

    def node() -> Object:
        addresses = [{"type": "InternalIP", "address": Counted(f"a{n}")} for n in range(500)]
        return {"metadata": {"name": "n"}, "status": {"addresses": [*addresses, addresses[7]]}}

    Counted.comparisons = 0
    errors = errors_of("v1/nodes", node(), node())
    assert Counted.comparisons < 5000 and [each.partition(":")[0] for each in errors] == ["status.addresses[500]"]
    names = [Counted(f"v{n}") for n in range(500)]
    claims = [{"metadata": {"name": Counted(name)}, "spec": {}} for name in names]
    pod = {**POD["spec"], "volumes": [{"name": Counted(name), "emptyDir": {}} for name in names]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    selector = {"matchLabels": {"a": "b"}}
    spec = {"selector": selector, "serviceName": "s", "template": template, "volumeClaimTemplates": claims}
    Counted.comparisons = 0
    errors_of("apps/v1/statefulsets", {"spec": spec})
    assert Counted.comparisons < 20_000


def test_stored_conditions_of_a_signing_request_are_read_once() -> None:
    """Repeated conditions are allowed if the stored ones repeat already."""

    def work(count: int) -> int:
        listed = [{"type": Counted("Approved"), "status": "True"} for _ in range(count)]
        had = [{"type": Counted(f"c{n}"), "status": "True"} for n in range(count)]
        new, old = ({"spec": {}, "status": {"conditions": each}} for each in (listed, had))
        return lines(lambda: errors_of("certificates.{abbr}.io/v1/certificatesigningrequests", new, old))

    assert work(400) < 2.5 * work(200)
