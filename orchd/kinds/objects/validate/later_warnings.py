"""Warnings of later releases about objects that they accept (Warning headers), but for those of pods
(`later_pod_warnings`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from orchd.kinds import fields
from orchd.kinds.catalog import Resource
from orchd.kinds.gotext.values import quote
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.address_warnings import of_address, of_range
from orchd.kinds.objects.validate.core.secrets import decoded
from orchd.kinds.objects.validate.paths import METADATA, SPEC, Path, root
from orchd.kinds.objects.validate.pod_warnings import replaced_labels
from orchd.kinds.quantities import is_integer

_CLOSE: Final = "PreferClose"
_PEM: Final = re.compile(rb"-----BEGIN [A-Z0-9 ]+-----")
_STORAGE_CLASS: Final = "volume.beta.{long}.io/storage-class"
_MOUNT_OPTIONS: Final = "volume.beta.{long}.io/mount-options"
_CLASS_MEMBER: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'
#: Annotations of volumes -> texts.
_VOLUME_ANNOTATIONS: Final = {
    _STORAGE_CLASS: _CLASS_MEMBER,
    _MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
}
#: Sources of volumes -> their names in paths, texts.
_VOLUME_SOURCES: Final = {
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}


def service(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """Warnings of addresses, and of members that have no effect."""
    spec, out = fields.spec(obj), []
    hints = settings.dialect("service.{long}.io/topology-aware-hints")
    if hints in fields.annotations_of(obj):
        mode = settings.dialect("service.{long}.io/topology-mode")
        out.append(f"annotation {hints} is deprecated, please use {mode} instead")
    headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    if not headless:
        out += _addresses(spec.get("clusterIPs"), SPEC / "clusterIPs", settings)
    else:
        if spec.get("loadBalancerIP"):
            out.append("spec.loadBalancerIP is ignored for headless services")
        if spec.get("externalIPs"):
            out.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            out.append("spec.SessionAffinity is ignored for headless services")
    out += _addresses(spec.get("externalIPs"), SPEC / "externalIPs", settings)
    if spec.get("loadBalancerIP"):
        out += of_address(spec["loadBalancerIP"], SPEC / "loadBalancerIP", settings.dialect)
    out += _ranges(spec.get("loadBalancerSourceRanges"), SPEC / "loadBalancerSourceRanges", settings)
    external = spec.get("type") == "ExternalName"
    if external and spec.get("externalIPs"):
        out.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not external and spec.get("externalName"):
        out.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == _CLOSE:
        out.append(f'spec.trafficDistribution: "{_CLOSE}" is deprecated; use "PreferSameZone"')
    return out


def service_status(obj: Object, settings: ObjectSettings) -> list[str]:
    """Warnings of the addresses of load balancers."""
    at, out = root("status.loadBalancer.ingress"), []
    for i, ingress in enumerate(fields.mapping(obj, "status", "loadBalancer").get("ingress") or ()):
        out += of_address(ingress.get("ip") or "", at[i], settings.dialect)
    return out


def _addresses(listed: Iterable[str] | None, at: Path, settings: ObjectSettings) -> Iterator[str]:
    for i, address in enumerate(listed or ()):
        yield from of_address(address, at[i], settings.dialect)


def _ranges(listed: Iterable[str] | None, at: Path, settings: ObjectSettings) -> Iterator[str]:
    for i, value in enumerate(listed or ()):
        yield from of_range(value, at[i], settings.dialect)


def endpoints(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """Warnings of addresses that no controller has put into their standard form."""
    if fields.labels(obj).get(settings.dialect("endpoints.{long}.io/managed-by")) == "endpoint-controller":
        return []
    out: list[str] = []
    for i, subset in enumerate(obj.get("subsets") or ()):
        for member in ("addresses", "notReadyAddresses"):
            for j, address in enumerate(subset.get(member) or ()):
                out += of_address(address.get("ip") or "", (root("subsets")[i] / member)[j] / "ip", settings.dialect)
    return out


_OWN_SLICES: Final = ("endpointslice-controller.{abbr}.io", "endpointslicemirroring-controller.{abbr}.io")


def endpoint_slice(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    out: list[str] = []
    if old is None and obj.get("addressType") == "FQDN":
        out.append("spec.addressType: FQDN endpoints are deprecated")
    manager = fields.labels(obj).get(settings.dialect("endpointslice.{long}.io/managed-by"))
    if manager not in tuple(map(settings.dialect, _OWN_SLICES)):
        for i, endpoint in enumerate(obj.get("endpoints") or ()):
            out += _addresses(endpoint.get("addresses"), root("endpoints")[i] / "addresses", settings)
    return out


def network_policy(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    out: list[str] = []
    for direction, member in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(fields.spec(obj).get(direction) or ()):
            for j, peer in enumerate(rule.get(member) or ()):
                block, at = peer.get("ipBlock"), ((SPEC / direction)[i] / member)[j] / "ipBlock"
                if block is not None:
                    out += of_range(block.get("cidr") or "", at / "cidr", settings.dialect)
                    out += _ranges(block.get("except"), at / "except", settings)
    return out


def ingress(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    key = settings.dialect("{long}.io/ingress.class")
    if old is None and key in fields.annotations_of(obj) and fields.spec(obj).get("ingressClassName") is None:
        return [f"annotation {quote(key)} is deprecated, please use 'spec.ingressClassName' instead"]
    return []


def node(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    spec, out = fields.spec(obj), []
    if spec.get("configSource") is not None:
        out.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        out.append(settings.dialect("spec.externalID: this field is deprecated, and is unused by {Long}"))
    return [*out, *_ranges(spec.get("podCIDRs"), SPEC / "podCIDRs", settings)]


def service_account(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    key = settings.dialect("{long}.io/enforce-mountable-secrets")
    if key not in fields.annotations_of(obj) or (old is not None and key in fields.annotations_of(old)):
        return []
    words = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"{(METADATA / 'annotations')[key]}: {words}"]


def secret(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    """Warnings of a certificate or key that is no PEM."""
    if obj.get("type") != settings.dialect("{long}.io/tls"):
        return []
    data = obj.get("data") or {}
    for member, words in (("tls.crt", "certificate"), ("tls.key", "key")):
        if not _PEM.search(decoded(data.get(member))):
            return [f"tls: failed to find any PEM data in {words} input"]
    return []


def persistent_volume(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    spec, annotations = fields.spec(obj), fields.annotations_of(obj)
    out = [
        f"{(METADATA / 'annotations')[settings.dialect(key)]}: {text}"
        for key, text in _VOLUME_ANNOTATIONS.items()
        if settings.dialect(key) in annotations
    ]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        words = (
            "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use "
            "dynamic provisioning."
        )
        out.append(f"{SPEC / 'persistentVolumeReclaimPolicy'}: {words}")
    required = fields.mapping(spec, "nodeAffinity", "required")
    at = SPEC / "nodeAffinity" / "required" / "nodeSelectorTerms"
    for i, term in enumerate(required.get("nodeSelectorTerms") or ()):
        out += _old_expressions(term, at[i], settings)
    out += [f"{SPEC / path}: {text}" for name, (path, text) in _VOLUME_SOURCES.items() if spec.get(name) is not None]
    return out


def _old_expressions(holder: Object, at: Path, settings: ObjectSettings) -> Iterator[str]:
    labels = replaced_labels(settings.dialect)
    for i, requirement in enumerate(holder.get("matchExpressions") or ()):
        key = requirement.get("key")
        if key in labels:
            yield f"{(at / 'matchExpressions')[i] / 'key'}: {key} is {labels[key]}"


def claim(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    key = settings.dialect(_STORAGE_CLASS)
    out = []
    if key in fields.annotations_of(obj):
        out.append(f"{(METADATA / 'annotations')[key]}: {_CLASS_MEMBER}")
    return [*out, *of_claim(fields.spec(obj), SPEC)]


def of_claim(spec: Object, at: Path) -> Iterator[str]:
    """Warnings of a claim's spec: amounts of bytes that are no integers."""
    for member in ("requests", "limits"):
        amount = ((spec.get("resources") or {}).get(member) or {}).get("storage")
        if amount is not None and not is_integer(amount):
            where = (at / "resources" / member)["storage"]
            yield f"{where}: fractional byte value {quote(str(amount))} is invalid, must be an integer"


def storage_class(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    labels = replaced_labels(settings.dialect)
    return [
        f"{(((root('allowedTopologies')[i]) / 'matchLabelExpressions')[j]) / 'key'}: {labels[each['key']]}"
        for i, term in enumerate(obj.get("allowedTopologies") or ())
        for j, each in enumerate(term.get("matchLabelExpressions") or ())
        if each.get("key") in labels
    ]


def capacity(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    topology, at = obj.get("nodeTopology") or {}, root("nodeTopology")
    labels = replaced_labels(settings.dialect)
    old_ones = [
        f"{at / 'matchLabels' / key}: {labels[key]}" for key in topology.get("matchLabels") or () if key in labels
    ]
    return [*_old_expressions(topology, at, settings), *old_ones]


def runtime_class(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    labels = replaced_labels(settings.dialect)
    selector = fields.mapping(obj, "scheduling", "nodeSelector")
    return [f"scheduling.nodeSelector: {labels[key]}" for key in selector if key in labels]


def driver(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    spec: Any = fields.spec(obj)
    changed = old is None or fields.spec(old).get("tokenRequests") != spec.get("tokenRequests")
    if changed and spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None:
        return [
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent "
            "possible logging of tokens in volume attributes"
        ]
    return []


def resource_slice(obj: Object, old: Object | None, resource: Resource, settings: ObjectSettings) -> list[str]:
    name = fields.spec(obj).get("driver") or ""
    if old is None and name != name.lower():
        return [f"spec.driver: driver names should be lowercase; {quote(name)} contains uppercase characters"]
    return []
