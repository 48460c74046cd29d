"""Writes of VolumeBinding to volumes and claims, and the wait until the volume controller has bound them."""

from __future__ import annotations

from dataclasses import dataclass, field

from twisted.internet.defer import Deferred, TimeoutError

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.node_selectors import matches_terms
from orchd.kinds.objects.volumes.claims import is_fully_bound
from orchd.scheduler.interfaces import IHandle, ISnapshot
from orchd.scheduler.plugins.assumed import AssumedObjects, version
from orchd.scheduler.plugins.storage import CLAIMS, VOLUMES, missing
from orchd.scheduler.plugins.volumebinder import VolumeBinder
from orchd.scheduler.pods import Pod
from orchd.txkit.timeouts import within

#: Seconds between checks without a watch event.
_INTERVAL = 1.0


class WriteError(Exception):
    """Volumes cannot be bound as decided; the pod must be scheduled again."""


@dataclass(slots=True)
class Reserved:
    """Claims with the volumes that they are bound to, and claims for which volumes are provisioned: as written, and
    then as the API returned them. One per cycle, which alone changes it."""

    bindings: list[tuple[Object, Object]] = field(default_factory=list)
    provisions: list[Object] = field(default_factory=list)


class VolumeWrites:
    """`timeout` limits the wait for other components, in seconds."""

    def __init__(self, handle: IHandle, binder: VolumeBinder, timeout: float) -> None:
        self._handle = handle
        self._client = handle.client
        self._clock = handle.clock
        self._snapshot: ISnapshot = handle.snapshot
        self._binder = binder
        self._timeout = timeout
        self._waiting: set[Deferred[None]] = set()
        for name in ("claims", "volumes"):
            binder.storage.informer(name).add_listener(self._wake)

    async def write(self, reserved: Reserved) -> None:
        """Bind the volumes to the claims and request provisioning of others. Raises ApiError, after the assumptions of
        unwritten objects were dropped."""
        written = 0
        try:
            for at, (claim, volume) in enumerate(reserved.bindings):
                new = await self._client.update(VOLUMES, "", volume["metadata"]["name"], volume)
                reserved.bindings[at] = claim, new
                written += 1
            for at, claim in enumerate(reserved.provisions):
                metadata = claim["metadata"]
                reserved.provisions[at] = await self._client.update(
                    CLAIMS, metadata["namespace"], metadata["name"], claim
                )
                written += 1
        finally:
            self._give_up(reserved, written)

    def _give_up(self, reserved: Reserved, written: int) -> None:
        for at, (_, volume) in enumerate(reserved.bindings):
            if at >= written:
                self._binder.volumes.restore(volume)
        for at, claim in enumerate(reserved.provisions, len(reserved.bindings)):
            if at >= written:
                self._binder.claims.restore(claim)

    async def wait(self, reserved: Reserved, pod: Pod, node_name: str) -> None:
        """Wait until all claims are bound. Raises WriteError after the timeout, or if they cannot be bound."""
        end = self._clock.seconds() + self._timeout
        while not self.bound(reserved, pod, node_name):
            left = end - self._clock.seconds()
            if left <= 0:
                raise WriteError(self._binder.words.timed_out)
            await self._news(min(left, _INTERVAL))

    async def _news(self, seconds: float) -> None:
        """Wait until a claim or volume changes, at most the given seconds."""
        waiting: Deferred[None] = Deferred()
        self._waiting.add(waiting)
        try:
            await within(waiting, seconds, self._clock)
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(waiting)

    def _wake(self, kind: str, old: Object | None, new: Object | None) -> None:
        waiting, self._waiting = self._waiting, set()
        for each in waiting:
            each.callback(None)

    # -- checks

    def bound(self, reserved: Reserved, pod: Pod, node_name: str) -> bool:
        """True if all claims are bound. Raises WriteError when they cannot be bound on this node."""
        row = self._snapshot.row_of(node_name)
        if row < 0:
            raise WriteError(f'failed to get node "{node_name}": {missing("node", node_name)}')
        if self._handle.pod_object(pod) is None:
            raise WriteError(f"pod does not exist any more: {missing('pod', pod.name)}")
        for claim, volume in reserved.bindings:
            name = volume["metadata"]["name"]
            present = _present(self._binder.volumes, volume, "failed to check binding", "v1.PersistentVolume")
            current = _present(self._binder.claims, claim, "failed to check binding", "v1.PersistentVolumeClaim")
            if version(volume) > version(present):
                return False
            self._check_node(present, node_name, row)
            if not (present["spec"].get("claimRef") or {}).get("uid"):
                raise WriteError(f'ClaimRef got reset for pv "{name}"')
            if not is_fully_bound(current, self._binder.dialect):
                return False
        return all(self._provisioned(each, node_name, row) for each in reserved.provisions)

    def _provisioned(self, claim: Object, node_name: str, row: int) -> bool:
        current = _present(self._binder.claims, claim, "failed to check provisioning pvc", "v1.PersistentVolumeClaim")
        if version(claim) > version(current):
            return False
        name = current["metadata"]["name"]
        if current["metadata"].get("annotations") is None:
            raise WriteError(f'selectedNode annotation reset for PVC "{name}"')
        if self._binder.selected_node(current) != node_name:
            # A provisioner that cannot serve the node removes the annotation.
            raise WriteError(f'provisioning failed for PVC "{name}"')
        volume_name = current["spec"].get("volumeName")
        if volume_name:
            volume = self._binder.volumes.present("", volume_name)
            if volume is None:
                return False
            self._check_node(volume, node_name, row)
        return is_fully_bound(current, self._binder.dialect)

    def _check_node(self, volume: Object, node_name: str, row: int) -> None:
        terms = self._binder.terms_on(volume, self._binder.storage.csi_node(node_name))
        if terms is not None and not matches_terms(terms, self._snapshot.node(row).labels):
            name = volume["metadata"]["name"]
            raise WriteError(
                f'pv "{name}" node affinity doesn\'t match node "{node_name}": no matching NodeSelectorTerms'
            )


def _present(objects: AssumedObjects, obj: Object, doing: str, kind: str) -> Object:
    """The current object of the API. Raises WriteError if it was deleted."""
    namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
    current = objects.present(namespace, name)
    if current is None:
        path = f"{namespace}/{name}" if namespace else name
        raise WriteError(f'{doing}: could not find {kind} "{path}"')
    return current
