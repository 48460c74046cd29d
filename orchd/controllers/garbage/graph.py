"""Graph of owner references, from observed events. Pure: processes events and returns the uids to examine.

A node holds a few words of an object, never the object: the graph spans everything the server keeps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from orchd.client.interfaces import ResourceRef
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"


class Owner(NamedTuple):
    """One owner reference. The garbage collector does not look at tuples of texts."""

    uid: str
    api_version: str
    kind: str
    name: str
    blocks: bool


@dataclass(slots=True, eq=False)
class Node:
    """One object. `waiting`: a foreground deletion is waiting for its dependents."""

    uid: str
    ref: ResourceRef
    namespace: str
    name: str
    owners: tuple[Owner, ...] = ()
    dependents: set[str] = field(default_factory=set)
    deleting: bool = False
    waiting: bool = False
    orphaning: bool = False


def owners_of(obj: Mapping[str, Any]) -> tuple[Owner, ...]:
    """The owner references of an object."""
    return tuple(
        Owner(
            str(r.get("uid", "")),
            str(r.get("apiVersion", "")),
            str(r.get("kind", "")),
            str(r.get("name", "")),
            bool(r.get("blockOwnerDeletion")),
        )
        for r in fields.owners(obj)
    )


@dataclass(slots=True)
class Work:
    """Work that follows from an event: uids to reconcile, and owners whose dependents are orphaned."""

    check: list[str] = field(default_factory=list)
    orphan: list[str] = field(default_factory=list)


class Graph:
    """All nodes by uid. Dependents are tracked even if their owner has not been observed."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        #: Dependents of unobserved owners.
        self._expecting: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def seen(self, ref: ResourceRef, obj: Object) -> Work:
        """Follow the creation or update of an object."""
        work = Work()
        metadata = obj["metadata"]
        uid = metadata.get("uid", "")
        owners = owners_of(obj)
        finalizers = metadata.get("finalizers") or ()
        deleting = bool(metadata.get("deletionTimestamp"))
        node = self.nodes.get(uid)
        if node is None:
            node = self.nodes[uid] = Node(uid, ref, metadata.get("namespace", ""), metadata["name"])
            node.dependents = self._expecting.pop(uid, set())
            self._adopt(node, owners)
            if owners:
                work.check.append(uid)
        elif node.owners != owners:
            self._changed_owners(node, owners, work)
        node.deleting = deleting
        if deleting and FOREGROUND in finalizers:
            if not node.waiting:
                node.waiting = True
                work.check.extend(node.dependents)
                work.check.append(uid)
        elif node.waiting:
            node.waiting = False
        if deleting and ORPHAN in finalizers:
            if not node.orphaning:
                node.orphaning = True
                work.orphan.append(uid)
        elif node.orphaning:
            node.orphaning = False
        return work

    def gone(self, uid: str) -> Work:
        """Follow the deletion of an object, also of an owner that was never observed."""
        work = Work()
        node = self.nodes.pop(uid, None)
        if node is None:
            work.check.extend(self._expecting.get(uid, ()))
            return work
        if node.dependents:
            self._expecting[uid] = node.dependents
            work.check.extend(node.dependents)
        for owner in node.owners:
            self._leave(owner.uid, uid)
            above = self.nodes.get(owner.uid)
            if above is not None and above.waiting:
                work.check.append(owner.uid)
        return work

    def dependents(self, uid: str) -> list[Node]:
        """The observed dependents of an observed owner."""
        node = self.nodes.get(uid)
        return [] if node is None else [self.nodes[d] for d in node.dependents if d in self.nodes]

    def blocking(self, uid: str) -> list[Node]:
        """Dependents that block the foreground deletion of their owner."""
        return [d for d in self.dependents(uid) if any(o.uid == uid and o.blocks for o in d.owners)]

    def expecting(self) -> list[str]:
        """Dependents of unobserved owners."""
        return [uid for dependents in self._expecting.values() for uid in dependents]

    def of_resource(self, ref: ResourceRef) -> list[Node]:
        return [node for node in self.nodes.values() if node.ref == ref]

    def _changed_owners(self, node: Node, owners: tuple[Owner, ...], work: Work) -> None:
        """Queue a waiting owner after a dependent was removed or stopped blocking it."""
        still = {o.uid for o in owners if o.blocks}
        for old in node.owners:
            above = self.nodes.get(old.uid)
            if above is not None and above.waiting and old.uid not in still:
                work.check.append(old.uid)
        kept = {o.uid for o in owners}
        for old in node.owners:
            if old.uid not in kept:
                self._leave(old.uid, node.uid)
        self._adopt(node, owners)
        work.check.append(node.uid)

    def _adopt(self, node: Node, owners: Iterable[Owner]) -> None:
        node.owners = tuple(owners)
        for owner in node.owners:
            above = self.nodes.get(owner.uid)
            if above is not None:
                above.dependents.add(node.uid)
            else:
                self._expecting.setdefault(owner.uid, set()).add(node.uid)

    def _leave(self, owner: str, uid: str) -> None:
        above = self.nodes.get(owner)
        if above is not None:
            above.dependents.discard(uid)
            return
        expecting = self._expecting.get(owner)
        if expecting is not None:
            expecting.discard(uid)
            if not expecting:
                del self._expecting[owner]
