"""Metrics of requests, scraped from a whole server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from orchd.client.interfaces import ResourceRef
from orchd.dialect import ORCH
from orchd.kinds.catalog import builtin_catalog
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.pipeline.stages.request_instruments import request_instruments
from orchd.server.pipeline.stages.request_metrics import DURATIONS, SIZE_BUCKETS, Labels, RequestMetrics, Series
from orchd.testing.doubles.server import InProcessServer, make_server, run
from orchd.txkit.log import current_request
from tests.samples import samples
from tests.server.pipeline.test_watches import Reader
from tests.server.pipeline.test_watchsockets import HANDSHAKE, Taken

Scrape = Callable[..., float]
BOUNDS = SPECIFICATION.choose(DURATIONS)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    """A server of each test's own, whose metrics begin with it."""
    server = make_server(tmp_path)
    admin = server.client()
    run(admin.create(ResourceRef("", "v1", "namespaces"), "", {"metadata": {"name": "a"}}))
    run(admin.create(ResourceRef("", "v1", "serviceaccounts"), "a", {"metadata": {"name": "default"}}))
    yield server
    server.stop()


@pytest.fixture
def scrape(call: Any) -> Scrape:
    """``scrape(name, label=value)`` is the sum of the matching samples."""

    def read(name: str, **labels: str) -> float:
        text = call("GET", "/metrics").body.decode()
        return sum(
            sample.value
            for sample in samples(text, name)
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    return read


def test_long_running_gauge_lasts_as_long_as_the_watch(call: Any, scrape: Scrape) -> None:
    """A watch is counted from its start until it ends, whichever side ends it."""
    for end in ("stop", "finish"):
        response = call("GET", "/api/v1/namespaces/a/configmaps?watch=1")
        response.response.stream.start(Reader())
        labels = {"verb": "WATCH", "resource": "configmaps", "scope": "namespace", "component": "apiserver"}
        assert scrape("apiserver_longrunning_requests", **labels) == 1
        getattr(response.response.stream, end)()
        assert scrape("apiserver_longrunning_requests", **labels) == 0


def test_watch_events_are_counted_with_their_size(call: Any, scrape: Scrape) -> None:
    """Every event of a watch is counted, with its size."""
    response = call("GET", "/api/v1/namespaces/a/configmaps?watch=1")
    response.response.stream.start(Reader())
    before = scrape("apiserver_watch_events_total", kind="ConfigMap", version="v1")
    for name in ("x", "y"):
        call("POST", "/api/v1/namespaces/a/configmaps", {"metadata": {"name": name}})
    assert scrape("apiserver_watch_events_total", kind="ConfigMap", version="v1") == before + 2
    assert scrape("apiserver_watch_events_sizes_count", kind="ConfigMap") == before + 2
    assert scrape("apiserver_watch_events_sizes_sum", kind="ConfigMap") > 200
    response.response.stream.stop()


def test_deprecated_api_requests_are_named(call: Any, scrape: Scrape) -> None:
    """A request for a deprecated API is counted with the release that removes it."""
    assert scrape("apiserver_requested_deprecated_apis", resource="poddisruptionbudgets") == 0
    call("GET", "/apis/policy/v1beta1/poddisruptionbudgets")
    call("GET", "/apis/policy/v1/poddisruptionbudgets")
    assert scrape("apiserver_requested_deprecated_apis", resource="poddisruptionbudgets", removed_release="1.25") == 1
    assert scrape("apiserver_requested_deprecated_apis", version="v1", resource="poddisruptionbudgets") == 0


def test_internal_errors_count_as_terminations(
    server: InProcessServer, call: Any, scrape: Scrape, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that end with an internal error are counted; client errors are not."""
    assert call("GET", "/api/v1/namespaces/a/configmaps/missing").code == 404

    def broken(*arguments: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(type(server.server.registry), "list", broken)
    assert call("GET", "/api/v1/namespaces/a/configmaps").code == 500
    monkeypatch.undo()
    assert scrape("apiserver_request_terminations_total", code="500", resource="configmaps", verb="LIST") == 1
    assert scrape("apiserver_request_terminations_total", code="404") == 0


def test_counters_without_a_total_suffix(call: Any) -> None:
    """Counters whose names do not end in _total have the type counter, as in the reference."""
    text = call("GET", "/metrics").body.decode()
    assert "\n# TYPE authenticated_user_requests counter\n" in text
    assert "# TYPE authenticated_user_requests_total" not in text
    assert "etcd_object_counts" not in text


def test_local_request_keeps_the_callers_log_context(server: InProcessServer) -> None:
    """After a request of a local client, log lines have the caller's request id again."""

    async def work() -> str:
        current_request.set("outer")
        await server.client().list(ResourceRef("", "v1", "namespaces"), "")
        return current_request.get()

    assert run(work()) == "outer"


def test_hijacked_request_lasts_until_the_connection_ends(call: Any, scrape: Scrape) -> None:
    """A request that took over its connection lasts until the connection ends."""
    taken = Taken()
    labels = {"verb": "WATCH", "resource": "configmaps", "scope": "namespace"}
    call("GET", "/api/v1/namespaces/a/configmaps?watch=1", headers=HANDSHAKE, hijack=lambda: taken)
    assert scrape("apiserver_longrunning_requests", **labels) == 1
    taken.protocol.connectionLost(Failure(ConnectionDone()))
    assert scrape("apiserver_longrunning_requests", **labels) == 0


def test_refused_upgrade_ends_with_its_response(call: Any, scrape: Scrape) -> None:
    """A request whose upgrade was refused ends with its response."""
    headers = {**HANDSHAKE, "Sec-WebSocket-Version": "8"}
    assert call("GET", "/api/v1/namespaces/a/configmaps?watch=1", headers=headers, hijack=Taken).code == 400
    assert scrape("apiserver_longrunning_requests", resource="configmaps") == 0


@pytest.mark.parametrize(
    ("method", "path", "headers", "verb"),
    [
        ("HEAD", "/api/v1/namespaces/a/configmaps/x", {}, "GET"),
        ("DELETE", "/api/v1/namespaces/a/configmaps", {}, "DELETE"),
        ("PATCH", "/api/v1/namespaces/a/configmaps/x", {"content-type": "application/apply-patch+yaml"}, "APPLY"),
        ("PATCH", "/api/v1/namespaces/a/configmaps/x", {"content-type": "application/merge-patch+json"}, "PATCH"),
        ("BREW", "/pot", {}, "other"),
    ],
)
def test_verb_labels(call: Any, scrape: Scrape, method: str, path: str, headers: dict[str, str], verb: str) -> None:
    """The verb label is the reference's: by method, and APPLY for an apply patch."""
    resource = "configmaps" if "configmaps" in path else ""
    before = scrape("apiserver_request_total", verb=verb, resource=resource)
    call(method, path, headers=headers)
    assert scrape("apiserver_request_total", verb=verb, resource=resource) == before + 1


def test_response_sizes_are_recorded_for_reads(call: Any, scrape: Scrape) -> None:
    """Sizes are observed for GET and LIST; a create has the scope resource."""
    call("POST", "/api/v1/namespaces/a/configmaps", {"metadata": {"name": "sized"}})
    assert scrape("apiserver_request_total", verb="POST", resource="configmaps", scope="resource", code="201") == 1
    assert scrape("apiserver_response_sizes_count", verb="POST", resource="configmaps") == 0
    before = scrape("apiserver_response_sizes_count", verb="GET", resource="configmaps")
    call("GET", "/api/v1/namespaces/a/configmaps/sized")
    assert scrape("apiserver_response_sizes_count", verb="GET", resource="configmaps") == before + 1


def test_slo_duration_excludes_webhooks() -> None:
    """The SLO duration excludes webhook calls and is otherwise equal."""
    series = Series(BOUNDS)
    for seconds in (0.01, 2.0):
        series.duration.observe(BOUNDS, seconds)
    series.subtract(2.0, 1.5)
    requests = RequestMetrics(lambda: 0.0)
    requests.series[Labels("POST", "", "", "v1", "pods", "", "resource")] = series
    instruments = {
        each.name: each for each in request_instruments(requests, lambda: builtin_catalog(ORCH), SPECIFICATION)
    }
    family = instruments["apiserver_request_slo_duration_seconds"].family()
    values = {sample.labels.get("le", sample.name[-3:]): sample.value for sample in family.samples}
    assert (values["0.05"], values["0.4"], values["0.6"], values["+Inf"]) == (1, 1, 2, 2)
    assert values["sum"] == pytest.approx(0.51)


def test_sizes_are_added_up_over_dry_runs() -> None:
    """Response sizes have no label for dry runs: those of reads with the parameter count with the others."""
    requests = RequestMetrics(lambda: 0.0)
    for dry_run in ("", "All"):
        series = requests.series[Labels("GET", dry_run, "", "v1", "pods", "", "resource")] = Series(BOUNDS)
        series.sizes.observe(SIZE_BUCKETS, 500.0)
    instruments = {
        each.name: each for each in request_instruments(requests, lambda: builtin_catalog(ORCH), SPECIFICATION)
    }
    values = {sample.name: sample.value for sample in instruments["apiserver_response_sizes"].family().samples}
    assert (values["apiserver_response_sizes_count"], values["apiserver_response_sizes_sum"]) == (2, 1000.0)


def instruments_of_release(requests: RequestMetrics, release: Release) -> dict[str, Any]:
    instruments = request_instruments(requests, lambda: builtin_catalog(ORCH), release)
    return {each.name: each.family() for each in instruments}


def test_durations_of_later_releases_have_more_buckets() -> None:
    """Durations without webhooks keep the former buckets: their first one adds up those that durations have before
    it."""
    bounds = NEWEST.choose(DURATIONS)
    requests = RequestMetrics(lambda: 0.0, bounds=bounds)
    series = requests.series[Labels("GET", "", "", "v1", "pods", "", "resource")] = Series(bounds)
    for seconds in (0.001, 0.02, 0.04, 0.3):
        series.duration.observe(bounds, seconds)
    families = instruments_of_release(requests, NEWEST)
    durations, without = (
        {sample.labels["le"]: sample.value for sample in families[name].samples if "le" in sample.labels}
        for name in ("apiserver_request_duration_seconds", "apiserver_request_slo_duration_seconds")
    )
    assert (durations["0.005"], durations["0.025"], durations["0.05"], durations["+Inf"]) == (1, 2, 3, 4)
    assert "0.025" not in without and (without["0.05"], without["0.4"], without["+Inf"]) == (3, 4, 4)


def test_watches_count_when_they_end(call: Any, scrape: Scrape) -> None:
    """The duration of a watch is observed at its end, and not among durations without webhooks."""
    labels = {"verb": "WATCH", "resource": "configmaps"}
    response = call("GET", "/api/v1/namespaces/a/configmaps?watch=1")
    response.response.stream.start(Reader())
    assert scrape("apiserver_request_duration_seconds_count", **labels) == 0
    response.response.stream.stop()
    assert scrape("apiserver_request_duration_seconds_count", **labels) == 1
    assert scrape("apiserver_request_slo_duration_seconds_count", **labels) == 0


def test_health_checks_have_no_component(call: Any, scrape: Scrape) -> None:
    call("GET", "/readyz")
    assert scrape("apiserver_request_total", subresource="/readyz", component="") == 1
    assert scrape("apiserver_request_total", subresource="/readyz", component="apiserver") == 0


def test_requests_of_later_releases(tmp_path: Path) -> None:
    """Sizes of bodies by resource and verb, connections to pods as CONNECT, and watch lists by their scope."""
    server = make_server(
        tmp_path, "--dialect=kubernetes", "--emulated-version=1.35", "--authorization-mode=AlwaysAllow"
    )

    def send(method: str, path: str, body: Any = None) -> Any:
        return run(server.request(method, path, body=body))

    maps = "/api/v1/namespaces/a/configmaps"
    send("POST", "/api/v1/namespaces", {"metadata": {"name": "a"}})
    secrets = "/api/v1/namespaces/a/secrets"
    send("POST", secrets, {"metadata": {"name": "m"}, "stringData": {"k": "v" * 200_000}})
    send("DELETE", f"{secrets}/m")
    send("GET", "/api/v1/namespaces/a/pods/x/log")
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    for path in (maps, "/api/v1/configmaps"):
        response = send("GET", f"{path}?{query}")
        response.response.stream.start(Reader())
        response.response.stream.stop()
    text = send("GET", "/metrics").body.decode()
    server.stop()

    def value(name: str, **labels: str) -> float:
        return sum(
            sample.value
            for sample in samples(text, name)
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    bodies = {"group": "", "resource": "secrets"}
    assert value("apiserver_request_body_size_bytes_count", verb="create", **bodies) == 1
    assert value("apiserver_request_body_size_bytes_bucket", verb="create", le="150000", **bodies) == 0
    assert value("apiserver_request_body_size_bytes_count", verb="delete", **bodies) == 1
    assert value("apiserver_request_total", verb="CONNECT", subresource="log") == 1
    for scope in ("namespace", "cluster"):
        assert value("apiserver_watch_list_duration_seconds_count", resource="configmaps", scope=scope) == 1
