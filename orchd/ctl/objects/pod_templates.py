"""Location of the pod template in each kind of workload, and changes of objects by a function."""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Callable
from typing import Any, Final

from orchd.ctl.cluster.api import MERGE, Api
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.differences import difference
from orchd.ctl.objects.targets import Target
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object

_TEMPLATE: Final = ("spec", "template")
#: The path of the pod template by kind; that of a pod is the pod itself.
_PATHS: Final[dict[str, tuple[str, ...]]] = {
    "Pod": (), "PodTemplate": ("template",), "CronJob": ("spec", "jobTemplate", "spec", "template"),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"), _TEMPLATE),
}  # fmt: skip
#: Attempts to change an object after conflicts.
_ATTEMPTS: Final = 5
#: Changes an object in place; it is a copy.
Edit = Callable[[Object], None]


def pod_template(obj: Object) -> Object:
    """The pod template inside an object, the same mapping. Raises CommandError for kinds without one."""
    kind = str(obj.get("kind"))
    if kind not in _PATHS:
        raise CommandError(
            f"{kind} has no pod template: name a pod, deployment, stateful set, daemon set, job or cron job"
        )
    part: Any = obj
    for key in _PATHS[kind]:
        part = part.setdefault(key, {})
    template: Object = part
    return template


def containers(obj: Object) -> list[Object]:
    """The containers of an object's pod template, those for initialization included."""
    spec = pod_template(obj).get("spec") or {}
    return [each for key in ("initContainers", "containers") for each in spec.get(key) or ()]


async def change(api: Api, target: Target, edit: Edit, *, dry_run: str) -> tuple[Object, bool]:
    """Change an object with `edit`; returns the object, and True if it was changed. With ``dry_run`` "client" nothing
    is sent. Repeated after a conflicting write."""
    for attempt in range(_ATTEMPTS):
        before = await api.get(target.resource, target.name, target.namespace)
        before = {"apiVersion": target.resource.api_version, "kind": target.resource.kind, **before}
        after = copy.deepcopy(before)
        edit(after)
        merge = difference(before, after)
        if not merge or dry_run == "client":
            return after, bool(merge)
        merge.setdefault("metadata", {})["resourceVersion"] = before["metadata"]["resourceVersion"]
        query = {"dryRun": "All"} if dry_run == "server" else {}
        try:
            done = await api.patch(
                target.resource, target.name, merge, namespace=target.namespace, content_type=MERGE, query=query
            )
        except ApiError as error:
            if error.reason != "Conflict" or attempt == _ATTEMPTS - 1:
                raise
        else:
            return done, True
    raise AssertionError("the last attempt returns or raises")


def matching_containers(obj: Object, pattern: str, target: Target) -> list[Object]:
    """The containers whose names match. Raises CommandError if no name matches."""
    matching = [each for each in containers(obj) if fnmatch.fnmatchcase(each["name"], pattern)]
    if not matching:
        names = ", ".join(each["name"] for each in containers(obj)) or "none"
        raise CommandError(f'unable to find container named "{pattern}": {target.label} has {names}')
    return matching
