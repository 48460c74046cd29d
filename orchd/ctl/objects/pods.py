"""Pods and containers that a command means, and pods on a node."""

from __future__ import annotations

from collections.abc import Callable

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import DURATION, F
from orchd.ctl.objects.targets import Target, parse_targets
from orchd.ctl.printing import output
from orchd.kinds.jsonvalues import Object

#: Seconds between two looks at a pod that is waited for.
_LOOK = 0.5
pod_wait_option: Callable[[F], F] = click.option(
    "--pod-running-timeout",
    "pod_wait",
    type=DURATION,
    default=0.0,
    help="Longest wait for a pod of TYPE/NAME that runs; default: none.",
)


async def pod_named(api: Api, pods: Resource, word: str, seconds: float = 0.0) -> Object:
    """The pod of POD or TYPE/NAME. Raises ApiError and CommandError; see `pod_of` for `seconds`."""
    if "/" not in word:
        return await api.get(pods, word)
    [target] = await parse_targets(api, [word])
    return await pod_of(api, target, seconds)


async def pods_of(api: Api, selector: str, namespace: str = "") -> list[Object]:
    """Pods by name; `namespace` is "" for the command's own."""
    pods = await api.discovery.find("pods")
    listed = await api.list(pods, query={"labelSelector": selector}, namespace=namespace)
    return sorted(listed.get("items") or (), key=lambda pod: pod["metadata"]["name"])


async def pod_of(api: Api, target: Target, seconds: float = 0.0) -> Object:
    """A pod itself, or one of those that an object's selector chooses; running ones first. Waits up to `seconds` for a
    pod that runs. Raises ApiError and CommandError."""
    end = api.clock.seconds() + seconds
    while True:
        try:
            pod = await _pod_now(api, target)
        except CommandError:
            if api.clock.seconds() >= end:
                raise
        else:
            if (pod.get("status") or {}).get("phase") == "Running" or api.clock.seconds() >= end:
                return pod
        await api.sleep(_LOOK)


async def _pod_now(api: Api, target: Target) -> Object:
    obj = await api.get(target.resource, target.name, target.namespace)
    if target.resource.kind == "Pod" and not target.resource.group:
        return obj
    selector = selector_of(obj)
    if not selector:
        raise CommandError(f"{target.label} has no pods: name a pod")
    pods_of_selector = await pods_of(api, selector)
    if not pods_of_selector:
        raise CommandError(f"{target.label} has no pods yet: see its events with describe")
    return min(pods_of_selector, key=lambda pod: (pod.get("status") or {}).get("phase") != "Running")


def selector_of(obj: Object) -> str:
    """The label selector of a workload as text; "" without one."""
    selector = (obj.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels") if "matchLabels" in selector or "matchExpressions" in selector else selector
    parts = [f"{key}={value}" for key, value in sorted((labels or {}).items())]
    for each in selector.get("matchExpressions") or ():
        key, values = each["key"], ",".join(each.get("values") or ())
        forms = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append(forms[each["operator"]])
    return ",".join(parts)


def containers_of(pod: Object, container: str, every: bool) -> list[str]:
    """Names of containers: the given one, all with `every`, else the pod's default. Raises CommandError."""
    spec, metadata = pod["spec"], pod["metadata"]
    names = [
        each["name"] for key in ("initContainers", "containers", "ephemeralContainers") for each in spec.get(key) or ()
    ]
    if every:
        return names
    if container:
        if container not in names:
            raise CommandError(f"container {container} is not in pod {metadata['name']}: it has {', '.join(names)}")
        return [container]
    own = [each["name"] for each in spec["containers"]]
    chosen = [
        value
        for key, value in (metadata.get("annotations") or {}).items()
        if key.endswith("/default-container") and value in own
    ]
    if not chosen and len(own) > 1:
        output.note(f"Defaulted container {own[0]} of: {', '.join(names)}")
    return chosen[:1] or own[:1]


async def pods_on(api: Api, node: str) -> list[Object]:
    """Pods that are bound to a node and have not ended."""
    pods = await api.discovery.find("pods")
    fields = f"spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed"
    listed = await api.list(pods, everywhere=True, query={"fieldSelector": fields})
    bound: list[Object] = list(listed.get("items") or ())
    return bound
