"""Objects written by a controller, until its informer has delivered them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchd.client.informers import key_of
from orchd.client.interfaces import IInformer
from orchd.kinds.digits import integer, is_whole
from orchd.kinds.jsonvalues import Object


def _revision(obj: Object) -> int:
    """Versions of one server's store are numbers; those that are not (of another server) count as old."""
    text = str(obj["metadata"].get("resourceVersion", ""))
    return integer(text) if is_whole(text) else 0


class AssumeCache:
    """The newest known version of each object: what `informer` shows or, while it lags, what `store` was given.

    Pass every event of the informer to `observe`."""

    def __init__(self, informer: IInformer) -> None:
        self._informer = informer
        self._newer: dict[tuple[str, str], Object] = {}

    def get(self, namespace: str, name: str) -> Object | None:
        """The newest version; None when there is no such object."""
        newer = self._newer.get((namespace, name))
        return self._informer.get(namespace, name) if newer is None else newer

    def newest(self, objects: Iterable[Object]) -> Iterator[Object]:
        """The newest versions of objects that the informer gave."""
        for obj in objects:
            yield self._newer.get(key_of(obj), obj)

    def store(self, obj: Object) -> None:
        """`obj` is the response to a write. Ignored when the informer shows it already, or a later version or its
        deletion."""
        cached = self._informer.get(*key_of(obj))
        if cached is not None and _revision(cached) < _revision(obj):
            self._newer[key_of(obj)] = obj

    def observe(self, old: Object | None, new: Object | None) -> None:
        """The informer shows another version, or the deletion when `new` is None."""
        obj = new or old
        if obj is None:
            return
        newer = self._newer.get(key_of(obj))
        if newer is not None and (new is None or _revision(new) >= _revision(newer)):
            del self._newer[key_of(obj)]
