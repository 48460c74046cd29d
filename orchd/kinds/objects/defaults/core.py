"""Default rules of the core group: pods, services, volumes, namespaces, nodes, quotas."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release
from orchd.kinds.objects.defaults.images import pull_policy
from orchd.kinds.objects.defaults.rules import Rule, fill_members, fill_unset, within
from orchd.kinds.objects.pod_amounts import aggregate
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.objects.settings import ObjectSettings

_FILE_MODE: Final = 0o644

_RBD: Final = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_SCALEIO: Final = {"storageMode": "ThinProvisioned", "fsType": "xfs"}

_OLD_INIT_CONTAINERS: Final = tuple(
    f"pod.{stage}.{{long}}.io/init-container{what}" for stage in ("alpha", "beta") for what in ("s", "-statuses")
)

CONSTANTS: Final[dict[str, dict[str, Any]]] = {
    "core/v1.FileKeySelector": {"optional": False},
    "core/v1.AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "kind": "Shared",
        "fsType": "ext4",
        "readOnly": False,
    },
    "core/v1.ConfigMapVolumeSource": {"defaultMode": _FILE_MODE},
    "core/v1.DownwardAPIVolumeSource": {"defaultMode": _FILE_MODE},
    "core/v1.EndpointPort": {"protocol": "TCP"},
    "core/v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core/v1.HostPathVolumeSource": {"type": ""},
    "core/v1.ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    "core/v1.ISCSIVolumeSource": {"iscsiInterface": "default"},
    "core/v1.NamespaceStatus": {"phase": "Active"},
    "core/v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core/v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core/v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "core/v1.PersistentVolumeStatus": {"phase": "Pending"},
    "core/v1.PodSpec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
    "core/v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core/v1.ProjectedVolumeSource": {"defaultMode": _FILE_MODE},
    "core/v1.RBDPersistentVolumeSource": _RBD,
    "core/v1.RBDVolumeSource": _RBD,
    "core/v1.ReplicationControllerSpec": {"replicas": 1},
    "core/v1.ScaleIOPersistentVolumeSource": _SCALEIO,
    "core/v1.ScaleIOVolumeSource": _SCALEIO,
    "core/v1.Secret": {"type": "Opaque"},
    "core/v1.SecretVolumeSource": {"defaultMode": _FILE_MODE},
    "core/v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
}


def resource_list(value: Object) -> Object:
    """Round resource amounts up to thousandths."""
    for text in value.values():
        if text[-1] in "nu" or "e-" in text:
            return {name: _round_up(text) for name, text in value.items()}
    return value


def _round_up(text: str) -> str:
    quantity = Quantity.parse(text)
    return str(Quantity(quantity.milli * 10**6, quantity.format))


# --- pods ---------------------------------------------------------------------------------------


def _container(value: Object, settings: ObjectSettings) -> Object:
    if "terminationMessagePath" in value and "terminationMessagePolicy" in value and "imagePullPolicy" in value:
        return value
    return fill_members(
        value,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=pull_policy(value.get("image", "")),
    )


def _without_old_init_containers(value: Object, settings: ObjectSettings) -> Object:
    """Remove annotations that predate the initContainers field from pods and templates."""
    annotations = fields.metadata(value).get("annotations")
    if not annotations or not any("/init-container" in name for name in annotations):
        return value
    old = {settings.dialect(name) for name in _OLD_INIT_CONTAINERS}
    kept = {name: text for name, text in annotations.items() if name not in old}
    metadata = {name: item for name, item in value["metadata"].items() if name != "annotations"}
    return {**value, "metadata": {**metadata, "annotations": kept} if kept else metadata}


def _pod(value: Object, settings: ObjectSettings) -> Object:
    value = _without_old_init_containers(value, settings)
    spec = fill_members(fields.spec(value), enableServiceLinks=True)
    spec = _each(spec, "containers", _request_limits)
    spec = _each(spec, "initContainers", _request_limits)
    return value if spec is value.get("spec") else {**value, "spec": spec}


def _request_limits(container: Object) -> Object:
    """Default requests to limits."""
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    requests = resources.get("requests") or {}
    if limits.keys() <= requests.keys():
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **requests}}}


def _each(value: Object, name: str, change: Callable[[Object], Object]) -> Object:
    old = value.get(name)
    if not old:
        return value
    new = [change(item) for item in old]
    return value if all(a is b for a, b in zip(old, new, strict=True)) else {**value, name: new}


def _pod_spec(value: Object, settings: ObjectSettings) -> Object:
    name = value.get("serviceAccountName") or value.get("serviceAccount")
    if name and not (value.get("serviceAccount") == name and value.get("serviceAccountName") == name):
        value = {**value, "serviceAccountName": name, "serviceAccount": name}
    return value


def _pod_spec_with_ports(value: Object, settings: ObjectSettings) -> Object:
    """As `_pod_spec`; on the host network, of pods and of templates, containers have their ports on the node."""
    return _with_host_ports(_pod_spec(value, settings))


def _with_host_ports(value: Object) -> Object:
    if value.get("hostNetwork"):
        value = _each(_each(value, "containers", _host_ports), "initContainers", _host_ports)
    return value


def _pod_with_ports(value: Object, settings: ObjectSettings) -> Object:
    """As `_pod`; the pod as a whole has requests if it has limits, and on the host network containers have their ports
    on the node."""
    return within(_pod(value, settings), "spec", _with_pod_amounts_and_ports)


def _pod_with_period(value: Object, settings: ObjectSettings) -> Object:
    """As `_pod_with_ports`; a negative grace period is one second. Templates keep theirs."""
    return within(_pod_with_ports(value, settings), "spec", _with_positive_period)


def _with_positive_period(spec: Object) -> Object:
    return (
        {**spec, "terminationGracePeriodSeconds": 1} if (spec.get("terminationGracePeriodSeconds") or 0) < 0 else spec
    )


def _with_pod_amounts_and_ports(spec: Object) -> Object:
    resources = spec.get("resources")
    if resources and (resources.get("limits") or resources.get("requests")):
        spec = {**spec, "resources": _pod_amounts(spec, resources)}
    return _with_host_ports(spec)


def _pod_amounts(spec: Object, resources: Object) -> Object:
    """The resources of a pod: huge pages are limited to those of its containers; requests are those of its containers,
    or limits."""
    requests, limits = dict(resources.get("requests") or {}), dict(resources.get("limits") or {})
    for name, amount in aggregate(spec, "limits").items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        for name, amount in aggregate(spec, "requests").items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, str(amount))
        for name, limit in limits.items():
            if name in ("cpu", "memory") or name.startswith("hugepages-"):
                requests.setdefault(name, limit)
    return {**resources, **({"limits": limits} if limits else {}), **({"requests": requests} if requests else {})}


def _host_ports(container: Object) -> Object:
    """Default hostPort to containerPort on the host network."""
    return _each(
        container, "ports", lambda port: port if port.get("hostPort") else {**port, "hostPort": port["containerPort"]}
    )


def _volume(value: Object, settings: ObjectSettings) -> Object:
    if len(value) <= 1 and value.keys() <= {"name"}:
        return {**value, "emptyDir": {}}
    image = value.get("image")
    if image is not None and not image.get("pullPolicy"):
        return {**value, "image": {**image, "pullPolicy": pull_policy(image.get("reference") or "")}}
    return value


def _pod_status(value: Object, settings: ObjectSettings) -> Object:
    """Synchronize podIP with the first of podIPs. podIP takes precedence."""
    one, many = value.get("podIP"), value.get("podIPs")
    if one and not (many and many[0].get("ip") == one):
        return {**value, "podIPs": [{"ip": one}]}
    if many and not one and many[0].get("ip"):
        return {**value, "podIP": many[0]["ip"]}
    return value


# --- the rest -----------------------------------------------------------------------------------


def _persistent_volume(value: Object, settings: ObjectSettings) -> Object:
    """Default members of the spec, which the spec inside an attachment of a volume does not have."""
    return within(
        value,
        "spec",
        lambda spec: fill_unset(fill_members(spec, persistentVolumeReclaimPolicy="Retain"), volumeMode="Filesystem"),
    )


def _replication_controller(value: Object, settings: ObjectSettings) -> Object:
    spec = fields.spec(value)
    labels = fields.metadata(spec.get("template") or {}).get("labels")
    if not labels:
        return value
    if not spec.get("selector"):
        value = {**value, "spec": {**spec, "selector": labels}}
    if not fields.metadata(value).get("labels"):
        value = fields.with_metadata(value, labels=labels)
    return value


def _secret(value: Object, settings: ObjectSettings) -> Object:
    """Merge stringData into data."""
    texts = value.get("stringData")
    if not texts:
        return value
    encoded = {key: base64.b64encode(text.encode("utf-8", "replace")).decode() for key, text in texts.items()}
    rest = {key: item for key, item in value.items() if key != "stringData"}
    return {**rest, "data": {**(value.get("data") or {}), **encoded}}


def _service_spec(value: Object, settings: ObjectSettings) -> Object:
    value = _session_affinity(value)
    if value["type"] in ("NodePort", "LoadBalancer"):
        value = fill_members(value, externalTrafficPolicy="Cluster")
    if settings.feature("ServiceInternalTrafficPolicy"):
        value = fill_unset(value, internalTrafficPolicy="Cluster")
    return _with_node_ports(value, settings)


def _session_affinity(value: Object) -> Object:
    """Fill in type and session affinity."""
    value = fill_members(value, sessionAffinity="None", type="ClusterIP")
    if value["sessionAffinity"] == "None" and "sessionAffinityConfig" in value:
        value = {key: item for key, item in value.items() if key != "sessionAffinityConfig"}
    if value["sessionAffinity"] == "ClientIP":
        config = (value.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if config.get("timeoutSeconds") is None:
            value = {**value, "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}
    return value


def _service_spec_by_type(value: Object, settings: ObjectSettings) -> Object:
    """As `_service_spec`; services of type ExternalName have no traffic policy, and those with external IPs have
    both."""
    value = _session_affinity(value)
    if value["type"] in ("NodePort", "LoadBalancer") or (value["type"] == "ClusterIP" and value.get("externalIPs")):
        value = fill_members(value, externalTrafficPolicy="Cluster")
    if value["type"] in ("ClusterIP", "NodePort", "LoadBalancer"):
        value = fill_unset(value, internalTrafficPolicy="Cluster")
    return _with_node_ports(value, settings)


def _service(value: Object, settings: ObjectSettings) -> Object:
    return value


def _service_with_modes(value: Object, settings: ObjectSettings) -> Object:
    """Addresses of load balancers have the mode VIP."""
    listed = fields.mapping(value, "status", "loadBalancer").get("ingress")
    if not listed or fields.spec(value).get("type") != "LoadBalancer":
        return value
    moded = [{**each, "ipMode": "VIP"} if each.get("ip") and each.get("ipMode") is None else each for each in listed]
    return {
        **value,
        "status": {**value["status"], "loadBalancer": {**value["status"]["loadBalancer"], "ingress": moded}},
    }


def _with_node_ports(value: Object, settings: ObjectSettings) -> Object:
    if value["type"] == "LoadBalancer" and settings.feature("ServiceLBNodePortControl"):
        value = fill_members(value, allocateLoadBalancerNodePorts=True)
    return value


def _service_port(value: Object, settings: ObjectSettings) -> Object:
    return value if value.get("targetPort") not in (0, "", None) else {**value, "targetPort": value["port"]}


def _namespace(value: Object, settings: ObjectSettings) -> Object:
    """Default the name label of a namespace."""
    metadata = fields.metadata(value)
    name = metadata.get("name")
    key = settings.dialect("{long}.io/metadata.name")
    labels = metadata.get("labels") or {}
    if not name or labels.get(key) == name:
        return value
    return {**value, "metadata": {**metadata, "labels": {**labels, key: name}}}


def _node_spec(value: Object, settings: ObjectSettings) -> Object:
    """Synchronize podCIDR with the first of podCIDRs. podCIDR takes precedence."""
    one, many = value.get("podCIDR"), value.get("podCIDRs")
    if one and not (many and many[0] == one):
        return {**value, "podCIDRs": [one]}
    if many and not one and many[0]:
        return {**value, "podCIDR": many[0]}
    return value


def _node_status(value: Object, settings: ObjectSettings) -> Object:
    if value.get("capacity") and value.get("allocatable") is None:
        return {**value, "allocatable": value["capacity"]}
    return value


def _limit_range_item(value: Object, settings: ObjectSettings) -> Object:
    """For containers, default the default limit to max, and the default request to the default limit or min."""
    if value.get("type") != "Container":
        return value
    limit = {**(value.get("max") or {}), **(value.get("default") or {})}
    request = {**(value.get("min") or {}), **limit, **(value.get("defaultRequest") or {})}
    if limit and limit != value.get("default"):
        value = {**value, "default": limit}
    return {**value, "defaultRequest": request} if request and request != value.get("defaultRequest") else value


def _claim(value: Object, settings: ObjectSettings) -> Object:
    return within(value, "status", lambda status: fill_members(status, phase="Pending"))


RULES: Final[dict[str, Rule]] = {
    "core/v1.Container": _container,
    "core/v1.EphemeralContainer": _container,
    "core/v1.LimitRangeItem": _limit_range_item,
    "core/v1.Namespace": _namespace,
    "core/v1.NodeSpec": _node_spec,
    "core/v1.NodeStatus": _node_status,
    "core/v1.PersistentVolume": _persistent_volume,
    "core/v1.PersistentVolumeClaim": _claim,
    "core/v1.Pod": by_release(_pod, ("1.28", _pod_with_ports), ("1.33", _pod_with_period)),
    "core/v1.PodSpec": by_release(_pod_spec_with_ports, ("1.28", _pod_spec)),
    "core/v1.PodStatus": _pod_status,
    "core/v1.PodTemplateSpec": _without_old_init_containers,
    "core/v1.ReplicationController": _replication_controller,
    "core/v1.Secret": _secret,
    "core/v1.Service": by_release(_service, ("1.30", _service_with_modes)),
    "core/v1.ServicePort": _service_port,
    "core/v1.ServiceSpec": by_release(_service_spec, ("1.26", _service_spec_by_type)),
    "core/v1.Volume": _volume,
}
