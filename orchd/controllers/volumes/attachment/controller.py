"""The attachdetach controller: event handlers, and the reconcile of a node."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import CLAIMS, MERGE, NODES, PODS
from orchd.controllers.volumes.attachment.attachable import (
    Attachable,
    attachment,
    attachment_name,
    csi_prefix,
    from_persistent_volume,
    is_attachable_name,
)
from orchd.controllers.volumes.attachment.attempts import Attempts
from orchd.controllers.volumes.attachment.conflicts import conflict_note
from orchd.controllers.volumes.attachment.desired_state import BY_NODE, DesiredVolume, DesiredVolumes, managed, node_of
from orchd.controllers.volumes.usage import BY_CLAIM, POD_KIND, VOLUMES, index_by_claim, terminated
from orchd.errors import ApiError
from orchd.kinds.fields import annotations_of, deleting, mapping, name, namespace, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.txkit.metrics import instruments

#: Seconds for which a volume that its node still reports as in use stays attached after its last pod.
UNMOUNT_PATIENCE: Final = 360.0
#: Index of attachments by node, and of both attachments and nodes by what is attached.
_BY_NODE: Final = "attachdetach/node"
_BY_VOLUME: Final = "attachdetach/volume"
_OWN_NAME = re.compile(r"csi-[0-9a-f]{64}")
_FAILED: Final = "FailedAttachVolume"
#: Name and labels of the number of forced detachments, by the release that begins them.
_FORCED: Final[tuple[tuple[str, tuple[str, tuple[str, ...]]], ...]] = (
    ("", ("attachdetach_controller_forced_detaches", ())),
    ("1.28", ("attach_detach_controller_attachdetach_controller_forced_detaches", ("reason",))),
)


class AttachDetachController(Controller):
    """Keys are nodes. One worker: two nodes at once could both get a volume that only one may have."""

    name = "attachdetach"
    account = "attachdetach-controller"
    subject = POD_KIND

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=1)
        settings = env.settings
        self._period = (
            0.0 if settings.disable_attach_detach_reconcile_sync else settings.attach_detach_reconcile_sync_period
        )
        group = env.dialect("storage.{abbr}.io")
        self._attachment_ref = ResourceRef(group, "v1", "volumeattachments")
        self._nodes = self.follow(NODES, self._node_changed)
        self._nodes.add_index(_BY_VOLUME, lambda node: tuple(reported(node)))
        self._attachments = self.follow(self._attachment_ref, self._attachment_changed)
        self._attachments.add_index(_BY_NODE, lambda obj: (str(spec(obj).get("nodeName")),))
        self._attachments.add_index(_BY_VOLUME, _persistent_name)
        self._volumes = self.follow(VOLUMES, self._volume_changed)
        self._claims = self.follow(CLAIMS, self._claim_changed)
        self._pods = self.follow(PODS, self._pod_changed)
        self._pods.add_index(BY_NODE, node_of)
        index_by_claim(self._pods)
        drivers = self.follow(ResourceRef(group, "v1", "csidrivers"))
        self._required = DesiredVolumes(self._pods, self._claims, self._volumes, drivers, env.dialect)
        self._attempts = Attempts()
        #: Numbers of used volumes by node and plugin.
        self._in_use: dict[str, Counter[str]] = {}
        forced, labels = env.release.choose(_FORCED)
        self._forced = instruments.Counter(forced, "Volumes detached although their node may still use them.", labels)
        #: Since when volumes wait to be detached, by node and unique name (or attachment, where the volume is unknown).
        self._leaving: dict[tuple[str, str], float] = {}
        #: Node and volume of attachments that were created and that the informer has not shown yet, by name.
        self._unseen: dict[str, tuple[str, str]] = {}
        #: Nodes that wait for another node to release a volume, and the conflicts that were reported to their pods.
        self._blocked: dict[str, set[str]] = {}

    @property
    def instruments(self) -> Sequence[instruments.Instrument]:  # type: ignore[override]  # computed when it is read
        """Numbers of volumes that pods use, and of those that are attached."""
        used = instruments.Gauge(
            "storage_count_attachable_volumes_in_use",
            "Volumes that pods use, by node and plugin.",
            ("node", "volume_plugin"),
        )
        total = instruments.Gauge(
            "attachdetach_controller_total_volumes",
            "Volumes in the desired and in the actual state of attachment.",
            ("plugin_name", "state"),
        )
        for node, plugins in self._in_use.items():
            for plugin, number in plugins.items():
                used.add(number, node, plugin)
                total.add(number, plugin, "desired_state_of_world")
        for each in self._attachments.list():
            total.add(1, self.dialect("{long}.io/csi:") + str(spec(each).get("attacher")), "actual_state_of_world")
        return used, total, self._forced

    def _refill(self) -> None:
        for node in self._nodes.list():
            self.queue.add(("", name(node)))
        for each in self._attachments.list():
            self.queue.add(("", str(spec(each).get("nodeName"))))

    # -- what changed

    def _node_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        node = new or old
        if node is None or (old is not None and new is not None and _same_volumes(old, new)):
            return
        self.queue.add(("", name(node)))
        self._enqueue_blocked()

    def _attachment_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        if obj is not None:
            self._unseen.pop(name(obj), None)
            self.queue.add(("", str(spec(obj).get("nodeName"))))
        if new is None:
            self._enqueue_blocked()

    def _enqueue_blocked(self) -> None:
        for node in self._blocked:
            self.queue.add(("", node))

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and _same_use(old, new):
            return
        for pod in (old, new):
            if pod is not None:
                for node in node_of(pod):
                    self.queue.add(("", node))

    def _claim_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        claim = new or old
        if claim is not None and (old is None or new is None or status(old).get("phase") != status(new).get("phase")):
            self._enqueue_users(namespace(claim), name(claim))

    def _volume_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        volume = new or old
        reference = spec(volume).get("claimRef") if volume is not None else None
        if reference is not None and (old is None or new is None or spec(old) != spec(new)):
            self._enqueue_users(reference.get("namespace", ""), reference.get("name", ""))

    def _enqueue_users(self, within: str, claim: str) -> None:
        for pod in self._pods.by_index(BY_CLAIM, f"{within}/{claim}"):
            for node in node_of(pod):
                self.queue.add(("", node))

    # -- one turn of a node

    async def reconcile(self, key: Key) -> float | None:
        called = key[1]
        node = self._nodes.get("", called)
        if node is not None and not managed(node, self.dialect):
            return None
        desired = self._required.on(called, node)
        self._count(called, desired)
        waits = await self._detach(called, node, desired)
        if node is not None:
            waits += await self._attach(called, desired)
        else:
            self._forget(called, desired)
        if desired and self._period >= 1.0:
            waits.append(self._period)
        return min(waits, default=None)

    def _count(self, node_name: str, desired: dict[str, DesiredVolume]) -> None:
        """Note how many volumes of each plugin the pods of a node use."""
        prefix = self.dialect("{long}.io/csi:")
        counts = Counter(prefix + each.volume.driver for each in desired.values())
        if counts:
            self._in_use[node_name] = counts
        else:
            self._in_use.pop(node_name, None)

    def _forget(self, node_name: str, desired: dict[str, DesiredVolume]) -> None:
        """Drop the state of a deleted node. Its remaining attachments are detached with its last pod."""
        self._blocked.pop(node_name, None)
        for key in [each for each in self._leaving if each[0] == node_name and each[1] not in desired]:
            del self._leaving[key]

    def _own_attachments(self, node: str) -> dict[str, Attachable | None]:
        """Attachments of a node that have this controller's names, with their volumes; None for one that was
        deleted."""
        attachables: dict[str, Attachable | None] = {}
        for each in self._attachments.by_index(_BY_NODE, node):
            volume = self._volumes.get("", next(iter(_persistent_name(each)), ""))
            attachable = None if volume is None else from_persistent_volume(volume, self.dialect)
            if attachable is None and _OWN_NAME.fullmatch(name(each)):
                attachables[name(each)] = None
            elif attachable is not None and attachment_name(attachable, node) == name(each):
                attachables[name(each)] = attachable
        return attachables

    async def _detach(self, node_name: str, node: Object | None, desired: dict[str, DesiredVolume]) -> list[float]:
        """Report the attached volumes, then delete attachments that no pod needs. Returns seconds until the next
        check."""
        own = self._own_attachments(node_name)
        unwanted = {each: volume for each, volume in own.items() if volume is None or volume.unique_name not in desired}
        for attachable in own.values():
            if attachable is not None and attachable.unique_name in desired:
                self._leaving.pop((node_name, attachable.unique_name), None)
        waits: list[float] = []
        ready: list[str] = []
        for each, volume in unwanted.items():
            wait = self._wait_for_unmount(node_name, node, self._mount_name(each, volume))
            if wait > 0:
                waits.append(wait)
            else:
                ready.append(each)
        if node is not None:
            node = await self._report(node_name, node, desired, own, set(ready), waits)
        for each in ready:
            mounted = self._mount_name(each, own[each])
            # The response to the report is newer than what the informer shows.
            wait = self._wait_for_unmount(node_name, node, mounted)
            if wait > 0:
                waits.append(wait)
            else:
                self._leaving.pop((node_name, mounted), None)
                await self._delete_attachment(each)
        return waits

    def _mount_name(self, called: str, volume: Attachable | None) -> str:
        """The unique name of an attachment's volume; the prefix of possible names if the volume was deleted."""
        if volume is not None:
            return volume.unique_name
        attachment = self._attachments.get("", called)
        return f"{csi_prefix(self.dialect)}{'' if attachment is None else spec(attachment).get('attacher')}^"

    def _wait_for_unmount(self, node_name: str, node: Object | None, unique_name: str) -> float:
        """Seconds for which a volume that is not wanted must stay: its node may still have it mounted."""
        now = self.env.clock.seconds()
        since = self._leaving.setdefault((node_name, unique_name), now)
        in_use = () if node is None else status(node).get("volumesInUse") or ()
        begins = unique_name.endswith("^")
        if not any(each == unique_name or (begins and each.startswith(unique_name)) for each in in_use):
            return 0.0
        left = max(0.0, since + UNMOUNT_PATIENCE - now)
        if not left:
            self._forced.add(*(("timeout",) if self._forced.labels else ()))
        return left

    async def _delete_attachment(self, called: str) -> None:
        self._attempts.end(called)
        self._unseen.pop(called, None)
        attachment = self._attachments.get("", called)
        if attachment is not None and not deleting(attachment):
            await self.remove(self._attachment_ref, "", called)

    async def _report(
        self,
        node_name: str,
        node: Object,
        desired: dict[str, DesiredVolume],
        own: dict[str, Attachable | None],
        ready: set[str],
        waits: list[float],
    ) -> Object | None:
        """Write the attached volumes into the node's status. Returns the updated node, None if it was deleted."""
        before = reported(node)
        after = {each for each in before if not is_attachable_name(each, self.dialect)}
        for each, volume in own.items():
            attachment = self._attachments.get("", each)
            if volume is not None and each not in ready and attachment is not None and _attached(attachment):
                after.add(volume.unique_name)
        after |= self._by_node(node_name, node, desired, waits)
        if after == set(before):
            return node
        listed = [{"name": each, "devicePath": before.get(each, "")} for each in sorted(after)]
        change = {"status": {"volumesAttached": listed or None}}
        try:
            changed: Object = await self.client.patch(
                NODES, "", node_name, change, content_type=MERGE, subresource="status"
            )
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        for unique_name in after - set(before):
            entry = desired.get(unique_name)
            if entry is not None and not entry.volume.driver:
                self._record_success(entry)
        return changed

    def _by_node(self, node_name: str, node: Object, desired: dict[str, DesiredVolume], waits: list[float]) -> set[str]:
        """Volumes that the kubelet attaches itself: those wanted, and those still mounted."""
        attached: set[str] = set()
        for unique_name, each in desired.items():
            if not each.volume.driver:
                self._leaving.pop((node_name, unique_name), None)
                if not self._conflict(node_name, each):
                    attached.add(unique_name)
        for unique_name in reported(node):
            mine = is_attachable_name(unique_name, self.dialect) and "^" not in unique_name
            if not mine or unique_name in desired:
                continue
            wait = self._wait_for_unmount(node_name, node, unique_name)
            if wait > 0:
                attached.add(unique_name)
                waits.append(wait)
            else:
                self._leaving.pop((node_name, unique_name), None)
        return attached

    async def _attach(self, node_name: str, desired: dict[str, DesiredVolume]) -> list[float]:
        """Request missing attachments, and record results for the pods. Returns seconds until the next check."""
        waits: list[float] = []
        clear = True
        for each in desired.values():
            if not each.volume.driver:
                clear = clear and not self._conflict(node_name, each)
                continue
            attachment = self._attachments.get("", attachment_name(each.volume, node_name))
            if attachment is not None:
                waits += self._follow_attachment(attachment, each)
            elif self._conflict(node_name, each):
                clear = False
            else:
                waits.append(await self._create_attachment(node_name, each))
        if clear:
            self._blocked.pop(node_name, None)
        return waits

    async def _create_attachment(self, node_name: str, desired: DesiredVolume) -> float:
        new = attachment(desired.volume, node_name, f"{self._attachment_ref.group}/v1")
        self._attempts.begin(name(new), self.env.clock.seconds())
        self._unseen[name(new)] = (node_name, desired.volume.volume)
        try:
            await self.client.create(self._attachment_ref, "", new)
        except ApiError as error:
            self._unseen.pop(name(new), None)
            if error.reason != "AlreadyExists":
                return self._record_failure(name(new), desired, error.message)
        return self._attempts.check(name(new), "", self.env.clock.seconds())[1]

    def _follow_attachment(self, attachment: Object, desired: DesiredVolume) -> list[float]:
        """Process an existing attachment: attached, failed, or pending."""
        if deleting(attachment):
            return []
        if _attached(attachment):
            if self._attempts.end(name(attachment)):
                self._record_success(desired)
            return []
        self._attempts.begin(name(attachment), self.env.clock.seconds())
        return [
            self._record_failure(
                name(attachment), desired, mapping(status(attachment), "attachError").get("message") or ""
            )
        ]

    def _record_success(self, desired: DesiredVolume) -> None:
        for pod in desired.pods:
            note = f'AttachVolume.Attach succeeded for volume "{desired.volume.volume}" '
            self.record(pod, NORMAL, "SuccessfulAttachVolume", note)

    def _record_failure(self, called: str, desired: DesiredVolume, error: str) -> float:
        """Record an Event for each pod, with backoff. Returns seconds until the next check."""
        due, wait = self._attempts.check(called, error, self.env.clock.seconds())
        late = (
            f"timed out waiting for external-attacher of {desired.volume.driver} CSI driver to attach volume "
            f"{desired.volume.handle}"
        )
        if due:
            for pod in desired.pods:
                note = f'AttachVolume.Attach failed for volume "{desired.volume.volume}" : {error or late}'
                self.record(pod, WARNING, _FAILED, note)
        return wait

    # -- volumes of one node at a time

    def _conflict(self, node_name: str, desired: DesiredVolume) -> bool:
        """True if the volume permits one node only and another node has it. Records one Event per node and volume."""
        if not desired.volume.exclusive:
            return False
        others = self._nodes_with(desired.volume) - {node_name}
        if not others:
            return False
        conflicts = self._blocked.setdefault(node_name, set())
        if desired.volume.unique_name not in conflicts:
            conflicts.add(desired.volume.unique_name)
            users = [pod for other in sorted(others) for pod in self._users(other, desired.volume)]
            for pod in desired.pods:
                self.record(pod, WARNING, _FAILED, conflict_note(pod, desired.volume.volume, users))
        return True

    def _nodes_with(self, volume: Attachable) -> set[str]:
        if volume.driver:
            attachments = self._attachments.by_index(_BY_VOLUME, volume.volume)
            unseen = {node for node, attached in self._unseen.values() if attached == volume.volume}
            return unseen | {str(spec(each).get("nodeName")) for each in attachments}
        return {name(node) for node in self._nodes.by_index(_BY_VOLUME, volume.unique_name)}

    def _users(self, node_name: str, volume: Attachable) -> list[Object]:
        entry = self._required.on(node_name, self._nodes.get("", node_name)).get(volume.unique_name)
        return [] if entry is None else entry.pods


def reported(node: Object) -> dict[str, str]:
    """Device path of each volume that a node's status says is attached, by unique name."""
    return {str(each["name"]): str(each.get("devicePath", "")) for each in status(node).get("volumesAttached") or ()}


def _attached(attachment: Object) -> bool:
    return bool(status(attachment).get("attached")) and not deleting(attachment)


def _persistent_name(attachment: Object) -> Iterable[str]:
    called = mapping(spec(attachment), "source").get("persistentVolumeName")
    return (str(called),) if called else ()


def _same_volumes(old: Object, new: Object) -> bool:
    members = ("volumesAttached", "volumesInUse")
    return annotations_of(old) == annotations_of(new) and all(status(old).get(m) == status(new).get(m) for m in members)


def _same_use(old: Object, new: Object) -> bool:
    return node_of(old) == node_of(new) and terminated(old) == terminated(new)
