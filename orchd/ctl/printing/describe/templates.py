"""Containers, volumes and pod templates in descriptions of pods and workloads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from orchd.ctl.printing.describe.sheet import Sheet, moment, plain
from orchd.ctl.printing.describe.volumes import source
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.objects.tabulate.text import NONE, optional_bool, selector

_PROBES = {"livenessProbe": "Liveness", "readinessProbe": "Readiness", "startupProbe": "Startup"}


def pod_template(sheet: Sheet, template: Object | None) -> None:
    """Add the lines about a pod template."""
    sheet.line("Pod Template:")
    if template is None:
        sheet.line("<unset>", 1)
        return
    metadata, spec = fields.metadata(template), fields.spec(template)
    sheet.labels("  Labels", metadata.get("labels"))
    if metadata.get("annotations"):
        sheet.annotations(metadata["annotations"], "  Annotations")
    sheet.rows(spec, {"serviceAccountName": "Service Account"}, 1)
    if spec.get("initContainers"):
        containers(sheet, "Init Containers", spec["initContainers"], indent="  ")
    containers(sheet, "Containers", spec.get("containers") or [], indent="  ")
    volumes(sheet, spec.get("volumes") or [], "  ")
    spread(sheet, spec.get("topologySpreadConstraints") or [], "  ")
    sheet.rows(spec, {"priorityClassName": "Priority Class Name"}, 1)
    placement(sheet, spec, "  ")


def placement(sheet: Sheet, spec: Object, indent: str = "") -> None:
    """Add node selector and tolerations."""
    sheet.labels(f"{indent}Node-Selectors", spec.get("nodeSelector"))
    tolerations = sorted(spec.get("tolerations") or (), key=lambda each: each.get("key", ""))
    sheet.listed(f"{indent}Tolerations", [_toleration(each) for each in tolerations])


def _toleration(each: Object) -> str:
    text = str(each.get("key", "")) + (f"={each['value']}" if each.get("value") else "")
    text += f":{each['effect']}" if each.get("effect") else ""
    if each.get("operator") == "Exists" and not each.get("value"):
        text += " op=Exists" if text else "op=Exists"
    return text + (f" for {each['tolerationSeconds']}s" if each.get("tolerationSeconds") is not None else "")


def spread(sheet: Sheet, constraints: Sequence[Object], indent: str = "") -> None:
    """Add topology spread constraints, if there are any."""
    lines = []
    for each in sorted(constraints, key=lambda each: str(each.get("topologyKey"))):
        text = (
            f"{each.get('topologyKey')}:{each.get('whenUnsatisfiable')} when max skew {each.get('maxSkew')} is exceeded"
        )
        chosen = each.get("labelSelector")
        lines.append(text if chosen is None else f"{text} for selector {selector(chosen)}")
    if lines:
        sheet.listed(f"{indent}Topology Spread Constraints", lines)


def volumes(sheet: Sheet, listed: Sequence[Object], indent: str = "") -> None:
    if not listed:
        sheet.line(f"{indent}Volumes:\t{NONE}")
        return
    sheet.line(f"{indent}Volumes:")
    for each in listed:
        sheet.line(f"{' ' if indent else ''}{each['name']}:", 1)
        source(sheet, each)


def containers(
    sheet: Sheet,
    title: str,
    listed: Sequence[Object],
    statuses: Sequence[Object] = (),
    *,
    indent: str = "",
    pod: Object | None = None,
) -> None:
    """Add containers, with their states where there are `statuses`. Variables are resolved from fields of `pod`."""
    sheet.line(f"{indent}{title}:{'' if listed else f' {NONE}'}")
    states = {each.get("name"): each for each in statuses}
    for each in listed:
        state = states.get(each["name"])
        sheet.line(f"{' ' if indent else ''}{each['name']}:", 1)
        _image_and_ports(sheet, each, state)
        for key, name in (("command", "Command"), ("args", "Args")):
            if each.get(key):
                sheet.line(f"{name}:", 2)
                for line in (line for text in each[key] for line in text.split("\n")):
                    sheet.line(line, 3)
        if state is not None:
            _state(sheet, state)
        resources(sheet, each.get("resources") or {}, 2)
        for key, name in _PROBES.items():
            if each.get(key):
                sheet.row(name, _probe(each[key]), 2)
        _environment(sheet, each, pod)
        _mounts(sheet, each)


def _image_and_ports(sheet: Sheet, container: Object, state: Object | None) -> None:
    if state is not None:
        sheet.row("Container ID", state.get("containerID", ""), 2)
    sheet.row("Image", container.get("image", ""), 2)
    if state is not None:
        sheet.row("Image ID", state.get("imageID", ""), 2)
    for key, title in (("containerPort", "Port"), ("hostPort", "Host Port")):
        ports = [
            f"{each.get(key, 0)}/{each.get('protocol', 'TCP')}" + (f" ({each['name']})" if each.get("name") else "")
            for each in container.get("ports") or ()
        ]
        sheet.row(title + "s" * (len(ports) > 1), ", ".join(ports) or NONE, 2)
    seccomp(sheet, fields.mapping(container, "securityContext", "seccompProfile"), 2)


def seccomp(sheet: Sheet, profile: Object, level: int = 0) -> None:
    sheet.rows(profile, {"type": "SeccompProfile"}, level)
    sheet.rows(profile, {"localhostProfile": "LocalhostProfile"}, level + (level > 0))


def resources(sheet: Sheet, values: Object, level: int) -> None:
    """Add limits and requests."""
    for key in ("limits", "requests"):
        if values.get(key):
            sheet.line(f"{key.capitalize()}:", level)
            for name, amount in sorted(values[key].items()):
                sheet.row(name, amount, level + 1)


def _state(sheet: Sheet, status: Object) -> None:
    _one_state(sheet, "State", status.get("state") or {})
    if fields.mapping(status, "lastState", "terminated"):
        _one_state(sheet, "Last State", status["lastState"])
    sheet.row("Ready", optional_bool(bool(status.get("ready"))), 2)
    sheet.row("Restart Count", status.get("restartCount", 0), 2)


def _one_state(sheet: Sheet, title: str, state: Object) -> None:
    name = next((each for each in ("running", "waiting", "terminated") if each in state), "waiting")
    more = state.get(name) or {}
    sheet.row(title, name.capitalize(), 2)
    if name == "terminated":
        sheet.rows(more, {"reason": "Reason", "message": "Message"}, 3)
        sheet.row("Exit Code", more.get("exitCode", 0), 3)
        if more.get("signal"):
            sheet.row("Signal", more["signal"], 3)
    elif name == "waiting":
        sheet.rows(more, {"reason": "Reason"}, 3)
    if name != "waiting":
        sheet.row("Started", moment(more.get("startedAt")), 3)
    if name == "terminated":
        sheet.row("Finished", moment(more.get("finishedAt")), 3)


def _probe(probe: Object) -> str:
    timing = (
        f"delay={probe.get('initialDelaySeconds', 0)}s timeout={probe.get('timeoutSeconds', 0)}s"
        f" period={probe.get('periodSeconds', 0)}s #success={probe.get('successThreshold', 0)}"
        f" #failure={probe.get('failureThreshold', 0)}"
    )
    if "exec" in probe:
        return f"exec {plain(probe['exec'].get('command') or [])} {timing}"
    if "httpGet" in probe:
        get = probe["httpGet"]
        path = get.get("path", "")
        path = path if path.startswith("/") or not path else f"/{path}"
        return f"http-get {get.get('scheme', 'HTTP').lower()}://{get.get('host', '')}:{get.get('port')}{path} {timing}"
    if "tcpSocket" in probe:
        return f"tcp-socket {probe['tcpSocket'].get('host', '')}:{probe['tcpSocket'].get('port')} {timing}"
    if "grpc" in probe:
        return f"grpc <pod>:{probe['grpc'].get('port')} {probe['grpc'].get('service') or ''} {timing}"
    return f"unknown {timing}"


def _environment(sheet: Sheet, container: Object, pod: Object | None) -> None:
    if container.get("envFrom"):
        sheet.line("Environment Variables from:", 2)
        for each in container["envFrom"]:
            key, kind = ("configMapRef", "ConfigMap") if "configMapRef" in each else ("secretRef", "Secret")
            named = each.get(key) or {}
            prefix = f" with prefix '{each['prefix']}'" if each.get("prefix") else ""
            sheet.line(f"{named.get('name', '')}\t{kind}{prefix}\tOptional: {plain(bool(named.get('optional')))}", 3)
    sheet.line("Environment:" + ("" if container.get("env") else f"\t{NONE}"), 2)
    for each in container.get("env") or ():
        if each.get("valueFrom"):
            _reference(sheet, each["name"], each["valueFrom"], container, pod)
        else:
            first, *rest = (each.get("value") or "").split("\n")
            sheet.row(each["name"], first, 3)
            for line in rest:
                sheet.line(f"\t{line}", 3)


def _reference(sheet: Sheet, name: str, value: Object, container: Object, pod: Object | None) -> None:
    if "fieldRef" in value:
        path = value["fieldRef"].get("fieldPath", "")
        sheet.row(name, f"{_field(pod, path)} ({value['fieldRef'].get('apiVersion', 'v1')}:{path})", 3)
    elif "resourceFieldRef" in value:
        chosen = value["resourceFieldRef"]
        sheet.row(name, f"{_amount(container, chosen)} ({chosen.get('resource')})", 3)
    for key, of in (("secretKeyRef", "in secret"), ("configMapKeyRef", "of config map")):
        if key in value:
            each = value[key]
            text = f"<set to the key '{each.get('key')}' {of} '{each.get('name')}'>"
            sheet.row(name, f"{text}\tOptional: {plain(bool(each.get('optional')))}", 3)


def _field(pod: Object | None, path: str) -> str:
    """The value of a field of a pod's metadata; "" for other fields."""
    metadata = fields.metadata(pod)
    where, bracket, key = path.partition("['")
    value = metadata.get(where.removeprefix("metadata.")) if where.startswith("metadata.") else None
    if bracket:
        value = (value or {}).get(key.removesuffix("']"))
    if isinstance(value, Mapping):
        return "\n".join(f"{key}={json.dumps(inner)}" for key, inner in sorted(value.items()))
    return str(value or "")


def _amount(container: Object, chosen: Object) -> str:
    """A limit or request of a container in units of the divisor."""
    part, _, name = str(chosen.get("resource", "")).partition(".")
    amount = Quantity.parse(fields.mapping(container, "resources", part).get(name, "0"))
    divisor = Quantity.parse(chosen.get("divisor") or "0")
    unit = divisor if divisor.nano else Quantity.of(1)
    text = str(-(-amount.nano // unit.nano))
    return "node allocatable" if text == "0" and chosen.get("resource") in ("limits.cpu", "limits.memory") else text


def _mounts(sheet: Sheet, container: Object) -> None:
    mounts: list[Any] = sorted(container.get("volumeMounts") or (), key=lambda each: str(each.get("mountPath")))
    sheet.line("Mounts:" + ("" if mounts else f"\t{NONE}"), 2)
    for each in mounts:
        how = "ro" if each.get("readOnly") else "rw"
        how += f",path={json.dumps(each['subPath'])}" if each.get("subPath") else ""
        sheet.line(f"{each.get('mountPath')} from {each.get('name')} ({how})", 3)
    devices: list[Any] = sorted(container.get("volumeDevices") or (), key=lambda each: str(each.get("devicePath")))
    if devices:
        sheet.line("Devices:" + ("" if mounts else f"\t{NONE}"), 2)
    for each in devices:
        sheet.line(f"{each.get('devicePath')} from {each.get('name')}", 3)
