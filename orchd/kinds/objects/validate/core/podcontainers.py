"""Validation of the containers of a pod in releases where init containers may keep running, with the pod's claims and
user namespace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.core import environment, mounts, podfields, probes, resources, security
from orchd.kinds.objects.validate.core.containers import ephemeral_members, host_ports, ports, pull_policy
from orchd.kinds.objects.validate.core.field_rules import is_label
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_HOOKS_AND_PROBES: Final = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The properties of a pod that rules for its containers depend on: its spec, its valid volumes by name, the names
    of its claims."""

    spec: Object
    volumes: dict[str, Object]
    claims: frozenset[str]


def validate(pod: Holder, at: Path, report: Report) -> None:
    """Validate all containers of a pod; `at` is the path of its spec."""
    _ordinary(pod, at / "containers", report)
    _init(pod, at / "initContainers", report)
    _ephemeral(pod, at / "ephemeralContainers", report)


def _ordinary(pod: Holder, at: Path, report: Report) -> None:
    listed = pod.spec.get("containers") or []
    if not listed:
        report.required(at)
        return
    names: set[str] = set()
    for i, container in enumerate(listed):
        _common(container, pod, at[i], report)
        name = container.get("name") or ""
        if name in names:
            report.duplicate(at[i] / "name", name)
        names.add(name)
        _hooks_and_probes(container, pod, at[i], report)
        podfields.restart_policy(container, at[i], report)
    taken: set[str] = set()
    for i, container in enumerate(listed):
        host_ports(container, taken, at[i], report)


def _init(pod: Holder, at: Path, report: Report) -> None:
    names = {container.get("name") or "" for container in pod.spec.get("containers") or ()}
    for i, container in enumerate(pod.spec.get("initContainers") or ()):
        _common(container, pod, at[i], report)
        podfields.restart_policy(container, at[i], report, init=True)
        name = container.get("name") or ""
        if name in names:
            report.duplicate(at[i] / "name", name)
        elif name:
            names.add(name)
        # Init containers run one after the other. The path is that of the first one, whichever it is.
        host_ports(container, set(), at[0], report)
        if container.get("restartPolicy") == "Always":
            _hooks_and_probes(container, pod, at[i], report)
            continue
        for member in _HOOKS_AND_PROBES:
            if container.get(member) is not None:
                report.forbidden(at[i] / member, "may not be set for init containers without restartPolicy=Always")


def _ephemeral(pod: Holder, at: Path, report: Report) -> None:
    listed = pod.spec.get("ephemeralContainers")
    if not listed:
        return
    others = {each.get("name") for member in ("containers", "initContainers") for each in pod.spec.get(member) or ()}
    names = set(others)
    for i, container in enumerate(listed):
        _common(container, pod, at[i], report)
        image = container.get("image") or ""
        if image != image.strip():
            report.invalid(at[i] / "image", image, "must not have leading or trailing whitespace")
        name, target = container.get("name") or "", container.get("targetContainerName") or ""
        if name in names:
            report.duplicate(at[i] / "name", name)
        names.add(name)
        if target and target not in others:
            report.not_found(at[i] / "targetContainerName", target)
        ephemeral_members(container, at[i], report)


def _common(container: Object, pod: Holder, at: Path, report: Report) -> None:
    """The rules for containers of any sort."""
    get = container.get
    if get("name"):
        is_label(container["name"], at / "name", report)
    else:
        report.required(at / "name")
    if not get("image"):
        report.required(at / "image")
    policy = get("terminationMessagePolicy") or ""
    if not policy:
        report.required(at / "terminationMessagePolicy")
    elif policy not in _MESSAGE_POLICIES:
        report.unsupported(at / "terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    if get("ports"):
        ports(container["ports"], at / "ports", report)
    if get("env"):
        environment.variables(container["env"], at / "env", report)
    if get("envFrom"):
        environment.imports(container["envFrom"], at / "envFrom", report)
    if get("volumeMounts"):
        mounts.mounts(container, pod.volumes, at / "volumeMounts", report)
    if get("volumeDevices"):
        mounts.devices(container, pod.volumes, at / "volumeDevices", report)
    pull_policy(container, at / "imagePullPolicy", report)
    if get("resources"):
        resources.requirements(container["resources"], at / "resources", report)
        if container["resources"].get("claims"):
            podfields.container_claims(
                container["resources"]["claims"], pod.claims, at / "resources" / "claims", report
            )
    if get("resizePolicy"):
        podfields.resize_policy(
            container["resizePolicy"], pod.spec.get("restartPolicy") or "", at / "resizePolicy", report
        )
    context = get("securityContext")
    if context:
        own_users = pod.spec.get("hostUsers") is False
        security.container_context(context, at / "securityContext", report, unmasks=own_users)
        podfields.container_context(context, at / "securityContext", report)


def _hooks_and_probes(container: Object, pod: Holder, at: Path, report: Report) -> None:
    get = container.get
    if get("lifecycle") is not None:
        probes.hooks(container["lifecycle"], pod.spec.get("terminationGracePeriodSeconds"), at / "lifecycle", report)
    for member in _HOOKS_AND_PROBES[1:]:
        probe = get(member)
        if probe is None:
            continue
        probes.probe(probe, at / member, report)
        if member == "readinessProbe":
            grace = probe.get("terminationGracePeriodSeconds")
            if grace is not None:
                why = "must not be set for readinessProbes"
                report.invalid(at / member / "terminationGracePeriodSeconds", grace, why)
        elif probe.get("successThreshold", 1) != 1:
            report.invalid(at / member / "successThreshold", probe["successThreshold"], "must be 1")
