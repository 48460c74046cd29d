"""Which objects select a pod, without asking all of a namespace: an index of selectors by one label that they
require. Which pods an object selects, without asking all of a namespace in each pass: groups that follow every
change of a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.client.informers import key_of
from orchd.client.interfaces import IInformer
from orchd.controllers.loop import RetryError
from orchd.controllers.podviews import view
from orchd.kinds.fields import labels, namespace
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector

#: Index of objects that have a selector: "namespace/key=value" of one exact label, "namespace/" without such a label.
BY_SELECTOR: Final = "controllers/selector"

#: The selector of an object.
Select = Callable[[Object], LabelSelector]


def index_by_selector(informer: IInformer, select: Select) -> None:
    """Index objects by their selectors; all users of one informer have the same `select`."""

    def values(obj: Object) -> Iterable[str]:
        selector = select(obj)
        if selector.impossible:
            return ()
        # Any required label serves: an object without it is not selected.
        first = min(selector.exact.items(), default=None)
        return (f"{namespace(obj)}/" + ("" if first is None else "=".join(first)),)

    try:
        informer.by_index(BY_SELECTOR, "")
    except KeyError:
        informer.add_index(BY_SELECTOR, values)


def list_selecting(informer: IInformer, select: Select, obj: Object) -> Iterator[Object]:
    """Objects of an informer indexed by `index_by_selector` whose selectors match the labels of `obj`, in its
    namespace."""
    pairs, within = labels(obj), namespace(obj)
    # One call for all labels, without a step of Python for each: a pod may have some ten thousand.
    places = map(f"{within}/".__add__, map("=".join, pairs.items()))
    for each in informer.by_index(BY_SELECTOR, f"{within}/", *places):
        if select(each).matches(pairs):
            yield each


K = TypeVar("K")
#: Namespace and name.
_Key = tuple[str, str]
#: Pods per reactor turn while a group is filled.
_PIECE: Final = 30


class _Group:
    """Views of the pods that a selector selects. `place` is where it is found by namespace and label."""

    def __init__(self, within: str, selector: LabelSelector) -> None:
        self.place = within, min(selector.exact.items(), default=None)
        self.selector = selector
        self.views: dict[_Key, Object] = {}


class SelectedPods:
    """The pods that objects select, as views. Call `observe` for every event of the informer of pods, and `forget` when
    an object's selector changed or the object was deleted. A group is built at its first use, from all pods of the
    namespace, and updated from then on."""

    def __init__(self, pods: IInformer, select: Select, clock: IReactorTime) -> None:
        self._pods = pods
        self._select = select
        self._clock = clock
        self._groups: dict[_Key, _Group] = {}
        #: Groups being filled, each with the pods of events since then, whose state in the list is outdated.
        self._filling: dict[_Key, set[_Key]] = {}
        #: Keys of groups by place, and by pod.
        self._placed: dict[tuple[str, tuple[str, str] | None], set[_Key]] = {}
        self._having: dict[_Key, set[_Key]] = {}

    async def find(self, each: Object) -> list[Object]:
        """Views of the pods that an object selects, in no order. Not to be called for one object twice at once. Raises
        RetryError when the object was changed meanwhile."""
        key, selector = key_of(each), self._select(each)
        group = self._groups.get(key)
        if group is None or group.selector != selector:
            self.forget(key)
            group = await self._fill(key, selector)
        return list(group.views.values())

    def count(self, key: _Key) -> int:
        """Number of pods that an object selects; 0 before `find` was called for it."""
        group = self._groups.get(key)
        return 0 if group is None else len(group.views)

    def forget(self, key: _Key) -> None:
        """Drop the group of an object."""
        group = self._groups.pop(key, None)
        self._filling.pop(key, None)
        if group is not None:
            for pod in group.views:
                _discard(self._having, pod, key)
            _discard(self._placed, group.place, key)

    async def _fill(self, key: _Key, selector: LabelSelector) -> _Group:
        group = self._groups[key] = _Group(key[0], selector)
        changed = self._filling[key] = set()
        self._placed.setdefault(group.place, set()).add(key)
        filled = False
        try:
            pods = () if selector.impossible else self._pods.list(key[0], labels=selector.exact)
            for count, pod in enumerate(pods, 1):
                if key_of(pod) not in changed and selector.matches(labels(pod)):
                    self._put(key, group, key_of(pod), view(pod))
                if not count % _PIECE:
                    await deferLater(self._clock, 0)
                    if self._groups.get(key) is not group:
                        raise RetryError
            filled = True
        finally:
            self._filling.pop(key, None)
            if not filled:
                self.forget(key)
        return group

    def observe(self, old: Object | None, new: Object | None) -> None:
        """Follow one change of a pod."""
        pod = new or old
        if pod is None or not self._groups:
            return
        key = key_of(pod)
        for changed in self._filling.values():
            changed.add(key)
        before = self._having.get(key, ())
        after = () if new is None else self._selecting(new)
        viewed = view(new) if new is not None and after else None
        for each in {*before, *after}:
            group = self._groups[each]
            if viewed is not None and each in after:
                self._put(each, group, key, viewed)
            else:
                del group.views[key]
                _discard(self._having, key, each)

    def _selecting(self, pod: Object) -> list[_Key]:
        pairs, within = labels(pod), namespace(pod)
        places = ((within, None), *((within, item) for item in pairs.items()))
        keys = (key for place in places for key in self._placed.get(place, ()))
        return [key for key in keys if self._groups[key].selector.matches(pairs)]

    def _put(self, owner: _Key, group: _Group, key: _Key, viewed: Object) -> None:
        group.views[key] = viewed
        self._having.setdefault(key, set()).add(owner)


def _discard(table: dict[K, set[_Key]], entry: K, key: _Key) -> None:
    table[entry].discard(key)
    if not table[entry]:
        del table[entry]
