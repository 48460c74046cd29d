"""``/openapi/v2`` while the catalog changes: when documents are built, and which one a request gets."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, Resource, builtin_catalog
from orchd.kinds.crd.resources import custom_kind
from orchd.server.authn.interfaces import Credentials
from orchd.server.http.request_body import NoBody
from orchd.server.pipeline.endpoints.catalog_builds import SETTLE
from orchd.server.pipeline.endpoints.specification import Specification
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.query import Query
from orchd.testing.doubles.server import make_server, run
from orchd.txkit.coroutines import start

BASE = builtin_catalog(ORCH)


def _with(*plurals: str) -> Catalog:
    found: list[Resource] = []
    for plural in plurals:
        names = {"plural": plural, "kind": plural.capitalize()}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        definition = {"spec": {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}}
        found += custom_kind(definition, partial(dict, definition), BASE.types, ORCH).resources
    return BASE.adding(found)


class Bench:
    """A specification whose thread is run by the test."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.catalog = BASE
        self.working: list[tuple[Deferred[Any], Callable[[], Any]]] = []
        self.specification = Specification(lambda: self.catalog, in_thread=self._in_thread, clock=self.clock)

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:
        done: Deferred[Any] = Deferred()
        self.working.append((done, lambda: function(*arguments)))
        return await done

    def work(self) -> None:
        """Complete the oldest build."""
        done, function = self.working.pop(0)
        done.callback(function())

    def change(self, *plurals: str) -> None:
        self.catalog = _with(*plurals)
        self.specification.build.changed()

    def ask(self) -> Deferred[Response]:
        headers = {"accept": ("application/json",), "accept-encoding": ("gzip",)}
        return start(self.specification.respond(_request(headers)))


def _request(headers: Mapping[str, tuple[str, ...]]) -> Request:
    return Request(
        method="GET",
        path="/openapi/v2",
        raw_path="/openapi/v2",
        query=Query({}),
        headers=headers,
        body=NoBody(),
        credentials=Credentials(headers=headers),
        received=0.0,
    )


def _plurals(asked: Deferred[Response]) -> set[str]:
    """The custom kinds in the document that a request got."""
    answers: list[Any] = []
    asked.addBoth(answers.append)
    assert answers, "the request waits"
    paths = orjson.loads(gzip.decompress(answers[0].body))["paths"]
    return {path.rpartition("/")[2] for path in paths if path.startswith("/apis/example.com/v1/") and "{" not in path}


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    run(bench.specification.build.start())
    bench.clock.advance(SETTLE)
    bench.work()
    return bench


def test_first_document_is_built_soon_after_the_start() -> None:
    """The first document is built shortly after the start or by the first request, whichever is first; once."""
    late, asked = Bench(), Bench()
    run(late.specification.build.start())
    assert not late.working
    late.clock.advance(SETTLE)
    late.work()
    run(asked.specification.build.start())
    waiting = asked.ask()
    asked.work()
    assert _plurals(waiting) == set()
    asked.clock.advance(SETTLE)
    assert not asked.working and not asked.clock.getDelayedCalls()


def test_begin_builds_at_once() -> None:
    """`begin` starts a build unless the document is current or being built."""
    bench = Bench()
    run(bench.specification.build.start())
    bench.specification.build.begin()
    bench.specification.build.begin()
    assert len(bench.working) == 1
    bench.work()
    bench.specification.build.begin()
    assert not bench.working and not bench.clock.getDelayedCalls()


def test_changes_are_built_in_the_background(bench: Bench) -> None:
    """A change is built without a request; several changes at once cause one build."""
    bench.change("ants")
    bench.change("ants", "bees")
    bench.clock.advance(SETTLE - 0.1)
    assert not bench.working
    bench.clock.advance(0.1)
    bench.work()
    assert _plurals(bench.ask()) == {"ants", "bees"}
    assert not bench.working and not bench.clock.getDelayedCalls()


def test_request_after_a_change_waits_for_the_new_document(bench: Bench) -> None:
    """A request after a change starts the build at once and gets the document with the change."""
    before = bench.ask()
    assert _plurals(before) == set()
    bench.change("ants")
    asked = [bench.ask(), bench.ask()]
    assert len(bench.working) == 1
    bench.work()
    assert [_plurals(each) for each in asked] == [{"ants"}, {"ants"}]
    bench.clock.advance(SETTLE)
    assert not bench.working, "built twice"


def test_request_during_a_build_waits_for_a_current_one(bench: Bench) -> None:
    """A request during an outdated build waits for the next one, not for later ones."""
    bench.change("ants")
    bench.clock.advance(SETTLE)
    early = bench.ask()
    bench.change("bees")
    late = bench.ask()
    bench.work()
    assert _plurals(early) == {"ants"}
    bench.change("bees", "cats")
    assert len(bench.working) == 1
    bench.work()
    assert _plurals(late) == {"bees"}
    bench.clock.advance(SETTLE)
    bench.work()
    assert _plurals(bench.ask()) == {"bees", "cats"}


def test_change_during_a_build_causes_another_one(bench: Bench) -> None:
    """A change during a build is built in the background afterwards."""
    bench.change("ants")
    bench.clock.advance(SETTLE)
    bench.change("bees")
    bench.work()
    bench.clock.advance(SETTLE)
    bench.work()
    assert _plurals(bench.ask()) == {"bees"}


def test_long_builds_are_spaced_out(bench: Bench) -> None:
    """After a build of two seconds the next one in the background begins eight seconds after a change."""
    bench.change("ants")
    bench.clock.advance(SETTLE)
    bench.clock.advance(2.0)
    bench.work()
    bench.change("bees")
    bench.clock.advance(7.9)
    assert not bench.working
    bench.clock.advance(0.1)
    assert len(bench.working) == 1
    bench.work()


def test_failed_build_is_500_and_retried(bench: Bench) -> None:
    """A failed build is a 500 error instead of an outdated document; the next request retries."""
    bench.change("ants")
    asked = bench.ask()
    bench.working.pop()[0].errback(ZeroDivisionError())
    failed: list[Any] = []
    asked.addErrback(failed.append)
    assert failed[0].check(ApiError) and failed[0].value.code == 500
    again = bench.ask()
    bench.work()
    assert _plurals(again) == {"ants"}


def test_cancelled_request_does_not_affect_others(bench: Bench) -> None:
    """A cancelled request does not cancel the build for others."""
    bench.change("ants")
    gone, stays = bench.ask(), bench.ask()
    gone.addErrback(lambda failure: None)
    gone.cancel()
    bench.work()
    assert _plurals(stays) == {"ants"}


def test_stop_waits_for_the_running_build(bench: Bench) -> None:
    """`stop` waits for the running build and starts no other."""
    bench.change("ants")
    bench.clock.advance(SETTLE)
    bench.change("bees")
    stopped = start(bench.specification.build.stop())
    assert not stopped.called
    bench.work()
    assert stopped.called and not bench.working and not bench.clock.getDelayedCalls()


def test_definition_changes_document_and_etag(tmp_path: Path) -> None:
    """The document after a definition has its kind and a new Etag, in JSON and protobuf; deleting the definition
    restores the Etag."""
    server = make_server(tmp_path)
    definitions = f"/apis/apiextensions.{server.dialect('{abbr}.io')}/v1/customresourcedefinitions"
    binary = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    definition = {
        "metadata": {"name": "ants.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "ants", "kind": "Ant"}, "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    }  # fmt: skip

    def get(accept: str) -> Any:
        return run(server.request("GET", "/openapi/v2", headers={"Accept": accept, "Accept-Encoding": "gzip"}))

    try:
        before = {accept: get(accept) for accept in ("application/json", binary)}
        assert run(server.request("POST", definitions, body=definition)).code == 201
        server.clock.pump([0] * 3)
        for accept, old in before.items():
            new = get(accept)
            assert new.headers["Etag"] != old.headers["Etag"]
            assert b"com.example.v1.Ant" in gzip.decompress(new.body)
        assert run(server.request("DELETE", f"{definitions}/ants.example.com")).code == 200
        server.clock.pump([0] * 3)
        for accept, old in before.items():
            assert get(accept).headers["Etag"] == old.headers["Etag"]
    finally:
        server.stop()
