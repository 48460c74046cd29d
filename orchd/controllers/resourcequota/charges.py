"""Usage of each measured object of a namespace under one quota, updated with every change of an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import PODS
from orchd.dialect import Dialect
from orchd.kinds.catalog import Resource
from orchd.kinds.fields import deleting
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage
from orchd.kinds.objects.quota.scopes import in_scopes
from orchd.kinds.objects.quota.usage import ONE, ZERO, count_name, usage_of
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.times import seconds_of

#: The resources that a quota concerns, each with the names in the quota that are about it.
Concerned = Mapping[ResourceRef, tuple[Resource, list[str]]]
#: A usage as a hashable value.
_Amounts = tuple[tuple[str, Quantity], ...]
#: Resource, namespace and name of an object.
_ObjectKey = tuple[ResourceRef, tuple[str, str]]


class Charges:
    """Usage under one quota: the objects are counted by equal amounts, so that `total` costs one addition per distinct
    amount. Terminating pods are kept separately, because their usage changes when their grace period ends."""

    def __init__(self, quota: Object, concerned: Concerned, dialect: Dialect) -> None:
        self.quota = quota
        self.concerned = concerned
        self._dialect = dialect
        self._amounts: dict[_ObjectKey, _Amounts] = {}
        self._numbers: dict[ResourceRef, Counter[_Amounts]] = {ref: Counter() for ref in concerned}
        #: Terminating pods: usage up to the end of the grace period, that end in epoch seconds, and usage after it.
        self._leaving: dict[_ObjectKey, tuple[_Amounts, float, _Amounts]] = {}

    def __len__(self) -> int:
        return len(self._amounts) + len(self._leaving)

    def put(self, ref: ResourceRef, key: tuple[str, str], obj: Object | None) -> bool:
        """Record the current state of an object, None if it was deleted. Returns True if its usage changed."""
        object_key = ref, key
        leaving = self._leaving.pop(object_key, None)
        before = self._amounts.pop(object_key, None) if leaving is None else leaving[0]
        if before is not None and leaving is None:
            self._numbers[ref][before] -= 1
            if not self._numbers[ref][before]:
                del self._numbers[ref][before]
        if obj is None:
            return before is not None
        after = self._charge(ref, obj)
        grace = obj["metadata"].get("deletionGracePeriodSeconds")
        if ref == PODS and deleting(obj) and grace is not None:
            # A pod on a lost node may never be confirmed as gone: after its grace period it only counts as an object.
            overdue = (seconds_of(obj["metadata"]["deletionTimestamp"]) or 0.0) + int(grace)
            counted = count_name(self.concerned[ref][0])
            self._leaving[object_key] = after, overdue, tuple((name, ONE) for name, _ in after if name == counted)
        else:
            self._amounts[object_key] = after
            self._numbers[ref][after] += 1
        return before != after

    def _charge(self, ref: ResourceRef, obj: Object) -> _Amounts:
        resource, names = self.concerned[ref]
        if not in_scopes(resource, obj, self.quota):
            return ()
        used = usage_of(resource, obj, self._dialect)
        return tuple((name, used[name]) for name in names if name in used)

    def total(self, ref: ResourceRef, now: float) -> Usage:
        """Sum of the usage of the objects of a resource at epoch second `now`, by name in the quota."""
        total: Usage = dict.fromkeys(self.concerned[ref][1], ZERO)
        # In place: a quota may have thousands of names, and its objects thousands of different amounts.
        for amounts, number in self._numbers[ref].items():
            for name, value in amounts:
                total[name] += Quantity(value.nano * number, value.format)
        for (of, _), (amounts, overdue, later) in self._leaving.items():
            if of == ref:
                for name, value in later if now > overdue else amounts:
                    total[name] += value
        return total


class ChargesOfQuotas:
    """`Charges` by quota, for the quotas that `begin` was called for. Call `observe` for every event of the measured
    resources."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, dict[tuple[str, str], Charges]] = {}
        self._changed: dict[Charges, set[_ObjectKey]] = {}

    def get(self, quota: Object, concerned: Concerned) -> Charges | None:
        """The charges of a quota; None unless they are complete and belong to this state of its spec."""
        key = key_of(quota)
        charge = self._by_namespace.get(key[0], {}).get(key)
        if charge is None or charge in self._changed or charge.concerned != concerned:
            return None
        return charge if charge.quota.get("spec") == quota.get("spec") else None

    def count(self, key: tuple[str, str]) -> int:
        """Number of objects that are charged to a quota."""
        charge = self._by_namespace.get(key[0], {}).get(key)
        return 0 if charge is None else len(charge)

    def begin(self, charges: Charges) -> None:
        """Register charges that `fill` is called for until `finish`. Objects that events mention meanwhile are
        remembered."""
        key = key_of(charges.quota)
        self.forget(key)
        self._by_namespace.setdefault(key[0], {})[key] = charges
        self._changed[charges] = set()

    def fill(self, charges: Charges, ref: ResourceRef, obj: Object) -> bool:
        """Add an object of a list unless an event has delivered a newer state of it. Returns False if the charges are
        obsolete."""
        changed = self._changed.get(charges)
        if changed is None:
            return False
        if (ref, key_of(obj)) not in changed:
            charges.put(ref, key_of(obj), obj)
        return True

    def finish(self, charges: Charges) -> None:
        """Mark the charges as complete."""
        self._changed.pop(charges, None)

    def forget(self, key: tuple[str, str]) -> None:
        """Drop the charges of a quota."""
        charge = self._by_namespace.get(key[0], {}).pop(key, None)
        if charge is not None:
            self._changed.pop(charge, None)
            if not self._by_namespace[key[0]]:
                del self._by_namespace[key[0]]

    def observe(self, ref: ResourceRef, key: tuple[str, str], obj: Object | None) -> list[tuple[str, str]]:
        """Apply the current state of an object, None if it was deleted. Returns the keys of the quotas whose usage
        changed."""
        changed_quotas = []
        for quota, charges in self._by_namespace.get(key[0], {}).items():
            if ref in charges.concerned:
                if charges in self._changed:
                    self._changed[charges].add((ref, key))
                if charges.put(ref, key, obj):
                    changed_quotas.append(quota)
        return changed_quotas
