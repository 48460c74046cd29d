"""Metrics of requests, scraped from a whole server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchd.client.interfaces import ResourceRef
from orchd.testing.server import InProcessServer, run
from orchd.txkit.log import current_request
from tests.server.pipeline.test_watches import Reader

Scrape = Callable[..., float]


@pytest.fixture
def scrape(call: Any) -> Scrape:
    """``scrape(name, label=value)`` is the sum of the matching samples."""

    def read(name: str, **labels: str) -> float:
        text = call("GET", "/metrics").body.decode()
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    return read


def test_long_running_requests(call: Any, scrape: Scrape) -> None:
    """A watch counts as running from its start until it ends, whichever side ends it."""
    for end in ("stop", "finish"):
        answer = call("GET", "/api/v1/namespaces/a/configmaps?watch=1")
        answer.response.stream.start(Reader())
        labels = {"verb": "WATCH", "resource": "configmaps", "scope": "namespace", "component": "apiserver"}
        assert scrape("apiserver_longrunning_requests", **labels) == 1
        getattr(answer.response.stream, end)()
        assert scrape("apiserver_longrunning_requests", **labels) == 0


def test_watch_events(call: Any, scrape: Scrape) -> None:
    """Every event that is sent to a watch is counted, with its size."""
    answer = call("GET", "/api/v1/namespaces/a/configmaps?watch=1")
    answer.response.stream.start(Reader())
    before = scrape("apiserver_watch_events_total", kind="ConfigMap", version="v1")
    for name in ("x", "y"):
        call("POST", "/api/v1/namespaces/a/configmaps", {"metadata": {"name": name}})
    assert scrape("apiserver_watch_events_total", kind="ConfigMap", version="v1") == before + 2
    assert scrape("apiserver_watch_events_sizes_count", kind="ConfigMap") == before + 2
    assert scrape("apiserver_watch_events_sizes_sum", kind="ConfigMap") > 200
    answer.response.stream.stop()


def test_deprecated_apis(call: Any, scrape: Scrape) -> None:
    """A deprecated API that was requested is named with the release that removes it."""
    assert scrape("apiserver_requested_deprecated_apis", resource="poddisruptionbudgets") == 0
    call("GET", "/apis/policy/v1beta1/poddisruptionbudgets")
    call("GET", "/apis/policy/v1/poddisruptionbudgets")
    assert scrape("apiserver_requested_deprecated_apis", resource="poddisruptionbudgets", removed_release="1.25") == 1
    assert scrape("apiserver_requested_deprecated_apis", version="v1", resource="poddisruptionbudgets") == 0


def test_terminations(server: InProcessServer, call: Any, scrape: Scrape, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that an internal error ends are terminations; a plain error of the client is none."""
    assert call("GET", "/api/v1/namespaces/a/configmaps/missing").code == 404

    def broken(*arguments: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(type(server.server.registry), "list", broken)
    assert call("GET", "/api/v1/namespaces/a/configmaps").code == 500
    monkeypatch.undo()
    assert scrape("apiserver_request_terminations_total", code="500", resource="configmaps", verb="LIST") == 1
    assert scrape("apiserver_request_terminations_total", code="404") == 0


def test_names_without_total(call: Any) -> None:
    """Counters whose names do not end in _total are declared as counters, like the reference's."""
    text = call("GET", "/metrics").body.decode()
    assert "\n# TYPE authenticated_user_requests counter\n" in text
    assert "# TYPE authenticated_user_requests_total" not in text
    assert "etcd_object_counts" not in text


def test_a_local_request_leaves_the_log_to_its_caller(server: InProcessServer) -> None:
    """Log lines after a request of a local client belong to the work that made it, and not to that request."""

    async def work() -> str:
        current_request.set("outer")
        await server.client().list(ResourceRef("", "v1", "namespaces"), "")
        return current_request.get()

    assert run(work()) == "outer"
