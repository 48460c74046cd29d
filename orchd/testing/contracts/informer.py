"""The contract of `IInformer` as checks that any implementation can be put through.

Each check is a function with an `InformerSubject` argument; `CHECKS` lists them all. They need an informer of config
maps with empty namespaces ``a`` and ``b``; other namespaces are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from orchd.client.interfaces import IInformer
from orchd.kinds.jsonvalues import Object

#: Namespaces used by the checks.
NAMESPACES = ("a", "b")
Event = tuple[str, "str | None", "str | None"]


@dataclass(frozen=True, kw_only=True)
class InformerSubject:
    """An informer of config maps, and functions that change its objects.

    `put` creates or replaces an object, `remove` deletes one by namespace and name; `settle` delivers all pending
    events.
    """

    informer: IInformer
    put: Callable[[Object], object]
    remove: Callable[[str, str], object]
    settle: Callable[[], object]

    def change(self, name: str, data: str, *, namespace: str = "a", **labels: str) -> None:
        """Create or replace a config map and wait for its event."""
        metadata: dict[str, Any] = {"name": name, "namespace": namespace}
        if labels:
            metadata["labels"] = labels
        self.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": data}})
        self.settle()

    def end(self, name: str, *, namespace: str = "a") -> None:
        """Delete a config map and wait for its event."""
        self.remove(namespace, name)
        self.settle()


@dataclass(slots=True)
class RecordingListener:
    """A listener that records events: the type, and the data of the object before and after."""

    informer: IInformer
    events: list[Event] = field(default_factory=list)
    #: The object as the informer returned it during the event.
    images: list[str | None] = field(default_factory=list)

    def __call__(self, event: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        assert obj is not None
        if obj["metadata"]["namespace"] not in NAMESPACES:
            return
        self.events.append((event, _data(old), _data(new)))
        self.images.append(_data(self.informer.get(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])))


def _data(obj: Object | None) -> str | None:
    return None if obj is None else str((obj.get("data") or {}).get("x"))


def _names(objects: Iterable[Object]) -> list[str]:
    keys = [(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in objects]
    return sorted(f"{namespace}/{name}" for namespace, name in keys if namespace in NAMESPACES)


def check_reads(subject: InformerSubject) -> None:
    """`get` and `list` return the existing objects, by namespace and by labels."""
    subject.change("m", "1", tier="x", zone="y")
    subject.change("n", "2", namespace="b", tier="x")
    informer = subject.informer
    assert _data(informer.get("a", "m")) == "1"
    assert informer.get("a", "n") is None
    assert _names(informer.list()) == ["a/m", "b/n"]
    assert _names(informer.list("b")) == ["b/n"]
    assert _names(informer.list(labels={"tier": "x"})) == ["a/m", "b/n"]
    assert _names(informer.list("a", {"tier": "x", "zone": "y"})) == ["a/m"]
    assert _names(informer.list("a", {"tier": "z"})) == []
    subject.end("m")
    assert informer.get("a", "m") is None
    assert _names(informer.list()) == ["b/n"]


def check_tells_of_changes(subject: InformerSubject) -> None:
    """Listeners receive every change, with the object before and after it."""
    listener = RecordingListener(subject.informer)
    subject.informer.add_listener(listener)
    subject.settle()
    subject.change("m", "1")
    subject.change("m", "2")
    subject.end("m")
    assert listener.events == [("ADDED", None, "1"), ("MODIFIED", "1", "2"), ("DELETED", "2", None)]


def check_tells_late_listeners_what_there_is(subject: InformerSubject) -> None:
    """A new listener receives existing objects as ADDED, once; other listeners do not receive them again."""
    first, second = RecordingListener(subject.informer), RecordingListener(subject.informer)
    subject.informer.add_listener(first)
    subject.change("m", "1")
    subject.change("n", "2")
    subject.informer.add_listener(second)
    subject.settle()
    assert {new for _, _, new in second.events} == {"1", "2"}
    assert [(event, old) for event, old, _ in second.events] == [("ADDED", None)] * 2
    assert len(first.events) == 2


def check_shows_what_it_tells(subject: InformerSubject) -> None:
    """During a listener's call, `get` returns the new state."""
    listener = RecordingListener(subject.informer)
    subject.informer.add_listener(listener)
    subject.settle()
    subject.change("m", "1")
    subject.change("m", "2")
    subject.end("m")
    assert listener.images == ["1", "2", None]


def check_indexes(subject: InformerSubject) -> None:
    """An index holds objects by the values of its function, existing ones and later ones, and follows changes."""
    informer = subject.informer
    subject.change("m", "1")
    informer.add_index("contract/data", lambda obj: [str((obj.get("data") or {}).get("x"))])
    subject.change("n", "1")
    assert _names(informer.by_index("contract/data", "1")) == ["a/m", "a/n"]
    subject.change("n", "2")
    assert _names(informer.by_index("contract/data", "1")) == ["a/m"]
    assert (informer.holds("contract/data", "2"), informer.holds("contract/data", "3")) == (True, False)
    subject.end("n")
    assert not informer.holds("contract/data", "2")
    assert _names(informer.by_index("contract/data", "2")) == []


def check_index_is_current_for_listeners(subject: InformerSubject) -> None:
    """During a listener's call, indexes have the new state."""
    informer = subject.informer
    informer.add_index("contract/namespace", lambda obj: [obj["metadata"]["namespace"]])
    seen: list[int] = []

    def listen(event: str, old: Object | None, new: Object | None) -> None:
        if ((new or old) or {})["metadata"]["namespace"] == "a":
            seen.append(len(list(informer.by_index("contract/namespace", "a"))))

    informer.add_listener(listen)
    subject.settle()
    subject.change("m", "1")
    subject.change("n", "1")
    subject.end("m")
    assert seen == [1, 2, 1]


def check_several_values_of_an_object(subject: InformerSubject) -> None:
    """An index function may return any number of values for an object."""
    subject.informer.add_index("contract/letters", lambda obj: list((obj.get("data") or {}).get("x") or ""))
    subject.change("m", "xy")
    subject.change("n", "")
    assert _names(subject.informer.by_index("contract/letters", "x")) == ["a/m"]
    assert _names(subject.informer.by_index("contract/letters", "y")) == ["a/m"]
    subject.change("n", "z")
    assert _names(subject.informer.by_index("contract/letters", "z", "none", "y")) == ["a/m", "a/n"]
    assert _names(subject.informer.by_index("contract/letters")) == []


def check_unknown_index(subject: InformerSubject) -> None:
    """Querying an unknown index raises KeyError."""
    asks: tuple[Callable[[str, str], object], ...] = (subject.informer.by_index, subject.informer.holds)
    for ask in asks:
        try:
            ask("contract/none", "x")
        except KeyError:
            continue
        raise AssertionError("no KeyError")


def check_objects_are_shared(subject: InformerSubject) -> None:
    """A change creates a new object; earlier ones stay unchanged."""
    subject.change("m", "1")
    before = subject.informer.get("a", "m")
    subject.change("m", "2")
    assert _data(before) == "1"


CHECKS: tuple[Callable[[InformerSubject], None], ...] = (
    check_reads,
    check_tells_of_changes,
    check_tells_late_listeners_what_there_is,
    check_shows_what_it_tells,
    check_indexes,
    check_index_is_current_for_listeners,
    check_several_values_of_an_object,
    check_unknown_index,
    check_objects_are_shared,
)
