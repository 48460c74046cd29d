"""Views of pods for controllers, updated with every change of a pod.

An informer of the server makes an object of stored bytes when one is asked for, and keeps few of them: a pass that
asked for thousands of pods would decode thousands. A view is the part of a pod that controllers decide by, in the shape
of the pod.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from orchd.client.informers import key_of
from orchd.controllers.objects import condition
from orchd.controllers.pods import group_of
from orchd.kinds.fields import annotations_of, spec, status
from orchd.kinds.jsonvalues import Object

_METADATA: Final = (
    "name", "namespace", "uid", "resourceVersion", "labels", "creationTimestamp", "deletionTimestamp",
    "ownerReferences", "finalizers",
)  # fmt: skip
_SPEC: Final = ("nodeName", "hostname", "subdomain", "restartPolicy")
_STATUS: Final = ("phase", "podIP", "podIPs")
_CONTAINERS: Final = ("initContainerStatuses", "containerStatuses")


def view(pod: Object, annotations: Collection[str] = ()) -> Object:
    """The properties of a pod that controllers read: identity, labels, owners, finalizers, node, ports, phase,
    addresses, readiness and restarts; of its annotations only those of these names."""
    metadata = _select_members(pod["metadata"], _METADATA)
    kept = {key: value for key, value in annotations_of(pod).items() if key in annotations}
    if kept:
        metadata["annotations"] = kept
    within = _select_members(spec(pod), _SPEC)
    if "nodeName" not in within and spec(pod).get("affinity"):
        # Holds the intended node of a daemon.
        within["affinity"] = spec(pod)["affinity"]
    ports = [{"ports": each["ports"]} for each in spec(pod).get("containers") or () if each.get("ports")]
    if ports:
        within["containers"] = ports
    now = _select_members(status(pod), _STATUS)
    ready = condition(status(pod), "Ready")
    if ready is not None:
        now["conditions"] = [ready]
    for key in _CONTAINERS:
        restarts = [
            {"restartCount": each["restartCount"]} for each in status(pod).get(key) or () if each.get("restartCount")
        ]
        if restarts:
            now[key] = restarts
    return {"metadata": metadata, "spec": within, "status": now}


def view_with_results(pod: Object, annotations: Collection[str] = ()) -> Object:
    """The view with what the end of a pod is judged by: its conditions, the states of its containers, which of them are
    sidecars, and its grace period."""
    pod_view = view(pod, annotations)
    grace = pod["metadata"].get("deletionGracePeriodSeconds")
    if grace is not None:
        pod_view["metadata"]["deletionGracePeriodSeconds"] = grace
    sidecars = [
        {"name": each["name"], "restartPolicy": each["restartPolicy"]}
        for each in spec(pod).get("initContainers") or ()
        if each.get("restartPolicy")
    ]
    if sidecars:
        pod_view["spec"]["initContainers"] = sidecars
    pod_view["status"].update(_select_members(status(pod), ("conditions", *_CONTAINERS)))
    return pod_view


def _select_members(obj: Object, names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := obj.get(name)) is not None}


class PodsByOwner:
    """Views of the pods that objects of a kind control, and of pods without a controller; `see` makes them. Call
    `observe` for every event of the informer of pods."""

    def __init__(self, kind: str, see: Callable[[Object], Object] = view) -> None:
        self._kind = kind
        self._see = see
        #: By namespace and the controller's uid, "" for none; then by the pod's key.
        self._groups: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        self._group_of: dict[tuple[str, str], tuple[str, str]] = {}

    def observe(self, old: Object | None, new: Object | None) -> None:
        """Follow one change of a pod."""
        pod = new or old
        if pod is None:
            return
        key, group = key_of(pod), None if new is None else group_of(new, self._kind)
        before = self._group_of.get(key)
        if before is not None and before != group:
            del self._group_of[key], self._groups[before][key]
            if not self._groups[before]:
                del self._groups[before]
        if new is not None and group is not None:
            self._group_of[key] = group
            self._groups.setdefault(group, {})[key] = self._see(new)

    def controlled(self, within: str, owner_uid: str) -> Iterable[Object]:
        """The pods of a namespace whose controller has this uid; for "" the pods without a controller."""
        return list(self._groups.get((within, owner_uid), {}).values())

    def count(self, within: str, owner_uid: str) -> int:
        """Number of pods of a controller."""
        return len(self._groups.get((within, owner_uid), ()))
