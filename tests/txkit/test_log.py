"""The logger: request ids, and debug lines by namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.logger import eventAsText

from orchd.config.sections.verbosity import Verbosity, parse_modules
from orchd.txkit.coroutines import enter
from orchd.txkit.log import Logger, current_request, set_verbosity


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Reset the process's verbosity to 0 after each test."""
    yield
    set_verbosity(lambda namespace: 0)


def logged(namespace: str) -> tuple[Logger, list[Any]]:
    """A logger and the events that it emits."""
    events: list[Any] = []
    observer: Any = events.append
    return Logger(namespace=namespace, observer=observer), events


def test_log_lines_carry_the_request_id() -> None:
    """Lines of a request have its id, also after it was suspended; other lines have none."""
    log, events = logged("orchd.here")
    waits: dict[str, Deferred[None]] = {name: Deferred() for name in ("one", "two")}

    async def handle(name: str) -> None:
        current_request.set(name)
        log.info("began {name}", name=name)
        await waits[name]
        log.info("ended {name}", name=name)

    for name in waits:
        enter(handle(name), lambda result: None, lambda failure: failure.raiseException())
    log.info("outside")
    waits["one"].callback(None)
    waits["two"].callback(None)
    log.info("after")
    assert [event.get("request") for event in events] == ["one", "two", None, "one", "two", None]
    assert "[orchd.here#info request=one] began one" in eventAsText(events[0])


def test_verbosity_by_module() -> None:
    """Debug lines are logged from verbosity 4, which --vmodule sets by the last part of a namespace or the whole."""
    verbosity = Verbosity(default=0, modules=parse_modules(["lead*=4", "orchd.store.*=5", "quiet=0"]))
    set_verbosity(verbosity.of)
    for namespace, expected in (
        ("orchd.client.leader_election", True), ("orchd.store.sqlite", True), ("orchd.cache.caches", False), ("quiet", False),
    ):  # fmt: skip
        log, events = logged(namespace)
        log.debug("details")
        assert bool(events) is expected, namespace
    set_verbosity(Verbosity(default=4).of)
    log, events = logged("orchd.cache.caches")
    log.debug("details")
    assert events


@pytest.mark.parametrize("text", ["", "a", "a=", "=1", "a=-1", "a=x", "a=1.5", "a=" + "9" * 10, "a=²"])
def test_malformed_vmodule_is_refused(text: str) -> None:
    """An element of --vmodule that is not pattern=N is rejected."""
    with pytest.raises(ValueError, match="is not pattern=N"):
        parse_modules([text])
