"""Counts of the pods of each owner, updated with every change of a pod.

A reconcile of a replica set with ten thousand pods reads the counts of its few label sets, and examines single pods
only to choose those to delete. The counts follow the events of the informer, not its index: an owner may be reconciled
only after the informer has delivered all objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from math import log2
from typing import Any, Final

import orjson

from orchd.controllers.pods import deletion_rank, group_of, is_finished, ready_since
from orchd.kinds.fields import deleting, labels, name, namespace, spec, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The properties of a pod that its owner reads. `labels` is their JSON with sorted keys: one value, were they
    thousands. `since` is the time of the Ready condition, "" if the pod is not ready. `terminating` pods are being
    deleted and have not finished. `urgency` and `age` are the parts of the deletion order before and after the number
    of related pods on its node."""

    namespace: str
    name: str
    uid: str
    labels: bytes
    active: bool
    deleting: bool
    terminating: bool
    ready: bool
    since: str
    node: str
    urgency: tuple[Any, ...]
    age: tuple[Any, ...]

    def as_object(self) -> Object:
        """The pod's identity as an object, enough to delete it."""
        return {"metadata": {"namespace": self.namespace, "name": self.name, "uid": self.uid}}


def describe(pod: Object, cost_annotation: str) -> Member:
    """The member for a pod."""
    since = ready_since(pod)
    urgency, age = deletion_rank(pod, cost_annotation, since)
    finished, going = is_finished(pod), deleting(pod)
    return Member(
        namespace=namespace(pod),
        name=name(pod),
        uid=uid(pod),
        labels=orjson.dumps(labels(pod), option=orjson.OPT_SORT_KEYS),
        active=not finished and not going,
        deleting=going,
        terminating=going and not finished,
        ready=since is not None,
        since=since or "",
        node=str(spec(pod).get("nodeName") or ""),
        urgency=urgency,
        age=age,
    )


class LabelClass:
    """The members of one owner that have the same labels. `since` counts the active ready ones by the time when they
    became ready."""

    __slots__ = ("active", "labels", "members", "ready", "since", "terminating")

    def __init__(self, key: bytes) -> None:
        self.labels: Mapping[str, str] = orjson.loads(key)
        self.members: dict[str, Member] = {}
        self.active = 0
        self.ready = 0
        self.terminating = 0
        self.since: Counter[str] = Counter()

    def add(self, member: Member) -> None:
        self.members[member.uid] = member
        self._count(member, 1)

    def remove(self, member: Member) -> None:
        del self.members[member.uid]
        self._count(member, -1)

    def _count(self, member: Member, by: int) -> None:
        if not member.active:
            self.terminating += by * member.terminating
            return
        self.active += by
        if member.ready:
            self.ready += by
            self.since[member.since] += by
            if not self.since[member.since]:
                del self.since[member.since]


class Group:
    """The members of one owner, or the pods of a namespace that have none. `nodes` counts active members by node."""

    __slots__ = ("classes", "members", "nodes")

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.classes: dict[bytes, LabelClass] = {}
        self.nodes: Counter[str] = Counter()

    def add(self, member: Member) -> None:
        self.members[member.uid] = member
        label_class = self.classes.get(member.labels)
        if label_class is None:
            label_class = self.classes[member.labels] = LabelClass(member.labels)
        label_class.add(member)
        if member.active:
            self.nodes[member.node] += 1

    def remove(self, member: Member) -> None:
        del self.members[member.uid]
        label_class = self.classes[member.labels]
        label_class.remove(member)
        if not label_class.members:
            del self.classes[member.labels]
        if member.active:
            self.nodes[member.node] -= 1
            if not self.nodes[member.node]:
                del self.nodes[member.node]


_EMPTY: Final = Group()


class Members:
    """Groups of the pods that objects of `kind` control. Call `observe` for every event of the informer of pods."""

    def __init__(self, kind: str, cost_annotation: str) -> None:
        self._kind = kind
        self._cost = cost_annotation
        self._groups: dict[tuple[str, str], Group] = {}

    def observe(self, old: Object | None, new: Object | None) -> None:
        """Follow one change of a pod."""
        before = None if old is None else group_of(old, self._kind)
        after = None if new is None else group_of(new, self._kind)
        if old is not None and before is not None:
            group = self._groups.get(before)
            member = None if group is None else group.members.get(uid(old))
            if group is not None and member is not None:
                group.remove(member)
                if not group.members and before != after:
                    del self._groups[before]
        if new is not None and after is not None:
            group = self._groups.setdefault(after, Group())
            again = group.members.get(uid(new))
            if again is not None:
                group.remove(again)
            group.add(self.describe(new))

    def describe(self, pod: Object) -> Member:
        """The member for a pod."""
        return describe(pod, self._cost)

    def of_owner(self, within: str, owner_uid: str) -> Group:
        """The members of an owner in namespace `within`; callers must not modify the group."""
        return self._groups.get((within, owner_uid), _EMPTY)

    def orphans(self, within: str) -> Group:
        """The pods of a namespace without a controller; callers must not modify it."""
        return self._groups.get((within, ""), _EMPTY)


class Census:
    """The pods that count for an owner now: those of `classes`, and `adopted` ones that the informer does not have
    yet."""

    def __init__(self, classes: Iterable[LabelClass], adopted: Iterable[Member] = ()) -> None:
        self._classes = list(classes)
        for member in adopted:
            extra = LabelClass(member.labels)
            extra.add(member)
            self._classes.append(extra)
        self.active = sum(each.active for each in self._classes)
        self.ready = sum(each.ready for each in self._classes)
        self.terminating = sum(each.terminating for each in self._classes)

    def __iter__(self) -> Iterator[Member]:
        """Active members."""
        return (member for each in self._classes for member in each.members.values() if member.active)

    def count_labeled(self, labels: Mapping[str, str]) -> int:
        """Number of active members with all of these labels."""
        return sum(each.active for each in self._classes if labels.items() <= each.labels.items())

    def count_available(self, min_ready_seconds: int, now: float) -> int:
        """Number of active members that have been ready for the given seconds."""
        if not min_ready_seconds:
            return self.ready
        count = 0
        for each in self._classes:
            for text, number in each.since.items():
                since = seconds_of(text)
                if since is not None and since + min_ready_seconds <= now:
                    count += number
        return count

    def choose_surplus(self, count: int, per_node: Mapping[str, int], now: float | None = None) -> list[Member]:
        """The active members that are deleted first. `per_node` counts related pods on each node.

        With `now`, seconds since the epoch, times are compared by the binary logarithm of their distance from it, and
        members of different but close times are ordered by uid: at random.
        """
        if now is None:
            return nsmallest(count, self, key=lambda m: (m.urgency, -per_node.get(m.node, 0), m.age))
        groups: dict[tuple[Any, ...], list[Member]] = {}
        for member in self:
            group = (
                member.urgency,
                -per_node.get(member.node, 0),
                _distance(-member.age[0], now) if member.ready else 0,
            )
            groups.setdefault(group, []).append(member)
        chosen: list[Member] = []
        for group in sorted(groups):
            chosen += nsmallest(count - len(chosen), groups[group], key=_within(groups[group], now))
            if len(chosen) >= count:
                break
        return chosen


def _within(members: list[Member], now: float) -> Callable[[Member], tuple[Any, ...]]:
    """Sort key of members of the same distance: those of different times by uid."""
    if any(each.age[0] != members[0].age[0] for each in members):
        return lambda member: (member.uid,)
    return lambda member: (member.age[1], _distance(-member.age[2], now), member.uid)


def _distance(at: float, now: float) -> int:
    """The binary logarithm of the nanoseconds from `at` to `now`; -1 for a time to come, -2 for none."""
    if not at:
        return -2
    return int(log2((now - at) * 1e9)) if now > at else -1
