"""The namespace controller: deletes the contents of terminating namespaces, then finalizes them.

Conditions of the namespace report what delays it. The contents are found through the catalog, custom kinds included,
and through discovery of aggregated API servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchd.client.interfaces import IRawClient, ResourceRef
from orchd.client.paging import list_pages
from orchd.controllers.aggregated import AggregatedResource, discover
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.objects import NAMESPACES
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.fields import deleting, spec, status, with_spec, with_status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp

#: Seconds between checks of remaining objects with finalizers.
_FINALIZER_PAUSE = 15
#: Seconds within which other servers are expected to observe a deletion, as in the reference.
_GRACE = 5.0
#: Page size of lists of pods.
_PODS = 100

#: Type, reason and message of each condition while all is well, in the order in which they are written.
CONDITIONS: Final = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy {short} types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)


#: Groups and plurals of resources whose objects are gone before the others are deleted, by the gate that says so.
_FIRST: Final = {"OrderedNamespaceDeletion": ("", "pods")}


@dataclass(slots=True)
class Remains:
    """The result of one pass over a namespace. `estimate`: seconds until the next check."""

    estimate: int = 0
    by_resource: dict[str, int] = field(default_factory=dict)
    by_finalizer: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    #: Errors by group and version.
    undiscovered: dict[str, str] = field(default_factory=dict)


def deletable(catalog: Catalog) -> list[Resource]:
    """Every namespaced resource that can be deleted, once, in the version that its group prefers."""
    chosen: dict[tuple[str, str], Resource] = {}
    for group in catalog.groups:
        for version in (group.preferred, *group.versions):
            for resource in catalog.in_version(group.name, version):
                if resource.namespaced and "delete" in resource.verbs:
                    chosen.setdefault((resource.group, resource.plural), resource)
    return list(chosen.values())


def next_conditions(
    dialect: Dialect, current: Iterable[Mapping[str, Any]], wrong: Mapping[str, tuple[str, str]], now: str
) -> list[dict[str, Any]] | None:
    """The conditions after a pass that found the problems `wrong` (type: reason, message); None if they stay
    unchanged."""
    out = [dict(c) for c in current]
    places = {c.get("type"): i for i, c in enumerate(out)}
    changed = False
    for type_, reason, message in CONDITIONS:
        fresh = {"type": type_, "status": "False", "reason": reason, "message": dialect(message)}
        if type_ in wrong:
            fresh.update(status="True", reason=wrong[type_][0], message=wrong[type_][1])
        place = places.get(type_)
        if place is not None and all(out[place].get(k) == v for k, v in fresh.items()):
            continue
        changed = True
        fresh = {"type": type_, "status": fresh["status"], "lastTransitionTime": now, **fresh}
        if place is None:
            out.append(fresh)
        else:
            out[place] = fresh
    return out if changed else None


def wrong_conditions(remains: Remains) -> dict[str, tuple[str, str]]:
    """Type, reason and message of each problem that delays the deletion."""
    wrong: dict[str, tuple[str, str]] = {}
    if remains.undiscovered:
        wrong["NamespaceDeletionDiscoveryFailure"] = ("DiscoveryFailed", _discovery_message(remains.undiscovered))
    if remains.errors:
        text = ", ".join(sorted(remains.errors))
        wrong["NamespaceDeletionContentFailure"] = (
            "ContentDeletionFailed",
            f"Failed to delete all resource types, {len(remains.errors)} remaining: {text}",
        )
    if remains.by_resource:
        text = ", ".join(sorted(f"{r} has {n} resource instances" for r, n in remains.by_resource.items()))
        wrong["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {text}")
    if remains.by_finalizer:
        text = ", ".join(sorted(f"{f} in {n} resource instances" for f, n in remains.by_finalizer.items()))
        wrong["NamespaceFinalizersRemaining"] = (
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {text}",
        )
    return wrong


def _discovery_message(undiscovered: Mapping[str, str]) -> str:
    each = ", ".join(f"{version}: {error}" for version, error in sorted(undiscovered.items()))
    count = f"Discovery failed for some groups, {len(undiscovered)} failing"
    return f"{count}: unable to retrieve the complete list of server APIs: {each}"


class NamespaceController(Controller):
    """Deletes the contents of terminating namespaces. If several servers use the store, the first pass begins `_GRACE`
    after the deletion of a namespace: another server may observe the deletion later, and objects that it admits until
    then would outlive the namespace."""

    name = "namespace"
    account = "namespace-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_namespace_syncs)
        self._grace = _GRACE if env.several_servers else 0.0
        self._period = float(env.settings.namespace_sync_period)
        self._reader: IRawClient = env.reader
        self._own = env.dialect("{long}")
        self._first = {resource for gate, resource in _FIRST.items() if env.feature(gate)}
        self._api_services = ResourceRef(env.dialect("apiregistration.{abbr}.io"), "v1", "apiservices")
        self.follow(NAMESPACES, self._changed, primary=True)

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is not None and deleting(new):
            self.queue.add_after(("", new["metadata"]["name"]), self._grace)

    async def reconcile(self, key: Key) -> float | None:
        name = key[1]
        namespace = await self.live(NAMESPACES, "", name)
        if namespace is None or not deleting(namespace):
            return None
        if status(namespace).get("phase") != "Terminating":
            changed = with_status(namespace, phase="Terminating")
            namespace = await self.client.update(NAMESPACES, "", name, changed, subresource="status")
        if not spec(namespace).get("finalizers"):
            return self._period
        remains = await self._delete_content(name, namespace["metadata"]["deletionTimestamp"])
        latest = await self._write_conditions(name, remains)
        if latest is None:
            return None
        if remains.errors:
            raise ApiError(500, "InternalError", ", ".join(sorted(remains.errors)))
        if remains.undiscovered:
            # The contents on an aggregated server are not known yet.
            raise RetryError(_discovery_message(remains.undiscovered))
        if remains.estimate:
            return remains.estimate / 2 + 1
        finalizers = [f for f in spec(latest).get("finalizers") or () if f != self._own]
        finalized = with_spec(latest, finalizers=finalizers)
        try:
            await self.client.update(NAMESPACES, "", name, finalized, subresource="finalize", need_response=False)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return self._period

    async def _write_conditions(self, name: str, remains: Remains) -> Object | None:
        """Write changed conditions. Returns the updated namespace, None if it no longer exists."""
        namespace = await self.live(NAMESPACES, "", name)
        if namespace is None:
            return None
        conditions = next_conditions(
            self.dialect, fields.conditions(namespace), wrong_conditions(remains), timestamp(self.env.wall())
        )
        if conditions is None:
            return namespace
        changed = with_status(namespace, conditions=conditions)
        written: Object = await self.client.update(NAMESPACES, "", name, changed, subresource="status")
        return written

    async def _delete_content(self, namespace: str, since: str) -> Remains:
        remains = Remains()
        discovered = await discover(self._reader, await self._registered())
        remains.undiscovered = discovered.failures
        own = deletable(self.env.catalog())
        own_resources = {(resource.group, resource.plural) for resource in own}
        others = [each for each in discovered.resources if (each.group, each.plural) not in own_resources]
        resources: list[Resource | AggregatedResource] = [*own, *others]
        first = [each for each in resources if (each.group, each.plural) in self._first]
        await self._delete_each(first, namespace, since, remains)
        if remains.by_resource:
            # What the pods need must outlive them; the conditions speak of the contents only when all of them were
            # tried.
            return Remains(estimate=remains.estimate, errors=remains.errors, undiscovered=remains.undiscovered)
        await self._delete_each([each for each in resources if each not in first], namespace, since, remains)
        return remains

    async def _delete_each(
        self, resources: Iterable[Resource | AggregatedResource], namespace: str, since: str, remains: Remains
    ) -> None:
        for resource in resources:
            try:
                await self._delete_all(resource, namespace, since, remains)
            except ApiError as error:
                # 404 and 405: a custom kind has just gone, or cannot be listed.
                if error.code not in (404, 405):
                    remains.errors.append(error.message)

    async def _registered(self) -> list[Object]:
        """The APIServices; none where API aggregation is not served."""
        try:
            services: list[Object] = (await self.client.list(self._api_services))["items"]
        except ApiError as error:
            if error.code != 404:
                raise
            return []
        return services

    async def _delete_all(
        self, resource: Resource | AggregatedResource, namespace: str, since: str, remains: Remains
    ) -> None:
        ref = ResourceRef(resource.group, resource.version, resource.plural)
        page = await self.client.list(ref, namespace, limit=1, metadata_only=True)
        if not page["items"]:
            return
        estimate = (
            await self._time_for_pods(namespace, since) if (resource.group, resource.plural) == ("", "pods") else 0
        )
        options = {"propagationPolicy": "Background"}
        if "deletecollection" in resource.verbs:
            await self.client.delete_collection(ref, namespace, options=options, need_response=False)
        else:
            for item in (await self.client.list(ref, namespace, metadata_only=True))["items"]:
                await self.remove(ref, namespace, item["metadata"]["name"], propagation="Background")
        left = (await self.client.list(ref, namespace, metadata_only=True))["items"]
        if not left:
            return
        finalizers = [item["metadata"].get("finalizers") or () for item in left]
        for each in finalizers:
            remains.by_finalizer.update(each)
        title = f"{resource.plural}.{resource.group}"
        remains.by_resource[title] = remains.by_resource.get(title, 0) + len(left)
        if not estimate and any(finalizers):
            estimate = _FINALIZER_PAUSE
        if not estimate:
            remains.errors.append(
                f"unexpected items still remain in namespace: {namespace} for gvr: "
                f"{resource.group}/{resource.version}, Resource={resource.plural}"
            )
        remains.estimate = max(remains.estimate, estimate)

    async def _time_for_pods(self, namespace: str, since: str) -> int:
        """Remaining grace period of the pods in seconds, 0 after it has passed."""
        longest = 0
        async for page in list_pages(self.client, ResourceRef("", "v1", "pods"), namespace, limit=_PODS):
            for pod in page["items"]:
                if status(pod).get("phase") not in ("Succeeded", "Failed"):
                    longest = max(longest, int(spec(pod).get("terminationGracePeriodSeconds") or 0))
        passed = self.env.wall() - (seconds_of(since) or 0)
        return 0 if passed >= longest else longest
