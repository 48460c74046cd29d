"""Validation of the containers of a pod: ordinary, init and ephemeral ones. `podcontainers` has the order of later
releases."""

from __future__ import annotations

from typing import Final

from orchd.kinds.gotext.structs import dump
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.core import environment, mounts, probes, resources, security
from orchd.kinds.objects.validate.names import label, port, port_name
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_PULL: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICY: Final = "must be 'File' or 'FallbackToLogsOnError'"
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
#: Members of an ordinary container that an ephemeral one must not have, in field order.
_NOT_EPHEMERAL: Final = (
    "ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy",
    "restartPolicy", "restartPolicyRules",
)  # fmt: skip
#: Those of them that count as absent if they are empty.
_COLLECTED: Final = ("ports", "resources", "resizePolicy", "restartPolicyRules")


def containers(
    listed: list[Object], volumes: dict[str, Object], at: Path, report: Report, *, init: bool = False
) -> None:
    """Validate containers. Host ports must be unique among ordinary containers; init containers run one after the
    other."""
    if not listed:
        report.required(at)
        return
    seen: set[str] = set()
    taken: set[str] = set()
    on_host = False
    for i, container in enumerate(listed):
        here = at[i]
        name = container.get("name") or ""
        if not name:
            report.required(here / "name")
        else:
            wrong = label(name)
            if wrong:
                report.invalids(here / "name", name, wrong)
        if name in seen:
            report.duplicate(here / "name", name)
        seen.add(name)
        container_body(container, volumes, here, report)
        on_host = on_host or bool(container.get("ports"))
    if on_host:
        for i, container in enumerate(listed):
            host_ports(container, set() if init else taken, at[i], report)


def container_body(container: Object, volumes: dict[str, Object], at: Path, report: Report) -> None:
    """Validate everything of a container except its name."""
    get = container.get
    if not get("image"):
        report.required(at / "image")
    _probes(container, at, report)
    if get("ports"):
        ports(container["ports"], at / "ports", report)
    if get("env"):
        environment.variables(container["env"], at / "env", report)
    if get("envFrom"):
        environment.imports(container["envFrom"], at / "envFrom", report)
    if get("volumeMounts"):
        mounts.mounts(container, volumes, at / "volumeMounts", report)
    if get("volumeDevices"):
        mounts.devices(container, volumes, at / "volumeDevices", report)
    pull_policy(container, at / "imagePullPolicy", report)
    if get("resources"):
        resources.requirements(container["resources"], at / "resources", report)
    if get("securityContext"):
        security.container_context(container["securityContext"], at / "securityContext", report)


def pull_policy(container: Object, at: Path, report: Report) -> None:
    policy = container.get("imagePullPolicy") or ""
    if not policy:
        report.required(at)
    elif policy not in _PULL:
        report.unsupported(at, policy, _PULL)


def _probes(container: Object, at: Path, report: Report) -> None:
    get = container.get
    liveness, readiness, startup = get("livenessProbe"), get("readinessProbe"), get("startupProbe")
    if get("lifecycle") is not None:
        probes.lifecycle(container["lifecycle"], at / "lifecycle", report)
    if liveness is not None:
        probes.probe(liveness, at / "livenessProbe", report)
    if readiness is not None and readiness.get("terminationGracePeriodSeconds") is not None:
        grace = readiness["terminationGracePeriodSeconds"]
        why = "must not be set for readinessProbes"
        report.invalid(at / "readinessProbe" / "terminationGracePeriodSeconds", grace, why)
    # The reference validates a startup probe twice.
    for member, value in (("livenessProbe", liveness), ("startupProbe", startup)):
        if startup is not None:
            probes.probe(startup, at / "startupProbe", report)
        if value is not None and value.get("successThreshold", 1) != 1:
            report.invalid(at / member / "successThreshold", value["successThreshold"], "must be 1")
    policy = get("terminationMessagePolicy") or ""
    if policy not in ("File", "FallbackToLogsOnError"):
        if policy:
            report.invalid(at / "terminationMessagePolicy", policy, _MESSAGE_POLICY)
        else:
            report.required(at / "terminationMessagePolicy", _MESSAGE_POLICY)
    if readiness is not None:
        probes.probe(readiness, at / "readinessProbe", report)


def ports(listed: list[Object], at: Path, report: Report) -> None:
    names: set[str] = set()
    for i, entry in enumerate(listed):
        name = entry.get("name") or ""
        if name:
            wrong = port_name(name)
            if wrong:
                report.invalids(at[i] / "name", name, wrong)
            elif name in names:
                report.duplicate(at[i] / "name", name)
            else:
                names.add(name)
        number, host = entry.get("containerPort") or 0, entry.get("hostPort") or 0
        if not number:
            report.required(at[i] / "containerPort")
        elif not 1 <= number <= 65535:
            report.invalids(at[i] / "containerPort", number, port(number))
        if host and not 1 <= host <= 65535:
            report.invalids(at[i] / "hostPort", host, port(host))
        protocol = entry.get("protocol") or ""
        if protocol not in _PROTOCOLS:
            if protocol:
                report.unsupported(at[i] / "protocol", protocol, _PROTOCOLS)
            else:
                report.required(at[i] / "protocol")


def host_ports(container: Object, taken: set[str], at: Path, report: Report) -> None:
    for i, entry in enumerate(container.get("ports") or ()):
        if entry.get("hostPort"):
            key = f"{entry.get('protocol') or ''}/{entry.get('hostIP') or ''}/{entry['hostPort']}"
            if key in taken:
                report.duplicate((at / "ports")[i] / "hostPort", key)
            taken.add(key)


def init_containers(
    listed: list[Object], others: list[Object], volumes: dict[str, Object], at: Path, report: Report
) -> None:
    if not listed:
        return
    containers(listed, volumes, at, report, init=True)
    names = {c.get("name") for c in others if c.get("name")}
    for i, container in enumerate(listed):
        name = container.get("name") or ""
        if name in names:
            report.duplicate(at[i] / "name", name)
        if name:
            names.add(name)
        for member, type_name in (
            ("lifecycle", "core.Lifecycle"),
            ("livenessProbe", "core.Probe"),
            ("readinessProbe", "core.Probe"),
            ("startupProbe", "core.Probe"),
        ):
            if container.get(member) is not None:
                report.invalid(
                    at[i] / member, dump(type_name, container[member]), "must not be set for init containers"
                )


def ephemeral_containers(spec: Object, volumes: dict[str, Object], at: Path, report: Report) -> None:
    others = {c.get("name") for listed in ("containers", "initContainers") for c in spec.get(listed) or ()}
    names = set(others)
    for i, container in enumerate(spec["ephemeralContainers"]):
        here = at[i]
        target, name = container.get("targetContainerName") or "", container.get("name") or ""
        if target and target not in others:
            report.not_found(here / "targetContainerName", target)
        if not name:
            report.required(here, "ephemeralContainer requires a name")
            continue
        containers([container], volumes, here, report)
        trimmed_image([container], here, report)
        if name in names:
            report.duplicate(here / "name", name)
        names.add(name)
        ephemeral_members(container, here, report)


def ephemeral_members(container: Object, at: Path, report: Report) -> None:
    """Reject what an ephemeral container must not have."""
    words = "cannot be set for an Ephemeral Container"
    for member in _NOT_EPHEMERAL:
        if container.get(member) if member in _COLLECTED else container.get(member) is not None:
            report.forbidden(at / member, words)
    for j, mount in enumerate(container.get("volumeMounts") or ()):
        for member in ("subPath", "subPathExpr"):
            if mount.get(member):
                report.forbidden((at / "volumeMounts")[j] / member, words)


def trimmed_image(listed: list[Object], at: Path, report: Report) -> None:
    """Surrounding white space in an image: an error in a pod, accepted in a template."""
    for i, container in enumerate(listed):
        image = container.get("image") or ""
        if image and (image[0].isspace() or image[-1].isspace()):
            report.invalid(at[i] / "image", image, "must not have leading or trailing whitespace")
