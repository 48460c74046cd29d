"""Descriptions of common kinds: pods, nodes, deployments, config maps, secrets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from orchd.ctl.cluster.api import Api
from orchd.ctl.objects.pods import pods_on, selector_of
from orchd.ctl.printing import output
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity

#: Where values begin in a line.
WIDTH: Final = 17


def row(title: str, value: Any, depth: int = 0) -> str:
    """A title and its value on one line."""
    return f"{'  ' * depth}{(title + ':').ljust(WIDTH)}{value if value not in (None, '', [], {}) else '<none>'}"


def _conditions(obj: Object) -> list[str]:
    conditions = fields.status(obj).get("conditions") or ()
    if not conditions:
        return []
    rows = [["Type", "Status", "Reason", "Message"]]
    rows += [[str(each.get(key, "")) for key in ("type", "status", "reason", "message")] for each in conditions]
    return ["Conditions:", *(f"  {line}" for line in output.align(rows))]


def _containers(title: str, containers: list[Object], statuses: list[Object]) -> list[str]:
    if not containers:
        return []
    states = {each["name"]: each for each in statuses}
    lines = [f"{title}:"]
    for each in containers:
        state = states.get(each["name"]) or {}
        lines.append(f"  {each['name']}:")
        lines.append(row("Image", each.get("image"), 2))
        ports = ", ".join(
            f"{port.get('containerPort')}/{port.get('protocol', 'TCP')}" for port in each.get("ports") or ()
        )
        lines.append(row("Ports", ports, 2))
        for key, name in (("command", "Command"), ("args", "Args")):
            if each.get(key):
                lines.append(row(name, " ".join(map(str, each[key])), 2))
        if state:
            lines.append(row("State", _state(state.get("state") or {}), 2))
            if state.get("lastState"):
                lines.append(row("Last State", _state(state["lastState"]), 2))
            lines.append(row("Ready", state.get("ready", False), 2))
            lines.append(row("Restarts", state.get("restartCount", 0), 2))
        for key in ("limits", "requests"):
            values = (each.get("resources") or {}).get(key) or {}
            if values:
                lines.append(row(key.capitalize(), ", ".join(f"{k}={v}" for k, v in values.items()), 2))
        lines.append(row("Environment", ", ".join(env["name"] for env in each.get("env") or ()), 2))
        mounts = [f"{mount['mountPath']} from {mount['name']}" for mount in each.get("volumeMounts") or ()]
        lines.append(row("Mounts", ", ".join(mounts), 2))
    return lines


def _state(state: Object) -> str:
    for name, more in state.items():
        reason = f" ({more['reason']})" if more.get("reason") else ""
        code = f", exit code {more['exitCode']}" if "exitCode" in more else ""
        return f"{name.capitalize()}{reason}{code}"
    return "Waiting"


async def _pod(api: Api, pod: Object) -> list[str]:
    spec, status = pod["spec"], fields.status(pod)
    owners = ", ".join(f"{each['kind']}/{each['name']}" for each in pod["metadata"].get("ownerReferences") or ())
    lines = [
        row("Node", spec.get("nodeName")),
        row("Service Account", spec.get("serviceAccountName")),
        row("Priority", spec.get("priority", 0)),
        row("Start Time", status.get("startTime")),
        row("Status", "Terminating" if pod["metadata"].get("deletionTimestamp") else status.get("phase")),
        row("Reason", status["reason"]) if status.get("reason") else "",
        row("IP", status.get("podIP")),
        row("Controlled By", owners),
    ]
    lines = [line for line in lines if line]
    statuses = status.get("containerStatuses") or []
    lines += _containers("Init Containers", spec.get("initContainers") or [], status.get("initContainerStatuses") or [])
    lines += _containers("Containers", spec.get("containers") or [], statuses)
    lines += _conditions(pod)
    lines += ["Volumes:", *(_volume(each) for each in spec.get("volumes") or ())] if spec.get("volumes") else []
    lines.append(row("QoS Class", status.get("qosClass")))
    lines.append(row("Node-Selectors", ",".join(f"{k}={v}" for k, v in (spec.get("nodeSelector") or {}).items())))
    lines.append(row("Tolerations", "; ".join(_toleration(each) for each in spec.get("tolerations") or ())))
    return lines


def _volume(volume: Object) -> str:
    kinds = [key for key in volume if key != "name"]
    return f"  {volume['name']}: {kinds[0] if kinds else 'emptyDir'}"


def _toleration(each: Object) -> str:
    text = str(each.get("key") or "*") + (f"={each['value']}" if each.get("value") else "")
    text += f":{each['effect']}" if each.get("effect") else ""
    return text + (f" for {each['tolerationSeconds']}s" if "tolerationSeconds" in each else "")


async def _node(api: Api, node: Object) -> list[str]:
    spec, status = node["spec"], fields.status(node)
    taints = [f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in spec.get("taints") or ()]
    lines = [row("Taints", ", ".join(taints)), row("Unschedulable", spec.get("unschedulable", False))]
    lines += _conditions(node)
    lines.append(
        row("Addresses", ", ".join(f"{each['type']} {each['address']}" for each in status.get("addresses") or ()))
    )
    for key in ("capacity", "allocatable"):
        amounts = sorted((status.get(key) or {}).items())
        lines += [f"{key.capitalize()}:", *(f"  {name}: {value}" for name, value in amounts)] if amounts else []
    info = [f"  {name}: {value}" for name, value in (status.get("nodeInfo") or {}).items() if value]
    lines += ["System Info:", *info] if info else []
    pods = await pods_on(api, node["metadata"]["name"])
    lines.append(row("Pods", f"{len(pods)} in total"))
    for pod in pods:
        lines.append(f"  {pod['metadata']['namespace']}/{pod['metadata']['name']}  {_requests(pod)}".rstrip())
    return lines


def _requests(pod: Object) -> str:
    sums: dict[str, float] = {}
    for container in pod["spec"].get("containers") or ():
        for name, text in fields.mapping(container, "resources", "requests").items():
            sums[name] = sums.get(name, 0.0) + Quantity.parse(text).milli / 1000
    return " ".join(f"{name}={value:g}" for name, value in sorted(sums.items()))


async def _deployment(api: Api, obj: Object) -> list[str]:
    spec, status = obj["spec"], fields.status(obj)
    counts = {
        "desired": spec.get("replicas", 1), "updated": status.get("updatedReplicas", 0),
        "total": status.get("replicas", 0),
        "available": status.get("availableReplicas", 0), "unavailable": status.get("unavailableReplicas", 0),
    }  # fmt: skip
    strategy = spec.get("strategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    lines = [
        row("Selector", selector_of(obj)),
        row("Replicas", " | ".join(f"{value} {key}" for key, value in counts.items())),
        row("Strategy", strategy.get("type")),
    ]
    if rolling:
        lines.append(
            row(
                "Rolling Update",
                f"{rolling.get('maxUnavailable')} max unavailable, {rolling.get('maxSurge')} max surge",
            )
        )
    template = spec["template"]
    lines += ["Pod Template:", f"  Labels: {', '.join(f'{k}={v}' for k, v in fields.labels(template).items())}"]
    lines += [f"  {line}" for line in _containers("Containers", template["spec"].get("containers") or [], [])]
    lines += _conditions(obj)
    resource = await api.discovery.find("replicasets.apps")
    scoped = Api(api.client, api.clock, obj["metadata"]["namespace"], api.warn)
    scoped.discovery = api.discovery
    for item in (await scoped.list(resource)).get("items") or ():
        if any(each.get("uid") == obj["metadata"]["uid"] for each in item["metadata"].get("ownerReferences") or ()):
            present, desired = fields.status(item).get("replicas", 0), item["spec"].get("replicas", 0)
            lines.append(row("Replica Set", f"{item['metadata']['name']} ({present}/{desired} replicas created)"))
    return lines


async def _config_map(api: Api, obj: Object) -> list[str]:
    """Keys as they are, and texts with all their lines."""
    lines = ["", "Data", "===="]
    for key, text in sorted((obj.get("data") or {}).items()):
        lines += [f"{key}:", "----", *str(text).split("\n"), ""]
    lines += ["", "BinaryData", "===="]
    return lines + [
        f"{key}: {_decoded_size(text)} bytes" for key, text in sorted((obj.get("binaryData") or {}).items())
    ]


async def _secret(api: Api, obj: Object) -> list[str]:
    """Sizes of values, never the values."""
    lines = [row("Type", obj.get("type")), "", "Data", "===="]
    return lines + [f"{key}:  {_decoded_size(text)} bytes" for key, text in sorted((obj.get("data") or {}).items())]


def _decoded_size(text: str) -> int:
    return len(text) // 4 * 3 - text[-2:].count("=")


#: Lines about an object of a kind, after the head and before the events.
Section = Callable[[Api, Object], Awaitable[list[str]]]
SECTIONS: Final[dict[str, Section]] = {
    "Pod": _pod,
    "Node": _node,
    "Deployment": _deployment,
    "ConfigMap": _config_map,
    "Secret": _secret,
}
