"""Reclaims a volume whose claim was deleted: retains, recycles or deletes it, according to its reclaim policy."""

from __future__ import annotations

import re
from typing import Final

from orchd.client.interfaces import IClient, IInformer
from orchd.controllers.event_objects import NORMAL
from orchd.controllers.objects import PODS
from orchd.controllers.settings import ControllerSettings
from orchd.controllers.volumes.binding import recycler
from orchd.controllers.volumes.binding.writer import BindingWriter
from orchd.controllers.volumes.migration import MIGRATED_TO, PROVISIONED_BY
from orchd.controllers.volumes.usage import BY_CLAIM, VOLUMES, terminated
from orchd.controllers.write_errors import ignore_missing_or_changed
from orchd.errors import ApiError
from orchd.kinds.fields import annotations_of, deleting, mapping, name, namespace, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release

_DELETE_FAILED: Final = "VolumeFailedDelete"
_RECYCLE_FAILED: Final = "VolumeFailedRecycle"
#: Sources that have a plugin, though none that deletes.
_WITHOUT_DELETER: Final = tuple(
    "azureFile csi flocker glusterfs local nfs portworxVolume quobyte rbd storageos vsphereVolume "
    "awsElasticBlockStore gcePersistentDisk cinder azureDisk".split()
)
#: Sources whose driver deletes a volume that was not provisioned, by release.
_DELETED_ELSEWHERE: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (("", ()), ("1.32", ("csi",)))
_TEMPORARY = re.compile("/tmp/.+")


class Reclaimer:
    """`pods` has the index `BY_CLAIM`."""

    def __init__(
        self, client: IClient, writer: BindingWriter, pods: IInformer, settings: ControllerSettings, release: Release
    ) -> None:
        self._client = client
        self._writer = writer
        self._dialect = writer.dialect
        self._pods = pods
        self._settings = settings
        self._deleted_elsewhere = release.choose(_DELETED_ELSEWHERE)
        #: uid of the recycler pod that this process created for a volume. Pods of that name from others are not
        #: trusted.
        self._recyclers: dict[str, str] = {}

    async def reclaim(self, volume: Object) -> None:
        """One step; events of the volume and of its recycler's pod ask for the next."""
        policy = spec(volume).get("persistentVolumeReclaimPolicy")
        if self._dialect(MIGRATED_TO) in annotations_of(volume) or policy == "Retain":
            return
        if policy not in ("Delete", "Recycle"):
            note = "Volume has unrecognized PersistentVolumeReclaimPolicy"
            await self._writer.volume_failed(volume, "VolumeUnknownReclaimPolicy", note)
            return
        live = await self._live(volume)
        if live is None or not self._released(live):
            return
        if policy == "Recycle":
            await self._recycle(live)
        elif not deleting(live):
            await self._delete(live)

    async def _live(self, volume: Object) -> Object | None:
        try:
            current: Object = await self._client.get(VOLUMES, "", name(volume))
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return current if uid(current) == uid(volume) else None

    def _released(self, volume: Object) -> bool:
        """True if the volume's claim was deleted or is bound to another volume."""
        reference = mapping(spec(volume), "claimRef")
        if not reference.get("uid"):
            return False
        claim = self._writer.claims.get(reference.get("namespace", ""), reference.get("name", ""))
        if claim is None or uid(claim) != reference["uid"]:
            return True
        return bool(spec(claim).get("volumeName")) and spec(claim)["volumeName"] != name(volume)

    # -- deletion

    async def _delete(self, volume: Object) -> None:
        by = annotations_of(volume).get(self._dialect(PROVISIONED_BY), "")
        if by and not by.startswith(self._dialect("{long}.io/")):
            return  # its provisioner deletes it
        if not by and any(spec(volume).get(source) is not None for source in self._deleted_elsewhere):
            return
        trouble = self._deleter_trouble(volume, by)
        if trouble:
            await self._writer.volume_failed(volume, _DELETE_FAILED, trouble)
            return
        with ignore_missing_or_changed():
            await self._client.delete(VOLUMES, "", name(volume), options={"preconditions": {"uid": uid(volume)}})

    def _deleter_trouble(self, volume: Object, by: str) -> str:
        """Why the storage of a volume cannot be deleted; "" if there is no storage outside its node."""
        if spec(volume).get("hostPath") is not None and by in ("", self._dialect("{long}.io/host-path")):
            path = str(spec(volume)["hostPath"].get("path") or "")
            if _TEMPORARY.search(path):
                return ""
            return f"host_path deleter only supports /tmp/.+ but received provided {path}"
        has_plugin = any(spec(volume).get(field) is not None for field in _WITHOUT_DELETER)
        cause = "no deletable volume plugin matched" if has_plugin else "no volume plugin matched"
        return cause if by else f'error getting deleter volume plugin for volume "{name(volume)}": {cause}'

    # -- recycling

    async def _recycle(self, volume: Object) -> None:
        users = self._users(volume)
        if users:
            self._writer.record_volume(volume, NORMAL, _RECYCLE_FAILED, f"Volume is used by pods: {','.join(users)}")
        elif not recycler.recyclable(volume):
            await self._writer.volume_failed(volume, _RECYCLE_FAILED, "No recycler plugin found for the volume!")
        else:
            await self._recycle_by_pod(volume)

    def _users(self, volume: Object) -> list[str]:
        """Pods that still use the claim of a volume. A new claim of the name has another volume, and so do its pods."""
        reference = spec(volume)["claimRef"]
        key = (reference.get("namespace", ""), reference.get("name", ""))
        if self._writer.claims.get(*key) is not None:
            return []
        pods = self._pods.by_index(BY_CLAIM, "/".join(key))
        return sorted(f"{namespace(pod)}/{name(pod)}" for pod in pods if not terminated(pod))

    async def _recycle_by_pod(self, volume: Object) -> None:
        pod = self._pods.get(recycler.NAMESPACE, recycler.pod_name(volume))
        mine = self._recyclers.get(uid(volume))
        if pod is None:
            if mine is None:
                await self._start_recycler(volume)
            return
        if uid(pod) != mine:
            await self._end_recycler(volume, pod)
        elif status(pod).get("phase") == "Succeeded":
            await self._end_recycler(volume, pod)
            self._writer.record_volume(volume, NORMAL, "VolumeRecycled", "Volume recycled")
            await self._writer.unbind(volume)
        elif status(pod).get("phase") == "Failed":
            await self._end_recycler(volume, pod)
            await self._writer.volume_failed(volume, _RECYCLE_FAILED, f"Recycle failed: {recycler.failure(pod)}")

    async def _start_recycler(self, volume: Object) -> None:
        pod = recycler.recycler_pod(volume, self._dialect(recycler.IMAGE), self._settings)
        created = await self._client.create(PODS, recycler.NAMESPACE, pod)
        self._recyclers[uid(volume)] = uid(created)

    async def _end_recycler(self, volume: Object, pod: Object) -> None:
        self._recyclers.pop(uid(volume), None)
        options = {"preconditions": {"uid": uid(pod)}}
        with ignore_missing_or_changed():
            await self._client.delete(PODS, recycler.NAMESPACE, name(pod), options=options)

    def forget(self, volume: Object) -> None:
        """The volume was deleted."""
        self._recyclers.pop(uid(volume), None)

    def pod_deleted(self, pod: Object) -> None:
        """A pod was deleted; if it recycled a volume, the next step makes another one."""
        for volume, recycler_uid in list(self._recyclers.items()):
            if recycler_uid == uid(pod):
                del self._recyclers[volume]
