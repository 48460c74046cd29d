"""``apply --prune``: deletes objects that were applied before and are no longer in the files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import done_suffix, dry_query
from orchd.ctl.objects.deletion import wait_gone
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object

#: Kinds that are pruned without --prune-allowlist, as templates of GROUP/VERSION/KIND.
DEFAULT_KINDS: Final = (
    *(f"/v1/{kind}" for kind in ("ConfigMap", "Endpoints", "Namespace", "PersistentVolumeClaim", "PersistentVolume", "Pod",
                                 "ReplicationController", "Secret", "Service")),
    "batch/v1/Job", "batch/v1/CronJob", "networking.{abbr}.io/v1/Ingress",
    *(f"apps/v1/{kind}" for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
)  # fmt: skip


async def allowed_resources(api: Api, allowlist: Iterable[str]) -> list[Resource]:
    """The resources that texts such as ``core/v1/ConfigMap`` name; those of `DEFAULT_KINDS` for no texts. Raises
    CommandError."""
    texts = tuple(allowlist)
    dialect = await api.dialect()
    out = []
    for text in texts or [dialect(each) for each in DEFAULT_KINDS]:
        parts = text.split("/")
        if len(parts) != 3:
            raise CommandError(f"--prune-allowlist={text}: write GROUP/VERSION/KIND, such as core/v1/ConfigMap")
        group = "" if parts[0] == "core" else parts[0]
        out.append(await api.discovery.kind(f"{group}/{parts[1]}" if group else parts[1], parts[2]))
    return out


async def prune(
    api: Api,
    applied: list[tuple[Target, str]],
    *,
    resources: list[Resource],
    selector: str,
    options: Object,
    dry_run: str,
    wait: float,
) -> None:
    """Delete objects that `api.manager` applied and that are not among `applied` (targets with uids), in the namespaces
    of `applied` and without a namespace. Waits up to `wait` seconds until they are gone; 0 does not wait."""
    kept = {uid for _, uid in applied}
    namespaces = sorted(
        {api.scope(target.resource, target.namespace) for target, _ in applied if target.resource.namespaced}
    )
    query = {"labelSelector": selector} if selector else {}
    gone, failures = [], Failures()
    for resource in resources:
        for namespace in namespaces if resource.namespaced else [""]:
            listed = await api.list(resource, query=query, namespace=namespace)
            for obj in listed.get("items") or ():
                metadata = obj["metadata"]
                if metadata["uid"] in kept or metadata.get("deletionTimestamp") or not was_applied(obj, api.manager):
                    continue
                with failures.collect():
                    target = Target(resource, metadata["name"], metadata.get("namespace", ""))
                    if await _delete(api, target, metadata["uid"], options, dry_run):
                        gone.append((target, metadata["uid"]))
    end = api.clock.seconds() + wait
    for target, uid in gone if wait and dry_run == "none" else ():
        await wait_gone(api, target, uid, end)
    failures.raise_collected()


def was_applied(obj: Object, manager: str) -> bool:
    """True if this manager applied the object."""
    entries = obj["metadata"].get("managedFields") or ()
    return any(each.get("manager") == manager and each.get("operation") == "Apply" for each in entries)


async def _delete(api: Api, target: Target, uid: str, options: Object, dry_run: str) -> bool:
    if dry_run != "client":
        try:
            guarded = {**options, "preconditions": {"uid": uid}}
            await api.delete(target.resource, target.name, target.namespace, guarded, dry_query(dry_run))
        except ApiError as error:
            if error.code == 404:
                return False
            raise
    output.line(f"{target.label} pruned{done_suffix(dry_run)}")
    return True
