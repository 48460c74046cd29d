"""The reference's metrics are served with its names, labels, types and buckets, or docs/metrics.md says why not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from prometheus_client.core import Metric

from orchd.client.metrics import RequestMetrics
from orchd.dialect import KUBERNETES
from orchd.store.encrypted import EncryptedStore
from orchd.store.etcd.servers import TlsFiles, make_servers
from orchd.store.etcd.store import EtcdStore
from orchd.store.memory import MemoryStore
from orchd.testing.doubles.server import make_server
from orchd.txkit.metrics.families import UNSUFFIXED
from orchd.txkit.metrics.histogram import bound_text
from orchd.txkit.metrics.instruments import Distribution, instruments_of
from tests.reference_metrics import REFERENCE

DOCS = Path(__file__).resolve().parents[2] / "docs/metrics.md"
CONTROLLERS = (
    "job,cronjob,nodelifecycle,nodeipam,endpointslice,endpointslicemirroring,garbagecollector,root-ca-cert-publisher,"
    "ttl-after-finished,ephemeral-volume,persistentvolume-binder,attachdetach,replicaset,replicationcontroller"
)
FLAGS = (
    "--dialect=kubernetes", "--emulated-version=1.23", f"--controllers={CONTROLLERS}", "--scheduler=true", "--allocate-node-cidrs=true", "--cluster-cidr=10.1.0.0/16",
    "--show-hidden-metrics-for-version=1.22", "--authorization-mode=Node,RBAC",
)  # fmt: skip
EXPECTED = {KUBERNETES(name): (kind, set(labels.split()), bounds) for name, kind, labels, bounds in REFERENCE}


class Served:
    """A metric family as the text format shows it; `bounds` are its buckets if these are fixed."""

    def __init__(self) -> None:
        self.families: dict[str, Metric] = {}
        self.bounds: dict[str, tuple[float, ...]] = {}

    def add(self, family: Metric) -> bool:
        """Return true if the sample's labels were not seen before."""
        name = family.name + ("_total" if family.type == "counter" else "")
        known = name in self.families
        self.families[name] = family
        return not known

    def labels(self, name: str) -> set[str]:
        return set(getattr(self.families[name], "_labelnames"))  # noqa: B009  # the library has no other way to them

    def texts(self, name: str) -> list[str] | None:
        """The `le` labels of a histogram, or None before its first sample."""
        if name in self.bounds:
            return [bound_text(bound) for bound in self.bounds[name]]
        bounds = dict.fromkeys(s.labels["le"] for s in self.families[name].samples if s.name.endswith("_bucket"))
        return [text for text in bounds if text != "+Inf"] if bounds else None


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    out = Served()
    family = Distribution.family

    def recorded(self: Distribution) -> Metric:
        out.bounds[self.name] = self.bounds
        return family(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Distribution, "family", recorded)
        server = make_server(tmp_path_factory.mktemp("data"), *FLAGS)
        assert server.server.background.controllers.group is not None, "it leads at once: nobody else is on its store"
        etcd = EtcdStore(
            server.clock,
            make_servers(server.clock, ("http://127.0.0.1:1",), TlsFiles()),
            dialect_name="",
            random=Random(1),
        )
        encrypted = EncryptedStore(MemoryStore(server.clock), {}, mark=b"")
        for instrument in instruments_of(server.server.api.measured):
            assert out.add(instrument.family()), f"{instrument.name} is served twice"
        for instrument in instruments_of((etcd, RequestMetrics(), encrypted)):
            out.add(instrument.family())
        server.stop()
    yield out


def absent() -> dict[str, str]:
    """The names that the page lists as not served, with the reasons."""
    rows = re.findall(
        r"^\| `([a-z0-9_*{}]+)` \| (.+) \|$",
        DOCS.read_text(encoding="utf-8").partition("## Not served\n")[2].partition("\n## ")[0],
        re.MULTILINE,
    )
    return {KUBERNETES(name): reason for name, reason in rows}


def test_every_name_is_served_or_explained(served: Served) -> None:
    """Each name of the reference is served or explained, and no served name is explained as absent."""
    explained = set(absent())
    missing = {name for name in EXPECTED if name not in served.families}
    assert missing - explained == set()
    assert explained - missing == set()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_types_labels_and_buckets_are_the_references(served: Served, name: str) -> None:
    """Types, labels and buckets equal the reference's."""
    if name not in served.families:
        assert name in absent()
        return
    kind, labels, bounds = EXPECTED[name]
    family = served.families[name]
    assert {"counter": "counter", UNSUFFIXED: "counter"}.get(family.type, family.type) == kind
    assert served.labels(name) == labels
    texts = served.texts(name) if kind == "histogram" else None
    if bounds is not None and texts is not None:
        assert texts == [bound_text(bound) for bound in bounds]
