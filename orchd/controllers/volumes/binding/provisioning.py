"""Provisioning: annotates claims for external provisioners, and records Events for claims that cannot be
provisioned."""

from __future__ import annotations

from typing import Final

from orchd.client.interfaces import IInformer
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.volumes.binding.writer import BindingWriter
from orchd.controllers.volumes.migration import BETA_PROVISIONER, PROVISIONER, driver_of, with_migration
from orchd.kinds.fields import annotations_of, with_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import class_of
from orchd.kinds.release import Release

_FAILED: Final = "ProvisioningFailed"
_HOST_PATH: Final = "{long}.io/host-path"
#: Plugins of the core API that exist and provision nothing here.
_WITHOUT_PROVISIONER: Final = tuple(
    "{long}.io/" + each
    for each in (
        "azure-file csi flocker glusterfs local-volume nfs portworx-volume quobyte rbd storageos vsphere-volume"
    ).split()
)
#: Notes of claims that wait for an external provisioner, by the release that begins them.
_EXTERNAL_NOTES: Final = (
    (
        "",
        'waiting for a volume to be created, either by external provisioner "{}" or manually created by system '
        "administrator",
    ),
    (
        "1.28",
        "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
        "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
        "registered.",
    ),
)


class ProvisioningRequests:
    """`classes` are the storage classes; `enabled` is the flag --enable-dynamic-provisioning."""

    def __init__(self, writer: BindingWriter, classes: IInformer, release: Release, *, enabled: bool) -> None:
        self._writer = writer
        self._dialect = writer.dialect
        self._classes = classes
        self._release = release
        self._enabled = enabled

    async def provision(self, claim: Object) -> None:
        """Ask for a volume for a claim that has a class."""
        if not self._enabled:
            return
        called = class_of(claim, self._dialect)
        storage_class = self._classes.get("", called)
        if storage_class is None:
            resource = self._dialect("storageclass.storage.{abbr}.io")
            self._writer.record_claim(claim, WARNING, _FAILED, f'{resource} "{called}" not found')
            return
        provisioner = str(storage_class.get("provisioner") or "")
        driver = driver_of(provisioner, self._dialect)
        if not driver and provisioner.startswith(self._dialect("{long}.io/")):
            await self._refuse(claim, provisioner)
            return
        await self._ask(claim, driver or provisioner)

    async def _ask(self, claim: Object, provisioner: str) -> None:
        """Request provisioning: annotate the claim with the provisioner."""
        note = self._release.choose(_EXTERNAL_NOTES).format(provisioner)
        claim = await self._assign(claim, provisioner)
        self._writer.record_claim(claim, NORMAL, "ExternalProvisioning", note)

    async def _refuse(self, claim: Object, plugin: str) -> None:
        """Record why an in-tree plugin cannot provision: in-tree plugins need a storage backend."""
        if plugin == self._dialect(_HOST_PATH):
            note = f'Failed to create provisioner: provisioning in volume plugin "{plugin}" is disabled'
            claim = await self._assign(claim, plugin)
        elif any(plugin == self._dialect(each) for each in _WITHOUT_PROVISIONER):
            note = "no provisionable volume plugin matched"
        else:
            note = f"no volume plugin matched name: {plugin}"
        self._writer.record_claim(claim, WARNING, _FAILED, note)

    async def _assign(self, claim: Object, provisioner: str) -> Object:
        notes, key = annotations_of(claim), self._dialect(PROVISIONER)
        if notes.get(key) == provisioner:
            return claim
        named = with_metadata(
            claim, annotations={**notes, self._dialect(BETA_PROVISIONER): provisioner, key: provisioner}
        )
        return await self._writer.save_claim(with_migration(named, self._dialect, claim=True))
