"""Metrics that have other names or labels from a later release on, and those that begin with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from prometheus_client.core import Metric

from orchd.assembly.reload_metrics import reload_instruments
from orchd.client.metrics import RequestMetrics
from orchd.dialect import KUBERNETES
from orchd.kinds.release import NEWEST
from orchd.server.pipeline.endpoints.metric_selection import metric_selection
from orchd.store.encrypted import EncryptedStore
from orchd.store.etcd.request_durations import LATER_BOUNDS, RequestLabels
from orchd.store.etcd.servers import TlsFiles, make_servers
from orchd.store.etcd.store import EtcdStore
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.server import make_server
from orchd.txkit.config_file_watcher import ReloadCounts
from orchd.txkit.metrics.families import UNSUFFIXED
from orchd.txkit.metrics.histogram import bound_text
from orchd.txkit.metrics.instruments import Distribution, Instrument, instruments_of

DOCS = Path(__file__).resolve().parents[2] / "docs/metrics.md"
#: Name and labels in the newest release, and the name in the specification's: "" for a metric that begins later.
LATER = (
    ("apiserver_init_events_total", "group resource", "apiserver_init_events_total"),
    ("apiserver_terminated_watchers_total", "group resource", "apiserver_terminated_watchers_total"),
    ("apiserver_watch_cache_events_received_total", "group resource", ""),
    ("apiserver_watch_cache_resource_version", "group resource", ""),
    ("apiserver_watch_events_sizes", "group version resource", "apiserver_watch_events_sizes"),
    ("apiserver_watch_events_total", "group version resource", "apiserver_watch_events_total"),
    (
        "cronjob_controller_job_creation_skew_duration_seconds",
        "",
        "cronjob_controller_cronjob_job_creation_skew_duration_seconds",
    ),
    ("job_controller_job_syncs_total", "completion_mode result action", "job_controller_job_sync_total"),
    ("scheduler_cache_size", "type", "scheduler_scheduler_cache_size"),
    ("scheduler_goroutines", "operation", "scheduler_scheduler_goroutines"),
    ("scheduler_pod_scheduling_sli_duration_seconds", "attempts", "scheduler_pod_scheduling_duration_seconds"),
    ("scheduler_preemption_victims", "", "scheduler_preemption_victims"),
    ("taint_eviction_controller_pod_deletion_duration_seconds", "", ""),
    ("taint_eviction_controller_pod_deletions_total", "", ""),
)


FACTS = Path(__file__).resolve().parents[1] / "reference/1.35/metrics.json"
#: Type, labels and bounds of buckets by name.
REFERENCE = {KUBERNETES(name): facts for name, facts in json.loads(FACTS.read_text(encoding="utf-8")).items()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Instrument]]:
    """The instruments of a server with all controllers, and of what it would have with other flags."""
    folder: Path = tmp_path_factory.mktemp("data")
    flags = (
        "--emulated-version=1.35",
        "--controllers=*",
        "--scheduler=true",
        "--allocate-node-cidrs=true",
        "--cluster-cidr=10.1.0.0/16",
    )
    server = make_server(folder, "--dialect=kubernetes", "--authorization-mode=Node,RBAC", *flags)
    labels = RequestLabels(labels=("group", "resource"), of=lambda key: ("", key), bounds=LATER_BOUNDS, counted=True)
    etcd = EtcdStore(
        server.clock,
        make_servers(server.clock, ("http://127.0.0.1:1",), TlsFiles()),
        dialect_name="",
        random=Random(1),
        requests=labels,
    )
    encrypted = EncryptedStore(MemoryStore(server.clock), {}, mark=b"", resource_of=str)
    clients = RequestMetrics(release=NEWEST)
    instruments = {each.name: each for each in instruments_of((*server.server.api.measured, etcd, encrypted, clients))}
    for sort in ("authentication", "authorization"):
        for each in reload_instruments(sort, ReloadCounts(), "server"):
            instruments[each.name] = each
    yield instruments
    server.stop()


@pytest.fixture(scope="module")
def families(served: dict[str, Instrument]) -> dict[str, tuple[Metric, Instrument]]:
    """What /metrics serves of them in release 1.35, by its name there."""
    selection = metric_selection([], {}, release=NEWEST)
    by_name = {}
    for instrument in served.values():
        family = selection.filter(instrument.family())
        if family is not None:
            by_name[family.name + ("_total" if family.type == "counter" else "")] = family, instrument
    return by_name


def absent() -> dict[str, str]:
    """The names that the page lists as not served, with the reasons."""
    sections = re.split(r"^## ", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = "".join(each for each in sections if each.startswith("Not served"))
    rows = re.findall(r"^\| (`.+`) \| (.+) \|$", text, re.MULTILINE)
    return {KUBERNETES(name): reason for names, reason in rows for name in re.findall(r"`([^`]+)`", names)}


def test_every_name_is_served_or_explained(families: dict[str, tuple[Metric, Instrument]]) -> None:
    """Each name of the reference is served, or the page says why not."""
    # These two are added while metrics are written.
    missing = REFERENCE.keys() - families.keys() - {"disabled_metrics_total", "hidden_metrics_total"}
    assert missing - absent().keys() == set()
    assert absent().keys() & families.keys() == set()


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_types_labels_and_buckets_are_the_references(families: dict[str, tuple[Metric, Instrument]], name: str) -> None:
    if name not in families:
        return
    kind, labels, bounds = REFERENCE[name]
    family, instrument = families[name]
    assert {UNSUFFIXED: "counter"}.get(family.type, family.type) == kind
    assert sorted(getattr(family, "_labelnames")) == sorted(labels)  # noqa: B009  # no other way
    if bounds is not None:
        own = getattr(instrument, "bounds", None)
        assert own is not None and [bound_text(bound) for bound in own] == [bound_text(bound) for bound in bounds]


@pytest.mark.parametrize(("name", "labels", "former"), LATER)
def test_metrics_have_the_names_and_labels_of_the_release(
    served: dict[str, Instrument], name: str, labels: str, former: str
) -> None:
    assert former == name or former not in served
    assert set(getattr(served[name].family(), "_labelnames")) == set(labels.split())  # noqa: B009  # no other way


def test_buckets_of_preemption_victims_double(served: dict[str, Instrument]) -> None:
    victims = served["scheduler_preemption_victims"]
    assert isinstance(victims, Distribution)
    assert victims.bounds == (1, 2, 4, 8, 16, 32, 64)
