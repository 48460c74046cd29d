"""Informer objects overlaid with assumed versions, which pending writes will produce."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.client.informers import key_of
from orchd.client.interfaces import IInformer
from orchd.kinds.digits import integer, is_whole
from orchd.kinds.jsonvalues import Object

Key = tuple[str, str]


class AssumedObjects:
    """An informer's objects, some replaced by assumed versions. An assumption ends with `restore`, or when the informer
    has a newer version of the object or removes it."""

    def __init__(self, informer: IInformer) -> None:
        self._informer = informer
        self._assumed: dict[Key, Object] = {}
        informer.add_listener(self._changed)

    def _changed(self, kind: str, old: Object | None, new: Object | None) -> None:
        key = key_of(new if new is not None else old or {})
        assumed = self._assumed.get(key)
        if assumed is not None and (new is None or version(new) > version(assumed)):
            del self._assumed[key]

    def get(self, namespace: str, name: str) -> Object | None:
        """The assumed version of the object, else the informer's."""
        assumed = self._assumed.get((namespace, name))
        return self._informer.get(namespace, name) if assumed is None else assumed

    def present(self, namespace: str, name: str) -> Object | None:
        """The informer's version of the object."""
        return self._informer.get(namespace, name)

    def latest(self, objects: Iterable[Object]) -> list[Object]:
        """All objects, with assumed versions in place of the informer's."""
        if not self._assumed:
            return list(objects)
        return [self._assumed.get(key_of(each), each) for each in objects]

    def assume(self, obj: Object) -> None:
        """Replace the object with `obj`. Raises ValueError if the informer has a newer version, or none."""
        namespace, name = key = key_of(obj)
        present = self.get(namespace, name)
        if present is None:
            raise ValueError(f'could not find "{name}"')
        if version(obj) < version(present):
            raise ValueError(f'"{name}" is out of sync (stored: {version(present)}, assume: {version(obj)})')
        self._assumed[key] = obj

    def restore(self, obj: Object) -> None:
        """Drop the assumed version of an object."""
        self._assumed.pop(key_of(obj), None)


def version(obj: Object) -> int:
    """The resource version as a number; versions of one resource increase."""
    text = obj["metadata"].get("resourceVersion") or "0"
    return integer(text) if is_whole(text) else 0
