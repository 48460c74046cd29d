"""What each measured object of a namespace uses of one quota, kept with every change of an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.controllers.objects import PODS, deleting, seconds_of
from orchd.dialect import Dialect
from orchd.kinds.catalog import Resource
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.amounts import Usage, add
from orchd.kinds.objects.quota.scopes import in_scopes
from orchd.kinds.objects.quota.usage import ONE, count_name, usage_of
from orchd.kinds.objects.scalars import Quantity

#: The resources that a quota concerns, each with the names in the quota that are about it.
Concerned = Mapping[ResourceRef, tuple[Resource, list[str]]]
#: A usage that can be counted.
_Amounts = tuple[tuple[str, Quantity], ...]
#: Resource, namespace and name of an object.
_Place = tuple[ResourceRef, tuple[str, str]]


class Charges:
    """Of objects that use the same, one amount and their number is kept, so that a sum costs as much as there are different ones.
    Pods that are being deleted are kept apart: what they use depends on the time."""

    def __init__(self, quota: Object, concerned: Concerned, dialect: Dialect) -> None:
        self.quota = quota
        self.concerned = concerned
        self._dialect = dialect
        self._amounts: dict[_Place, _Amounts] = {}
        self._numbers: dict[ResourceRef, Counter[_Amounts]] = {ref: Counter() for ref in concerned}
        #: What a pod uses until a time, in epoch seconds, and after it.
        self._leaving: dict[_Place, tuple[_Amounts, float, _Amounts]] = {}

    def __len__(self) -> int:
        return len(self._amounts) + len(self._leaving)

    def put(self, ref: ResourceRef, key: tuple[str, str], obj: Object | None) -> bool:
        """An object is as given now, None if it is gone. True if it uses something else than before."""
        place = ref, key
        leaving = self._leaving.pop(place, None)
        before = self._amounts.pop(place, None) if leaving is None else leaving[0]
        if before is not None and leaving is None:
            self._numbers[ref][before] -= 1
            if not self._numbers[ref][before]:
                del self._numbers[ref][before]
        if obj is None:
            return before is not None
        after = self._charge(ref, obj)
        grace = obj["metadata"].get("deletionGracePeriodSeconds")
        if ref == PODS and deleting(obj) and grace is not None:
            # Nothing may confirm the end of a pod whose node is lost: it counts as an object then, and no more.
            overdue = (seconds_of(obj["metadata"]["deletionTimestamp"]) or 0.0) + int(grace)
            counted = count_name(self.concerned[ref][0])
            self._leaving[place] = after, overdue, tuple((name, ONE) for name, _ in after if name == counted)
        else:
            self._amounts[place] = after
            self._numbers[ref][after] += 1
        return before != after

    def _charge(self, ref: ResourceRef, obj: Object) -> _Amounts:
        resource, names = self.concerned[ref]
        if not in_scopes(resource, obj, self.quota):
            return ()
        used = usage_of(resource, obj, self._dialect)
        return tuple((name, used[name]) for name in names if name in used)

    def total(self, ref: ResourceRef, now: float) -> Usage:
        """What the objects of a resource use together, by each of its names in the quota."""
        total: Usage = {name: Quantity.of(0) for name in self.concerned[ref][1]}
        for amounts, number in self._numbers[ref].items():
            total = add(total, {name: Quantity(value.nano * number, value.format) for name, value in amounts})
        for (of, _), (amounts, overdue, later) in self._leaving.items():
            if of == ref:
                total = add(total, dict(later if now > overdue else amounts))
        return total


class ChargesOfQuotas:
    """The charges of the quotas that were asked for. Call `observe` for every event of the measured resources."""

    def __init__(self) -> None:
        self._found: dict[str, dict[tuple[str, str], Charges]] = {}
        self._changed: dict[Charges, set[_Place]] = {}

    def get(self, quota: Object, concerned: Concerned) -> Charges | None:
        """Those of a quota, None if there are no complete ones for this state of it."""
        key = key_of(quota)
        found = self._found.get(key[0], {}).get(key)
        if found is None or found in self._changed or found.concerned != concerned:
            return None
        return found if found.quota.get("spec") == quota.get("spec") else None

    def count(self, key: tuple[str, str]) -> int:
        """How many objects are charged to a quota."""
        found = self._found.get(key[0], {}).get(key)
        return 0 if found is None else len(found)

    def begin(self, charges: Charges) -> None:
        """New charges, which are to be filled; until `finish` what events tell is remembered."""
        key = key_of(charges.quota)
        self.forget(key)
        self._found.setdefault(key[0], {})[key] = charges
        self._changed[charges] = set()

    def fill(self, charges: Charges, ref: ResourceRef, obj: Object) -> bool:
        """Add an object of the list, unless an event delivered a newer state of it. False if the charges are obsolete."""
        changed = self._changed.get(charges)
        if changed is None:
            return False
        if (ref, key_of(obj)) not in changed:
            charges.put(ref, key_of(obj), obj)
        return True

    def finish(self, charges: Charges) -> None:
        """The charges are complete."""
        self._changed.pop(charges, None)

    def forget(self, key: tuple[str, str]) -> None:
        """Drop the charges of a quota."""
        found = self._found.get(key[0], {}).pop(key, None)
        if found is not None:
            self._changed.pop(found, None)
            if not self._found[key[0]]:
                del self._found[key[0]]

    def observe(self, ref: ResourceRef, key: tuple[str, str], obj: Object | None) -> list[tuple[str, str]]:
        """An object is as given now, None if it is gone. Gives the quotas of which it uses something else than before."""
        concerned = []
        for quota, charges in self._found.get(key[0], {}).items():
            if ref in charges.concerned:
                if charges in self._changed:
                    self._changed[charges].add((ref, key))
                if charges.put(ref, key, obj):
                    concerned.append(quota)
        return concerned
