"""Which objects select a pod, without asking all of a namespace: an index of selectors by one label that they require."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from orchd.client.interfaces import IInformer, Object
from orchd.controllers.objects import labels, namespace
from orchd.kinds.objects.selectors import LabelSelector

#: Index of objects that have a selector: "namespace/key=value" of one exact label, "namespace/" without such a label.
BY_SELECTOR: Final = "controllers/selector"

#: The selector of an object.
Select = Callable[[Object], LabelSelector]


def index_by_selector(informer: IInformer, select: Select) -> None:
    """Index objects by their selectors; all users of one informer have the same `select`."""

    def values(obj: Object) -> Iterable[str]:
        found = select(obj)
        if found.impossible:
            return ()
        # Any of the required labels will do: who lacks it is not selected.
        first = min(found.exact.items(), default=None)
        return (f"{namespace(obj)}/" + ("" if first is None else "=".join(first)),)

    try:
        informer.by_index(BY_SELECTOR, "")
    except KeyError:
        informer.add_index(BY_SELECTOR, values)


def list_selecting(informer: IInformer, select: Select, obj: Object) -> Iterator[Object]:
    """Objects of an informer indexed by `index_by_selector` whose selectors match the labels of `obj`, in its namespace."""
    found, within = labels(obj), namespace(obj)
    for value in ("", *(f"{key}={text}" for key, text in found.items())):
        for each in informer.by_index(BY_SELECTOR, f"{within}/{value}"):
            if select(each).matches(found):
                yield each
