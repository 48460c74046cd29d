"""PodSecurityPolicy: each rule and default of a policy, and the selection of a policy for a pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.kinds.jsonvalues import Object
from orchd.kinds.users import User
from orchd.server.admission.interfaces import UPDATE
from orchd.server.admission.plugins.podsecuritypolicies.provider import Provider
from orchd.server.authz.interfaces import Action
from tests.server.admission.conftest import World

ANY = {"rule": "RunAsAny"}
OPEN = {"runAsUser": ANY, "seLinux": ANY, "fsGroup": ANY, "supplementalGroups": ANY, "volumes": ["*"]}
RANGE = [{"min": 5, "max": 9}]
MUST = {"rule": "MustRunAs", "ranges": RANGE}
SC = "spec.containers[0].securityContext"
SECCOMP, APPARMOR = "seccomp.security.alpha.{long}.io/", "apparmor.security.beta.{long}.io/"


def policy(name: str = "p", annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    notes = {ORCH(k): v for k, v in (annotations or {}).items()}
    return {"metadata": {"name": name, "annotations": notes}, "spec": {**OPEN, **spec}}


def with_context(**context: Any) -> Object:
    return {"containers": [{"name": "c", "image": "i", "securityContext": context}]}


def with_volume(**source: Any) -> Object:
    return {"volumes": [{"name": "v", **source}]}


NOTHING_ALLOWED: Object = {"volumes": []}
NAMESPACE_FIELD = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
#: The sources of the volume that every pod has.
TOKEN = [
    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
    {"configMap": {"name": ORCH("{short}-root-ca.crt")}},
    {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": NAMESPACE_FIELD}]}},
]
RULES = [
    (
        {},
        {"hostNetwork": True},
        "spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used",
    ),
    ({}, {"hostPID": True}, "spec.securityContext.hostPID: Invalid value: true: Host PID is not allowed to be used"),
    ({"hostIPC": True}, {"hostIPC": True}, None),
    ({}, with_context(privileged=True), f"{SC}.privileged: Invalid value: true: Privileged containers are not allowed"),
    (
        {},
        with_context(procMount="Unmasked"),
        f'{SC}.procMount: Invalid value: "Unmasked": ProcMountType is not allowed',
    ),
    (
        {"runAsUser": MUST},
        with_context(runAsUser=1),
        f"{SC}.runAsUser: Invalid value: 1: must be in the ranges: [{{5 9}}]",
    ),
    (
        {"runAsUser": {"rule": "MustRunAsNonRoot"}},
        with_context(runAsUser=0),
        f"{SC}.runAsUser: Invalid value: 0: running with the root UID is forbidden",
    ),
    (
        {"runAsUser": {"rule": "MustRunAsNonRoot"}},
        with_context(runAsNonRoot=False),
        f"{SC}.runAsNonRoot: Invalid value: false: must be true",
    ),
    (
        {"runAsGroup": MUST},
        with_context(runAsGroup=4),
        f"{SC}: Invalid value: []int64{{4}}: group 4 must be in the ranges: [{{5 9}}]",
    ),
    (
        {"fsGroup": {"rule": "MayRunAs", "ranges": RANGE}},
        {"securityContext": {"fsGroup": 4}},
        "spec.securityContext.fsGroup: Invalid value: []int64{4}: group 4 must be in the ranges: [{5 9}]",
    ),
    ({"fsGroup": {"rule": "MayRunAs", "ranges": RANGE}}, {}, None),
    (
        {"seLinux": {"rule": "MustRunAs", "seLinuxOptions": {"level": "s0:c1,c2"}}},
        {"securityContext": {"seLinuxOptions": {"level": "s1"}}},
        'spec.securityContext.seLinuxOptions.level: Invalid value: "s1": must be s0:c1,c2 '
        f'{SC}.seLinuxOptions.level: Invalid value: "s1": must be s0:c1,c2',
    ),
    (
        {"seLinux": {"rule": "MustRunAs", "seLinuxOptions": {"level": "s0:c1,c2"}}},
        {"securityContext": {"seLinuxOptions": {"level": "s0-s0:c2,c1"}}},
        None,
    ),
    (
        {},
        with_context(capabilities={"add": ["KILL"]}),
        f'{SC}.capabilities.add: Invalid value: "KILL": capability may not be added',
    ),
    ({"allowedCapabilities": ["*"]}, with_context(capabilities={"add": ["KILL"]}), None),
    ({"defaultAddCapabilities": ["KILL"]}, with_context(capabilities={"add": ["KILL"]}), None),
    (
        {"readOnlyRootFilesystem": True},
        with_context(readOnlyRootFilesystem=False),
        f"{SC}.readOnlyRootFilesystem: Invalid value: false: ReadOnlyRootFilesystem must be set to true",
    ),
    (
        {"allowPrivilegeEscalation": False},
        with_context(allowPrivilegeEscalation=True),
        f"{SC}.allowPrivilegeEscalation: Invalid value: true: Allowing privilege escalation for containers is not allowed",
    ),
    (
        {"hostPorts": [{"min": 1, "max": 1}, {"min": 3, "max": 4}]},
        {"containers": [{"name": "c", "ports": [{"hostPort": 4}, {"hostPort": 2}]}]},
        "spec.containers[0].hostPort: Invalid value: 2: Host port 2 is not allowed to be used. Allowed ports: [1,3-4]",
    ),
    (
        {},
        {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies"}, {"name": "kernel.msgmax"}]}},
        'pod.spec.securityContext.sysctls[1]: Forbidden: unsafe sysctl "kernel.msgmax" is not allowed',
    ),
    (
        {"forbiddenSysctls": ["net.*"]},
        {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies"}]}},
        'pod.spec.securityContext.sysctls[0]: Forbidden: sysctl "net.ipv4.tcp_syncookies" is not allowed',
    ),
    ({"allowedUnsafeSysctls": ["kernel.*"]}, {"securityContext": {"sysctls": [{"name": "kernel.msgmax"}]}}, None),
    (
        NOTHING_ALLOWED,
        with_volume(cephfs={}),
        'spec.volumes[0]: Invalid value: "cephFS": cephFS volumes are not allowed to be used',
    ),
    ({"volumes": ["secret"]}, with_volume(projected={"sources": TOKEN}), None),
    *(
        (
            {"volumes": ["secret"]},
            with_volume(projected={"sources": sources}),
            'spec.volumes[0]: Invalid value: "projected": projected volumes are not allowed to be used',
        )
        for sources in (
            [{"serviceAccountToken": {"path": "token", "audience": "a"}}],
            [{"serviceAccountToken": {"path": "other"}}],
            [{"configMap": {"name": "other"}}],
            [{"downwardAPI": {"items": [{"path": "other", "fieldRef": NAMESPACE_FIELD}]}}],
            [{"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {**NAMESPACE_FIELD, "apiVersion": "v2"}}]}}],
            [
                {
                    "downwardAPI": {
                        "items": [{"path": "namespace", "fieldRef": {**NAMESPACE_FIELD, "fieldPath": "metadata.name"}}]
                    }
                }
            ],
            [{"downwardAPI": {"items": [{"path": "namespace", "resourceFieldRef": {}}]}}],
            [*TOKEN, {"secret": {"name": "s"}}],
        )
    ),
    ({"allowedFlexVolumes": [{"driver": "a"}]}, with_volume(flexVolume={"driver": "a"}), None),
    ({}, with_volume(flexVolume={"driver": "a"}), None),
    ({"allowedCSIDrivers": [{"name": "a"}]}, with_volume(csi={"driver": "a"}), None),
    ({}, with_volume(csi={"driver": "a"}), None),
    ({"allowedHostPaths": [{"pathPrefix": "/a/"}]}, with_volume(hostPath={"path": "/a"}), None),
    ({"allowedHostPaths": [{"pathPrefix": "/a"}]}, with_volume(hostPath={"path": "/a/b/"}), None),
    ({}, with_volume(hostPath={"path": "/a"}), None),
    (
        {"allowedHostPaths": [{"pathPrefix": "/a", "readOnly": True}, {"pathPrefix": "/a/b"}]},
        {**with_volume(hostPath={"path": "/a/b"}), "containers": [{"name": "c", "volumeMounts": [{"name": "v"}]}]},
        None,
    ),
    (
        {"allowedHostPaths": [{"pathPrefix": "/a", "readOnly": True}]},
        {
            **with_volume(hostPath={"path": "/a"}),
            "containers": [{"name": "c", "volumeMounts": [{"name": "v", "readOnly": True}]}],
        },
        None,
    ),
    (
        {"volumes": ["secret"]},
        with_volume(projected={"sources": [{"secret": {"name": "s"}}]}),
        'spec.volumes[0]: Invalid value: "projected": projected volumes are not allowed to be used',
    ),
    (
        {"allowedHostPaths": [{"pathPrefix": "/a/"}]},
        with_volume(hostPath={"path": "/ab"}),
        'spec.volumes[0].hostPath.pathPrefix: Invalid value: "/ab": is not allowed to be used',
    ),
    (
        {"allowedHostPaths": [{"pathPrefix": "/a", "readOnly": True}]},
        {
            **with_volume(hostPath={"path": "/a/b"}),
            "containers": [{"name": "c", "volumeMounts": [{"name": "o"}, {"name": "v"}]}],
        },
        "spec.containers[0].volumeMounts[1].readOnly: Invalid value: false: must be read-only",
    ),
    (
        {"allowedFlexVolumes": [{"driver": "a"}]},
        with_volume(flexVolume={"driver": "b"}),
        'spec.volumes[0].driver: Invalid value: "b": Flexvolume driver is not allowed to be used',
    ),
    (
        {"allowedCSIDrivers": [{"name": "a"}]},
        with_volume(csi={"driver": "b"}),
        'spec.volumes[0].csi.driver: Invalid value: "b": Inline CSI driver is not allowed to be used',
    ),
    (
        {"runtimeClass": {"allowedRuntimeClassNames": ["a"]}},
        {"runtimeClassName": "b"},
        'spec.runtimeClassName: Invalid value: "b"',
    ),
    (
        {"annotations": {APPARMOR + "allowedProfileNames": "runtime/default"}},
        {},
        ORCH(
            "pod.metadata.annotations[container.apparmor.security.beta.{long}.io/c]: Forbidden: AppArmor profile must be set"
        ),
    ),
    (
        {},
        {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
        ORCH(
            "pod.metadata.annotations[seccomp.security.alpha.{long}.io/pod]: Forbidden: seccomp may not be set "
            "pod.metadata.annotations[container.seccomp.security.alpha.{long}.io/c]: Forbidden: seccomp may not be set"
        ),
    ),
    (
        {"annotations": {SECCOMP + "allowedProfileNames": "docker/default"}},
        {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
        None,
    ),
    (
        {"annotations": {SECCOMP + "allowedProfileNames": "localhost/a"}},
        {},
        ORCH(
            "pod.metadata.annotations[seccomp.security.alpha.{long}.io/pod]: Forbidden: "
            " is not an allowed seccomp profile. Valid values are localhost/a "
            "pod.metadata.annotations[container.seccomp.security.alpha.{long}.io/c]: Forbidden: "
            " is not an allowed seccomp profile. Valid values are localhost/a"
        ),
    ),
]


@pytest.mark.parametrize(("rules", "spec", "text"), RULES)
def test_policy_violations_are_named_with_path_and_value(
    rules: Any, spec: Any, text: str, pod: Callable[..., Object]
) -> None:
    """A violation has the path, the value and the reason."""
    provider = Provider(policy(**rules), ORCH)
    assert " ".join(provider.findings(provider.with_defaults(pod(**spec)))) == (text or "")


DEFAULTS = [
    ({"runAsUser": MUST}, {}, {"runAsUser": 5}),
    ({"runAsUser": {"rule": "MustRunAsNonRoot"}}, {}, {"runAsNonRoot": True}),
    ({"runAsGroup": MUST}, {}, {"runAsGroup": 5}),
    ({"readOnlyRootFilesystem": True}, {}, {"readOnlyRootFilesystem": True}),
    ({"allowPrivilegeEscalation": False}, {}, {"allowPrivilegeEscalation": False}),
    ({"defaultAllowPrivilegeEscalation": True}, {}, {"allowPrivilegeEscalation": True}),
    (
        {"defaultAddCapabilities": ["B", "A"], "requiredDropCapabilities": ["C"]},
        {"drop": ["B"]},
        {"capabilities": {"add": ["A"], "drop": ["B", "C"]}},
    ),
]


@pytest.mark.parametrize(("rules", "capabilities", "context"), DEFAULTS)
def test_container_defaults_of_a_policy(
    rules: Any, capabilities: Any, context: Any, pod: Callable[..., Object]
) -> None:
    """A container without settings gets the policy's defaults, and then satisfies the policy."""
    given = with_context(capabilities=capabilities) if capabilities else {}
    provider = Provider(policy(**rules), ORCH)
    defaulted = provider.with_defaults(pod(**given))
    assert defaulted["spec"]["containers"][0]["securityContext"] == context
    assert provider.findings(defaulted) == [] and provider.with_defaults(defaulted) == defaulted


def test_pod_defaults_of_a_policy(pod: Callable[..., Object]) -> None:
    """Groups, labels, profiles and the runtime class come from the policy; profiles as annotation and as field."""
    options = {"level": "s0"}
    made = Provider(
        policy(
            fsGroup=MUST,
            supplementalGroups=MUST,
            seLinux={"rule": "MustRunAs", "seLinuxOptions": options},
            runtimeClass={"defaultRuntimeClassName": "r", "allowedRuntimeClassNames": ["*"]},
            annotations={SECCOMP + "defaultProfileName": "localhost/x", APPARMOR + "defaultProfileName": "unconfined"},
        ),
        ORCH,
    ).with_defaults(pod())
    assert made["spec"]["securityContext"] == {
        "supplementalGroups": [5],
        "fsGroup": 5,
        "seLinuxOptions": options,
        "seccompProfile": {"type": "Localhost", "localhostProfile": "x"},
    }
    assert made["spec"]["runtimeClassName"] == "r"
    assert made["metadata"]["annotations"] == {
        ORCH("seccomp.security.alpha.{long}.io/pod"): "localhost/x",
        ORCH("container.apparmor.security.beta.{long}.io/c"): "unconfined",
    }


@pytest.mark.parametrize(
    "rules",
    [
        {"runAsUser": {}},
        {"runAsUser": {"rule": "MustRunAs"}},
        {"fsGroup": {"rule": "MayRunAs"}},
        {"seLinux": {"rule": "MustRunAs"}},
    ],
)
def test_invalid_policies_are_not_applied(rules: Any) -> None:
    """A policy with an unknown rule, or one without its ranges or options, is not used."""
    with pytest.raises(ValueError):
        Provider(policy(**rules), ORCH)


@pytest.fixture
def chain(world: type[World]) -> Any:
    def make(*policies: Any, **more: Any) -> Any:
        w = world(only=["PodSecurityPolicy"], **more)
        for one in policies:
            w.put("podsecuritypolicies", one, group="policy", version="v1beta1")
        return w

    return make


KEY = ORCH("{long}.io/psp")


def test_invalid_policies_admit_nothing(chain: Any, pod: Callable[..., Object]) -> None:
    """They are as if they were not there."""
    assert chain(policy("a", runAsUser={}), policy("b")).run("pods", pod())["metadata"]["annotations"] == {KEY: "b"}
    assert "no providers available" in chain(policy("a", runAsUser={})).refusal("pods", pod()).message


def test_policies_that_a_pod_violates_are_skipped(chain: Any, pod: Callable[..., Object]) -> None:
    """A later policy that allows the pod admits it."""
    policies = chain(policy("a"), policy("b", hostPID=True))
    assert policies.run("pods", pod(hostPID=True))["metadata"]["annotations"] == {KEY: "b"}


def test_ranges_from_zero(chain: Any, pod: Callable[..., Object]) -> None:
    """The default is the least number of the first range, which may be 0."""
    for ranges in ([{"min": 0, "max": 9}], [{"max": 9}]):
        stored = chain(policy("a", runAsUser={"rule": "MustRunAs", "ranges": ranges})).run("pods", pod())
        assert stored["spec"]["containers"][0]["securityContext"]["runAsUser"] == 0


def test_without_policies_pods_are_refused(chain: Any, pod: Callable[..., Object]) -> None:
    """Without any policy, pods of all users are rejected."""
    error = chain().refusal("pods", pod())
    assert error.code == 403
    assert error.message == ('pods "p" is forbidden: PodSecurityPolicy: no providers available to validate pod request')


def test_non_mutating_policies_are_preferred(chain: Any, pod: Callable[..., Object]) -> None:
    """Policies are tried by name, first without changing the pod, then with changes."""
    policies = chain(policy("a", runAsUser=MUST), policy("c"), policy("b"))
    assert policies.run("pods", pod())["metadata"]["annotations"] == {KEY: "b"}
    annotated = {**pod(), "metadata": {"name": "p", "annotations": {"own": "x"}}}
    assert policies.run("pods", annotated)["metadata"]["annotations"] == {"own": "x", KEY: "b"}
    prefix = ORCH("podsecuritypolicy.policy.{abbr}.io/")
    assert policies.notes == {prefix + "admit-policy": "b", prefix + "validate-policy": "b"}
    changing = chain(policy("b", runAsUser=MUST), policy("a", readOnlyRootFilesystem=True))
    assert changing.run("pods", pod())["metadata"]["annotations"] == {KEY: "a"}


def test_use_permission_of_account_or_user_in_either_group(chain: Any, pod: Callable[..., Object]) -> None:
    """A policy is usable if the service account or the user has the use verb in the namespace, in either API group."""
    asked = []

    def allowed(action: Action) -> Any:
        asked.append((action.user.name, action.group, action.namespace, action.name, action.verb))
        return action.user.name == "bob" and action.group == "extensions"

    policies = chain(policy("a"), allowed=allowed)
    policies.run("pods", pod(serviceAccountName="s"), user=User(name="bob"))
    account = "system:serviceaccount:ns:s"
    assert asked[:4] == [
        (who, group, "ns", "a", "use") for who in (account, "bob") for group in ("policy", "extensions")
    ]


def test_errors_come_from_usable_policies_only(chain: Any, pod: Callable[..., Object]) -> None:
    """Errors of policies that may not be used are not shown; there may be none."""
    policies = chain(policy("a"), policy("b"), allowed=lambda action: action.name == "b")
    error = policies.refusal("pods", pod(hostPID=True))
    assert error.message == (
        'pods "p" is forbidden: PodSecurityPolicy: unable to admit pod: '
        "[spec.securityContext.hostPID: Invalid value: true: Host PID is not allowed to be used]"
    )
    none = chain(policy("a"), allowed=lambda action: False)
    assert none.refusal("pods", pod()).message.endswith("PodSecurityPolicy: unable to admit pod: []")


def test_updates_are_only_validated(chain: Any, pod: Callable[..., Object]) -> None:
    """An update must satisfy a policy without changes; updates by the garbage collector and of subresources are not
    checked."""
    policies = chain(policy("a", runAsUser=MUST))
    old, new = pod(), pod(activeDeadlineSeconds=1)
    error = policies.refusal("pods", new, old, operation=UPDATE)
    assert error.message == 'pods "p" is forbidden: PodSecurityPolicy: unable to validate pod: []'
    collected = {**old, "metadata": {**old["metadata"], "finalizers": ["x"], "ownerReferences": []}}
    assert policies.run("pods", collected, old, operation=UPDATE) == collected
    assert policies.run("pods", new, old, operation=UPDATE, sub="status") == new
    fitting = pod(**with_context(runAsUser=6))
    assert policies.run("pods", fitting, old, operation=UPDATE) == fitting


def test_annotated_policy_is_tried_first(chain: Any, pod: Callable[..., Object]) -> None:
    """An update is first checked against the policy that admitted the pod."""
    policies = chain(policy("a"), policy("b"))
    old = pod()
    new = {**pod(activeDeadlineSeconds=1), "metadata": {"name": "p", "annotations": {KEY: "b"}}}
    policies.run("pods", new, old, operation=UPDATE)
    assert policies.notes == {ORCH("podsecuritypolicy.policy.{abbr}.io/validate-policy"): "b"}
