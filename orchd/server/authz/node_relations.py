"""Relations between objects and nodes, on which the node authorizer decides.

They are indexed on the informers of pods and persistent volumes, so a question is a lookup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Final

from orchd.client.interfaces import IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.references import claimed_devices, get_path, pod_references
from orchd.kinds.release import Release
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution

_INDEX = "node-authorizer"
#: The first release whose nodes own resource slices.
_SLICES_SINCE: Final = "1.34"
#: Persistent volume sources whose secrets the kubelet reads; each reference may have a namespace.
_PV_SECRETS = {
    "cephfs": ("secretRef",),
    "cinder": ("secretRef",),
    "flexVolume": ("secretRef",),
    "iscsi": ("secretRef",),
    "rbd": ("secretRef",),
    "scaleIO": ("secretRef",),
    "storageos": ("secretRef",),
    "csi": ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"),
}


def _volume_secrets(volume: Object) -> Iterator[str]:
    """``namespace/name`` of the secrets for mounting a persistent volume."""
    spec = fields.spec(volume)
    home = get_path(spec, "claimRef", "namespace")
    if not home:
        return
    for source, keys in _PV_SECRETS.items():
        for key in keys:
            reference = get_path(spec, source, key)
            if reference and reference.get("name"):
                yield f"{reference.get('namespace') or home}/{reference['name']}"
    azure = spec.get("azureFile")
    if azure and azure.get("secretName"):
        yield f"{azure.get('secretNamespace') or home}/{azure['secretName']}"


class NodeRelations:
    """Relations of one server. Kinds are secret, configmap, claim, serviceaccount and resourceclaim (which pods of a
    node refer to), volume, attachment, pod and slice."""

    def __init__(self, dialect: Dialect, informers: IInformers, release: Release) -> None:
        self._mirror = dialect("{long}.io/config.mirror")
        self._pods = informers.informer(ResourceRef("", "v1", "pods"))
        self._volumes = informers.informer(ResourceRef("", "v1", "persistentvolumes"))
        attachments = informers.informer(ResourceRef(dialect("storage.{abbr}.io"), "v1", "volumeattachments"))
        #: Informers of the objects that name a node themselves.
        self._own = {"pod": self._pods, "attachment": attachments}
        if release.includes(_SLICES_SINCE):
            ref = ResourceRef(dialect("resource.{abbr}.io"), "v1", "resourceslices")
            self._own["slice"] = informers.informer(ref)
        self._actions = Distribution(
            "node_authorizer_graph_actions_duration_seconds",
            "Duration of updates of the node authorizer's graph in seconds, by operation.",
            exponential(0.0001, 2, 12),
            ("operation",),
        )
        #: Metrics.
        self.instruments = (self._actions,)
        self._pods.add_index(_INDEX, self._timed("AddPod", self._pod_keys))
        self._volumes.add_index(_INDEX, self._timed("AddPV", _volume_secrets))

    def _timed(self, operation: str, keys: Callable[[Object], Iterable[str]]) -> Callable[[Object], Iterable[str]]:
        def indexed(obj: Object) -> Iterable[str]:
            began = perf_counter()
            indexed_keys = set(keys(obj))
            self._actions.observe(perf_counter() - began, operation)
            return indexed_keys

        return indexed

    def _pod_keys(self, pod: Object) -> Iterable[str]:
        node = get_path(pod, "spec", "nodeName")
        if not node or self._mirror in fields.annotations_of(pod):
            # A kubelet itself chooses the references of its mirror pods.
            return ()
        namespace = pod["metadata"].get("namespace", "")
        claims = (("resourceclaim", name) for name in claimed_devices(pod))
        return (f"{node}|{kind}|{namespace}/{name}" for kind, name in (*pod_references(pod), *claims))

    async def wait(self) -> None:
        """Wait until everything is indexed, which begins with the first call."""
        await self._pods.wait_indexed(_INDEX)
        await self._volumes.wait_indexed(_INDEX)
        for informer in self._own.values():
            await informer.wait_synced()

    def exists(self, node: str, kind: str, namespace: str, name: str) -> bool:
        """True if the object of `kind` has to do with the node."""
        if kind in self._own:
            return bool(get_path(self._own[kind].get(namespace, name), "spec", "nodeName") == node)
        if kind == "volume":
            return self._mounts(node, self._volumes.get("", name))
        if self._used(node, kind, namespace, name):
            return True
        if kind != "secret":
            return False
        return any(self._mounts(node, v) for v in self._volumes.by_index(_INDEX, f"{namespace}/{name}"))

    def _used(self, node: str, kind: str, namespace: str, name: str) -> bool:
        return self._pods.holds(_INDEX, f"{node}|{kind}|{namespace}/{name}")

    def _mounts(self, node: str, volume: Object | None) -> bool:
        claim = get_path(volume, "spec", "claimRef")
        return bool(claim) and self._used(node, "claim", claim.get("namespace", ""), claim.get("name", ""))
