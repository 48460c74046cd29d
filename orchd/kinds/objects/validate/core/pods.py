"""Validation of new pods and of pod templates."""

from __future__ import annotations

from typing import Final

from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.by_release import by_release, reworded
from orchd.kinds.objects.validate import meta
from orchd.kinds.objects.validate.core import placement, podcontainers, podfields, resources, security
from orchd.kinds.objects.validate.core.containers import (
    containers,
    ephemeral_containers,
    init_containers,
    trimmed_image,
)
from orchd.kinds.objects.validate.core.field_rules import MAX_INT32, is_label, is_qualified, is_subdomain
from orchd.kinds.objects.validate.core.podannotations import MIRROR, annotation_rules, apparmor_agrees, seccomp_agrees
from orchd.kinds.objects.validate.core.podos import operating_system
from orchd.kinds.objects.validate.core.volumes import volumes
from orchd.kinds.objects.validate.names import (
    between,
    ip,
    parse_ip,
    subdomain,
    subdomain_name,
    subdomain_with_underscores,
)
from orchd.kinds.objects.validate.paths import METADATA, SPEC, Path, root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.objects.validate.selectors import labels

_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_RESTART: Final = ("Always", "OnFailure", "Never")


def create(pod: Object, report: Report) -> None:
    metadata_and_spec(pod, report)
    body = fields.spec(pod)
    if body.get("ephemeralContainers"):
        report.forbidden(SPEC / "ephemeralContainers", "cannot be set on create")
    seccomp_agrees(fields.metadata(pod), body, SPEC, report)
    apparmor_agrees(fields.metadata(pod), body, SPEC, report)


def metadata_and_spec(pod: Object, report: Report) -> None:
    """The rules that apply on create and on update."""
    metadata, body = fields.metadata(pod), fields.spec(pod)
    meta.create(pod, report, namespaced=True, name_rule=subdomain_name)
    if metadata.get("annotations"):
        annotation_rules(metadata["annotations"], body, METADATA / "annotations", report)
    if report.dialect(MIRROR) in (metadata.get("annotations") or {}):
        body = _without_claims(body, report)
    _spec(body, metadata.get("name") or "", SPEC, report)
    if body.get("volumes"):
        _image_references(body["volumes"], report)
    if body.get("volumes") and not body.get("serviceAccountName"):
        _no_account_tokens(body["volumes"], report)
    if body.get("schedulingGates") and body.get("nodeName"):
        report.forbidden(SPEC / "nodeName", "cannot be set until all schedulingGates have been cleared")
    trimmed_image(body.get("containers") or [], SPEC / "containers", report)
    if body.get("initContainers"):
        trimmed_image(body["initContainers"], SPEC / "initContainers", report)


def _without_claims(body: Object, report: Report) -> Object:
    """The specification of a mirror pod without its claims of devices, which it must not have."""
    for _ in body.get("resourceClaims") or ():
        report.forbidden(root("[]"), "static pods do not support resource claims")
    return {name: value for name, value in body.items() if name != "resourceClaims"}


def _no_account_tokens(volumes: list[Object], report: Report) -> None:
    """A token volume requires a service account. Templates may omit it: admission sets it."""
    for i, volume in enumerate(volumes):
        for j, part in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if part.get("serviceAccountToken") is not None:
                at = ((SPEC / "volumes")[i] / "projected" / "sources")[j] / "serviceAccountToken"
                report.forbidden(at, "must not be specified when serviceAccountName is not set")


def _image_references(volumes: list[Object], report: Report) -> None:
    """An image volume requires a reference. Templates may omit it: the creator of their pods adds it."""
    for i, volume in enumerate(volumes):
        if volume.get("image") is not None and not volume["image"].get("reference"):
            report.required((SPEC / "volumes")[i] / "image" / "reference")


def template(value: Object | None, at: Path, report: Report) -> None:
    """Validate a pod template; paths of errors in its metadata omit the segment metadata."""
    value = value or {}
    metadata, body = fields.metadata(value), fields.spec(value)
    labels(metadata.get("labels"), at / "labels", report)
    if metadata.get("annotations"):
        meta.annotation_rules(metadata["annotations"], at / "annotations", report)
        annotation_rules(metadata["annotations"], body, at / "annotations", report)
    _spec(body, "", at / "spec", report)
    seccomp_agrees(metadata, body, at / "spec", report)
    apparmor_agrees(metadata, body, at / "spec", report)
    if body.get("ephemeralContainers"):
        report.forbidden(at / "spec" / "ephemeralContainers", "ephemeral containers not allowed in pod template")


def _spec_once(value: Object, name: str, at: Path, report: Report) -> None:
    get = value.get
    names = volumes(value["volumes"], name, at / "volumes", report) if get("volumes") else {}
    listed = get("containers") or []
    containers(listed, names, at / "containers", report)
    if get("initContainers"):
        init_containers(value["initContainers"], listed, names, at / "initContainers", report)
    if get("ephemeralContainers"):
        ephemeral_containers(value, names, at / "ephemeralContainers", report)
    _one_of(get("restartPolicy") or "", _RESTART, at / "restartPolicy", report)
    _one_of(get("dnsPolicy") or "", _DNS, at / "dnsPolicy", report)
    if get("nodeSelector"):
        labels(value["nodeSelector"], at / "nodeSelector", report)
    security.host_network(value, at, report, in_pod=True)
    security.pod_context(get("securityContext") or {}, value, at, report)
    if get("affinity"):
        placement.affinity(value["affinity"], at / "affinity", report)
    _dns(get("dnsConfig"), get("dnsPolicy"), at / "dnsConfig", report)
    _readiness_gates(value, at, report)
    if get("topologySpreadConstraints"):
        placement.spread(value["topologySpreadConstraints"], at / "topologySpreadConstraints", report)
    security.host_process(value, at, report)
    _names_and_classes(value, at, report)


def _spec_now(value: Object, name: str, at: Path, report: Report) -> None:
    get = value.get
    names = volumes(value["volumes"], name, at / "volumes", report) if get("volumes") else {}
    claims = frozenset(claim["name"] for claim in get("resourceClaims") or () if claim.get("name"))
    if get("resourceClaims"):
        podfields.resource_claims(value["resourceClaims"], at / "resourceClaims", report)
    podcontainers.validate(podcontainers.Holder(spec=value, volumes=names, claims=claims), at, report)
    if get("resources") is not None:
        podfields.pod_resources(value, claims, at, report)
    security.host_network(value, at, report, in_pod=bool(name))
    _one_of(get("restartPolicy") or "", _RESTART, at / "restartPolicy", report)
    _one_of(get("dnsPolicy") or "", _DNS, at / "dnsPolicy", report)
    if get("nodeSelector"):
        labels(value["nodeSelector"], at / "nodeSelector", report)
    context = get("securityContext") or {}
    security.pod_context(context, value, at, report)
    podfields.pod_context(context, at / "securityContext", report)
    if get("affinity"):
        placement.affinity(value["affinity"], at / "affinity", report)
    _dns(get("dnsConfig"), get("dnsPolicy"), at / "dnsConfig", report)
    _readiness_gates(value, at, report)
    if get("schedulingGates"):
        podfields.scheduling_gates(value["schedulingGates"], at / "schedulingGates", report)
    if get("topologySpreadConstraints"):
        placement.spread(value["topologySpreadConstraints"], at / "topologySpreadConstraints", report)
    security.host_process(value, at, report)
    if get("hostUsers") is False:
        podfields.own_users(value, at, report)
    if get("hostnameOverride") is not None:
        podfields.hostname_override(value, at, report)
    _names_and_classes(value, at, report)
    podfields.file_volumes(value, at, report)


#: Validates the spec of a pod, ``(spec, name, path, report)``. The name is that of the pod, "" in a template.
_spec = by_release(_spec_once, ("1.28", _spec_now))


def _readiness_gates(value: Object, at: Path, report: Report) -> None:
    for i, gate in enumerate(value.get("readinessGates") or ()):
        is_qualified(gate.get("conditionType") or "", (at / "readinessGates")[i] / "conditionType", report)


def _names_and_classes(value: Object, at: Path, report: Report) -> None:
    """Validate the simpler members of a spec, which come last."""
    get = value.get
    _names(value, at, report)
    if get("tolerations"):
        placement.tolerations(value["tolerations"], at / "tolerations", report)
    if get("hostAliases"):
        _host_aliases(value["hostAliases"], at / "hostAliases", report)
    if get("priorityClassName"):
        is_subdomain(value["priorityClassName"], at / "priorityClassName", report)
    if get("runtimeClassName") is not None:
        is_subdomain(value["runtimeClassName"], at / "runtimeClassName", report)
    if get("preemptionPolicy") is not None:
        preemption_policy(value["preemptionPolicy"], at / "preemptionPolicy", report)
    if get("overhead"):
        resources.requirements({"limits": value["overhead"]}, at / "overhead", report)
    if get("os") is not None:
        operating_system(value, at, report)


def _one_of(value: str, allowed: tuple[str, ...], at: Path, report: Report) -> None:
    if value not in allowed:
        if value:
            report.unsupported(at, value, allowed)
        else:
            report.required(at)


def preemption_policy(value: str, at: Path, report: Report) -> None:
    _one_of(value, ("PreemptLowerPriority", "Never"), at, report)


def _names(value: Object, at: Path, report: Report) -> None:
    get = value.get
    if get("serviceAccountName"):
        is_subdomain(value["serviceAccountName"], at / "serviceAccountName", report)
    if get("nodeName"):
        is_subdomain(value["nodeName"], at / "nodeName", report)
    deadline = get("activeDeadlineSeconds")
    if deadline is not None:
        report.invalids(at / "activeDeadlineSeconds", deadline, between(deadline, 1, MAX_INT32))
    if get("hostname"):
        is_label(value["hostname"], at / "hostname", report)
    if get("subdomain"):
        is_label(value["subdomain"], at / "subdomain", report)


def _dns(config: Object | None, policy: str | None, at: Path, report: Report) -> None:
    if policy == "None":
        if config is None:
            report.required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            report.required(at / "nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
            return
    if not config:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    expanded = report.settings.feature("ExpandedDNSConfig")
    paths, characters = (32, 2048) if expanded else (6, 256)
    if len(servers) > 3:
        report.invalid(at / "nameservers", servers, "must not have more than 3 nameservers")
    for i, server in enumerate(servers):
        if parse_ip(server) is None:
            report.invalid(
                (at / "nameservers")[i],
                server,
                reworded(
                    "must be valid IP address",
                    ("1.35", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
                ),
            )
    if len(searches) > paths:
        report.invalid(at / "searches", searches, f"must not have more than {paths} search paths")
    if len(" ".join(searches)) > characters:
        why = f"must not have more than {characters} characters (including spaces) in the search list"
        report.invalid(at / "searches", searches, why)
    for i, search in enumerate(searches):
        _search(search, (at / "searches")[i], report)
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            report.required((at / "options")[i], "must not be empty")


def _strict_search(search: str, at: Path, report: Report) -> None:
    text = search.removesuffix(".")
    report.invalids(at, text, subdomain(text))


def _relaxed_search(search: str, at: Path, report: Report) -> None:
    """A search path may have underscores, and may be the root alone."""
    if search != ".":
        text = search.removesuffix(".")
        report.invalids(at, text, subdomain_with_underscores(text))


_search = by_release(_strict_search, ("1.34", _relaxed_search))


def _aliases_at_once(listed: list[Object], at: Path, report: Report) -> None:
    for alias in listed:
        address = alias.get("ip") or ""
        if parse_ip(address) is None:
            report.invalid(at / "ip", address, "must be valid IP address")
        for name in alias.get("hostnames") or ():
            report.invalids(at / "hostnames", name, subdomain(name))


def _each_alias(listed: list[Object], at: Path, report: Report) -> None:
    for i, alias in enumerate(listed):
        report.invalids(at[i] / "ip", alias.get("ip") or "", ip(alias.get("ip") or ""))
        for j, name in enumerate(alias.get("hostnames") or ()):
            report.invalids((at[i] / "hostnames")[j], name, subdomain(name))


_host_aliases = by_release(_aliases_at_once, ("1.28", _each_alias))
