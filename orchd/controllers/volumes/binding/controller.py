"""The persistentvolume-binder controller: its queue and event handlers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import CLAIMS, PODS
from orchd.controllers.volumes.assume_cache import AssumeCache
from orchd.controllers.volumes.binding import recycler
from orchd.controllers.volumes.binding.claim_reconciler import ClaimReconciler
from orchd.controllers.volumes.binding.provisioning import ProvisioningRequests
from orchd.controllers.volumes.binding.reclaimer import Reclaimer
from orchd.controllers.volumes.binding.volume_reconciler import VolumeReconciler
from orchd.controllers.volumes.binding.writer import BindingWriter
from orchd.controllers.volumes.usage import BY_CLAIM, VOLUMES, index_by_claim, terminated
from orchd.dialect import Dialect
from orchd.kinds.fields import annotations_of, name, namespace, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import BIND_COMPLETED, class_of, is_default_class
from orchd.txkit.metrics.instruments import Gauge

#: Whether claims get the default class later, by release.
_ASSIGNS_DEFAULT: Final = (("", False), ("1.35", True))
#: Index of volumes: "class/NAME" for those without a claim, "claim/NAMESPACE/NAME" for those with one.
_SUITABLE: Final = "binder/suitable"
#: Index of claims: "class/NAME" for those that wait for a volume, "volume/NAME" for those that name one.
_WAITING: Final = "binder/waiting"
#: Phases in which nothing is done before a change.
_SETTLED: Final = ("Bound", "Available", "Lost")


#: Metrics: name, help and labels.
_COUNTS = (
    ("bound_pv", "Persistent volumes that are bound, by storage class", ("storage_class",)),
    ("unbound_pv", "Persistent volumes that are unbound, by storage class", ("storage_class",)),
    ("failed_pv", "Persistent volumes that are failed, by storage class", ("storage_class",)),
    ("bound_pvc", "Claims that are bound, by namespace", ("namespace",)),
    ("unbound_pvc", "Claims that are unbound, by namespace", ("namespace",)),
    ("total_pv", "Persistent volumes, by plugin and mode", ("plugin_name", "volume_mode")),
)
#: Further labels of the numbers of claims, by release.
_CLAIM_LABELS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("", ()),
    ("1.31", ("storage_class", "volume_attributes_class")),
)
#: Sources of volumes, and the names of their plugins in metrics.
_PLUGINS = (
    ("csi", "csi"),
    ("hostPath", "host-path"),
    ("local", "local-volume"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("fc", "fc"),
    ("rbd", "rbd"),
)


class PersistentVolumeBinder(Controller):
    """Keys without a namespace are volumes, others claims. One worker: two at once could give one volume to two
    claims."""

    name = "persistentvolume-binder"
    account = "persistent-volume-binder"
    component = "persistentvolume-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=1)
        self._period = env.settings.pvclaimbinder_sync_period
        more = env.release.choose(_CLAIM_LABELS)
        self._counts = {
            name: Gauge(f"pv_collector_{name}_count", f"{what}.", (*labels, *(more if name.endswith("_pvc") else ())))
            for name, what, labels in _COUNTS
        }
        self._claims_by_class = bool(more)
        # Volumes first: a claim that is reconciled before its volume is known would count as lost.
        self._volumes = self.follow(VOLUMES, self._volume_changed)
        self._volumes.add_index(_SUITABLE, _volume_index(env.dialect))
        self._claims = self.follow(CLAIMS, self._claim_changed)
        self._claims.add_index(_WAITING, _claim_index(env.dialect))
        self._pods = self.follow(PODS, self._pod_changed)
        index_by_claim(self._pods)
        classes = self.follow(
            ResourceRef(env.dialect("storage.{abbr}.io"), "v1", "storageclasses"), self._class_changed
        )
        self._assumed_volumes = AssumeCache(self._volumes)
        self._assumed_claims = AssumeCache(self._claims)
        writer = BindingWriter(
            self.client, env.dialect, self._assumed_volumes, self._assumed_claims, self.recorder.event
        )
        self._reclaimer = Reclaimer(self.client, writer, self._pods, env.settings, env.release)
        provisioning = ProvisioningRequests(
            writer, classes, env.release, enabled=env.settings.enable_dynamic_provisioning
        )
        self._assigns_default = env.release.choose(_ASSIGNS_DEFAULT)
        self._claim_reconciler = ClaimReconciler(
            writer,
            classes,
            provisioning,
            self._suitable,
            self._pods_without_node,
            assigns_default=self._assigns_default,
        )
        later = (self._claim_reconciler.assigned, self._claim_reconciler.unassigned) if self._assigns_default else ()
        self.instruments = (*self._counts.values(), *later)
        self._volume_reconciler = VolumeReconciler(writer, self._reclaimer, self._live_claim, self._enqueue)

    def _count_volume(self, volume: Object, step: int) -> None:
        phase = status(volume).get("phase")
        state = "bound" if phase == "Bound" else "failed" if phase == "Failed" else "unbound"
        self._counts[f"{state}_pv"].add(step, class_of(volume, self.dialect))
        self._counts["total_pv"].add(step, self._plugin_of(volume), str(spec(volume).get("volumeMode") or "N/A"))

    def _count_claim(self, claim: Object, step: int) -> None:
        state = "bound" if status(claim).get("phase") == "Bound" else "unbound"
        classes = class_of(claim, self.dialect), str(spec(claim).get("volumeAttributesClassName") or "")
        self._counts[f"{state}_pvc"].add(step, namespace(claim), *(classes if self._claims_by_class else ()))

    def _plugin_of(self, volume: Object) -> str:
        """Name of the plugin of a volume's source."""
        source = next((plugin for key, plugin in _PLUGINS if key in spec(volume)), "")
        return self.dialect("{long}.io/") + source if source else "N/A"

    def _refill(self) -> None:
        """Queue what may need work: everything, because the dropped keys are not known."""
        for informer in (self._volumes, self._claims):
            for obj in informer.list():
                self._enqueue(obj)

    def _enqueue(self, obj: Object) -> None:
        self.queue.add(key_of(obj))

    def _enqueue_all(self, objects: Iterable[Object]) -> None:
        for obj in objects:
            self._enqueue(obj)

    # -- what changed

    def _volume_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Also reconcile claims that the volume is, was or may become bound to."""
        self._assumed_volumes.observe(old, new)
        for each, step in ((old, -1), (new, 1)):
            if each is not None:
                self._count_volume(each, step)
        volume = new or old
        if volume is None:
            return
        if new is None:
            self._reclaimer.forget(volume)
        else:
            self._enqueue(new)
        self._enqueue_all(self._claims.by_index(_WAITING, f"volume/{name(volume)}"))
        if new is not None and _available(new) and not (old is not None and _available(old)):
            self._enqueue_all(self._claims.by_index(_WAITING, f"class/{class_of(new, self.dialect)}"))

    def _claim_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """When the claim is deleted or bound to another volume, also reconcile volumes that were bound to it."""
        self._assumed_claims.observe(old, new)
        for each, step in ((old, -1), (new, 1)):
            if each is not None:
                self._count_claim(each, step)
        if new is not None:
            self._enqueue(new)
        claim = new or old
        if claim is None:
            return
        if new is None or old is None or spec(old).get("volumeName") != spec(new).get("volumeName"):
            self._enqueue_all(self._volumes.by_index(_SUITABLE, f"claim/{namespace(claim)}/{name(claim)}"))

    def _class_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """A class that is new may say how claims that name it get volumes, the default class how others do."""
        if new is None:
            return
        if old is None:
            self._enqueue_all(self._claims.by_index(_WAITING, f"class/{name(new)}"))
        if self._assigns_default and is_default_class(new, self.dialect):
            self._enqueue_all(self._claims.by_index(_WAITING, "class/"))

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Only pods that recycle a volume matter."""
        pod = new or old
        volume = recycler.volume_of(pod) if pod is not None else ""
        if not volume:
            return
        if new is None and old is not None:
            self._reclaimer.pod_deleted(old)
        self.queue.add(("", volume))

    # -- what the parts ask

    def _suitable(self, claim: Object) -> Iterator[Object]:
        """Volumes of the claim's class without a claim, and those reserved for it."""
        for index in (f"class/{class_of(claim, self.dialect)}", f"claim/{namespace(claim)}/{name(claim)}"):
            yield from self._assumed_volumes.newest(self._volumes.by_index(_SUITABLE, index))

    def _pods_without_node(self, claim: Object) -> list[str]:
        pods = self._pods.by_index(BY_CLAIM, f"{namespace(claim)}/{name(claim)}")
        return [name(pod) for pod in pods if not terminated(pod) and not spec(pod).get("nodeName")]

    async def _live_claim(self, within: str, called: str) -> Object | None:
        return await self.live(CLAIMS, within, called)

    # -- work

    async def reconcile(self, key: Key) -> float | None:
        """Look again after the period at what waits for something outside: a provisioner, a volume, a deleter."""
        assumed = self._assumed_claims if key[0] else self._assumed_volumes
        obj = assumed.get(*key)
        if obj is None:
            return None
        await (self._claim_reconciler.reconcile(obj) if key[0] else self._volume_reconciler.reconcile(obj))
        obj = assumed.get(*key)
        return None if obj is None or _is_final(obj) else self._period


def _is_final(obj: Object) -> bool:
    """True if a claim or volume needs no reconciliation until it changes, as retained volumes do."""
    return status(obj).get("phase") in _SETTLED or spec(obj).get("persistentVolumeReclaimPolicy") == "Retain"


def _available(volume: Object) -> bool:
    return status(volume).get("phase") == "Available"


def _volume_index(dialect: Dialect) -> Callable[[Object], Iterable[str]]:
    def keys(volume: Object) -> Iterable[str]:
        reference = spec(volume).get("claimRef")
        if reference is None:
            return (f"class/{class_of(volume, dialect)}",)
        return (f"claim/{reference.get('namespace', '')}/{reference.get('name', '')}",)

    return keys


def _claim_index(dialect: Dialect) -> Callable[[Object], Iterable[str]]:
    def keys(claim: Object) -> Iterable[str]:
        volume = spec(claim).get("volumeName")
        if volume:
            return (f"volume/{volume}",)
        if dialect(BIND_COMPLETED) in annotations_of(claim):
            return ()
        return (f"class/{class_of(claim, dialect)}",)

    return keys
