"""Reconcile of a claim: find a volume, request provisioning, complete its binding, or mark it Lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchd.client.interfaces import IInformer
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.volumes.binding.provisioning import ProvisioningRequests
from orchd.controllers.volumes.binding.states import best_volume, mismatch
from orchd.controllers.volumes.binding.writer import BindingWriter
from orchd.controllers.volumes.migration import with_migration
from orchd.errors import ApiError
from orchd.kinds.fields import annotations_of, name, spec, uid, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    bound_to,
    class_of,
    has_class,
    is_default_class,
    newest,
)
from orchd.txkit.metrics.instruments import Counter

_LOST = "Data on the volume is lost!"


class ClaimReconciler:
    """`suitable(claim)` gives volumes that may suit a claim; `waiting(claim)` names pods without a node that use it.
    With `assigns_default` a claim that says no class gets the default class once there is one."""

    def __init__(
        self,
        writer: BindingWriter,
        classes: IInformer,
        provisioning: ProvisioningRequests,
        suitable: Callable[[Object], Iterable[Object]],
        waiting: Callable[[Object], list[str]],
        *,
        assigns_default: bool,
    ) -> None:
        self._writer = writer
        self._dialect = writer.dialect
        self._classes = classes
        self._provisioning = provisioning
        self._suitable = suitable
        self._waiting = waiting
        self._assigns_default = assigns_default
        #: Claims that got the default class after they were created, and those that could not be written.
        self.assigned = Counter("retroactive_storageclass_total", "Claims that got the default class afterwards.")
        self.unassigned = Counter(
            "retroactive_storageclass_errors_total", "Claims that could not be given the default class."
        )

    async def reconcile(self, claim: Object) -> None:
        migrated = with_migration(claim, self._dialect, claim=True)
        if migrated is not claim:
            claim = await self._writer.save_claim(migrated)
        if self._dialect(BIND_COMPLETED) in annotations_of(claim):
            await self._check_bound(claim)
        elif spec(claim).get("volumeName"):
            await self._bind_chosen(claim)
        else:
            await self._find(claim)

    def delayed(self, claim: Object) -> bool:
        """True if the claim's class binds when a pod that uses the claim is scheduled (WaitForFirstConsumer)."""
        storage_class = self._classes.get("", class_of(claim, self._dialect))
        return storage_class is not None and storage_class.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER

    async def _find(self, claim: Object) -> None:
        delayed = self.delayed(claim)
        volume = best_volume(claim, self._suitable(claim), self._dialect, delayed=delayed)
        if volume is not None:
            await self._writer.bind(volume, claim)
            return
        default = self._default_class(claim)
        if default:
            try:
                await self._writer.save_claim(with_spec(claim, storageClassName=default))
            except ApiError:
                self.unassigned.add()
                raise
            self.assigned.add()
            return
        if delayed and not annotations_of(claim).get(self._dialect(SELECTED_NODE)):
            self._record_waiting(claim)
        elif class_of(claim, self._dialect):
            await self._provisioning.provision(claim)
            return
        else:
            note = "no persistent volumes available for this claim and no storage class is set"
            self._writer.record_claim(claim, NORMAL, "FailedBinding", note)
        await self._writer.claim_phase(claim, "Pending")

    def _default_class(self, claim: Object) -> str:
        """The class that a claim without one gets; "" for none."""
        if not self._assigns_default or has_class(claim, self._dialect):
            return ""
        return newest(each for each in self._classes.list() if is_default_class(each, self._dialect))

    def _record_waiting(self, claim: Object) -> None:
        pods = self._waiting(claim)
        reason, note = "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
        if pods:
            reason = "WaitForPodScheduled"
            note = f"waiting for pod{'s' if len(pods) > 1 else ''} {','.join(pods)} to be scheduled"
        self._writer.record_claim(claim, NORMAL, reason, note)

    async def _bind_chosen(self, claim: Object) -> None:
        """Bind a claim that names its volume."""
        volume = self._writer.volumes.get("", spec(claim)["volumeName"])
        if volume is None:
            await self._writer.claim_phase(claim, "Pending")
        elif spec(volume).get("claimRef") is None:
            trouble = mismatch(volume, claim, self._dialect)
            if not trouble:
                await self._writer.bind(volume, claim)
                return
            note = f'Cannot bind to requested volume "{name(volume)}": {trouble}'
            self._writer.record_claim(claim, WARNING, "VolumeMismatch", note)
            await self._writer.claim_phase(claim, "Pending")
        elif bound_to(volume, claim):
            await self._writer.bind(volume, claim)
        else:
            note = f'volume "{name(volume)}" already bound to a different claim.'
            self._writer.record_claim(claim, WARNING, "FailedBinding", note)
            if self._dialect(BOUND_BY_CONTROLLER) not in annotations_of(claim):
                await self._writer.claim_phase(claim, "Pending")

    async def _check_bound(self, claim: Object) -> None:
        """Check a claim that was bound before."""
        chosen = spec(claim).get("volumeName")
        volume = self._writer.volumes.get("", chosen) if chosen else None
        if not chosen:
            note = f"Bound claim has lost reference to PersistentVolume. {_LOST}"
            await self._writer.claim_lost(claim, "ClaimLost", note)
        elif volume is None:
            await self._writer.claim_lost(claim, "ClaimLost", f"Bound claim has lost its PersistentVolume. {_LOST}")
        elif spec(volume).get("claimRef") is None or spec(volume)["claimRef"].get("uid") == uid(claim):
            await self._writer.bind(volume, claim)
        else:
            note = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._writer.claim_lost(claim, "ClaimMisbound", note)
