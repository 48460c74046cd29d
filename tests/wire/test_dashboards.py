"""The dashboard and the alert rules in contrib/ use only metrics and labels that a server has."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
import treq
import yaml
from prometheus_client.parser import text_string_to_metric_families
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.web.client import Agent, HTTPConnectionPool

from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.client.interfaces import ResourceRef
from orchd.config.options import from_mapping, from_options

ROOT = Path(__file__).resolve().parents[2]
#: Metrics and labels that Prometheus itself adds to those of a target.
ADDED_METRICS, ADDED_LABELS = {"up"}, {"job", "instance", "le"}
#: Words in queries that are neither metrics nor labels.
FUNCTIONS = {
    "sum", "max", "rate", "increase", "histogram_quantile", "topk", "absent", "min_over_time", "by", "or", "label_values",
}  # fmt: skip


def dashboard_queries() -> dict[str, str]:
    """Each query of the dashboard, by panel."""
    board = json.loads((ROOT / "contrib/grafana/orchd.json").read_text(encoding="utf-8"))
    queries = {}
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            queries[f"{panel['title']} {target['refId']}"] = target["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            queries[f"${variable['name']}"] = variable["query"]
    return queries


def rule_queries() -> dict[str, str]:
    """Each expression of the alert rules, by alert."""
    groups = yaml.safe_load((ROOT / "contrib/prometheus/rules.yaml").read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def names_in(query: str) -> tuple[set[str], set[str]]:
    """Metrics and labels that a query names."""
    labels: set[str] = set()
    for matchers in re.findall(r"\{([^}]*)\}", query):
        labels |= set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
    for names in re.findall(r"\bby \(([^)]*)\)", query):
        labels |= set(re.findall(r"\w+", names))
    if match := re.fullmatch(r"label_values\((.*), (\w+)\)", query):
        labels.add(match[2])
        query = match[1]
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)", " ", query)
    return set(re.findall(r"(?<![\w.$])[a-zA-Z_]\w*", bare)) - FUNCTIONS, labels


async def exposition(folder: Path) -> str:
    """/metrics of a server with the controllers, the scheduler and an audit log, after a write and a read."""
    (folder / "policy.yaml").write_text("apiVersion: audit.orch.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    options = from_mapping(
        {
            "data-dir": str(folder / "data"),
            "audit-policy-file": str(folder / "policy.yaml"),
            "audit-log-path": str(folder / "audit"),
        },
        capabilities=capabilities(),
    )
    server = ApiServer(from_options(options), reactor, endpoint=TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1"))
    pool = HTTPConnectionPool(reactor)
    try:
        server.service.startService()
        await server.service.wait_ready()
        await server.client.create(
            ResourceRef("", "v1", "configmaps"),
            "default",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}},
        )
        administrator = runpy.run_path(str(ROOT / "docs/examples/embed.py"))["Administrator"](server)
        client = treq.client.HTTPClient(Agent(reactor, administrator, pool=pool))
        text = ""
        # The second scrape counts the first.
        for _ in range(2):
            response = await client.get(f"{server.url}/metrics")
            assert response.code == 200
            text = await response.text()
        return text
    finally:
        await pool.closeCachedConnections()
        await server.service.stopService()


class Served:
    """Names of samples that an exposition can have, and their labels where it has samples."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        self.labels: dict[str, set[str]] = {}
        # The parser appends _total to counters that are named without it.
        plain = {name for name in re.findall(r"^# TYPE (\S+) counter$", text, re.M) if not name.endswith("_total")}
        self.names |= plain
        for family in text_string_to_metric_families(text):
            endings = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum")}.get(family.type, ("",))
            self.names |= {family.name + ending for ending in endings}
            for sample in family.samples:
                self.labels.setdefault(sample.name, set()).update(sample.labels)
                if family.name in plain:
                    self.labels.setdefault(family.name, set()).update(sample.labels)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """The names of a started server."""
    text: str = pytest_twisted.blockon(Deferred.fromCoroutine(exposition(tmp_path_factory.mktemp("metrics"))))
    return Served(text)


def missing(queries: dict[str, str], served: Served) -> list[str]:
    """Metrics and labels of queries that the server does not have."""
    wrong = []
    for place, query in queries.items():
        metrics, labels = names_in(query)
        wrong += [f"{place}: no metric {name}" for name in sorted(metrics - served.names - ADDED_METRICS)]
        known = [served.labels[name] for name in metrics if name in served.labels]
        # Families without samples show no labels.
        if len(known) == len(metrics):
            wrong += [f"{place}: no label {label}" for label in sorted(labels - ADDED_LABELS - set().union(*known))]
        if not metrics:
            wrong.append(f"{place}: no metric at all")
    return wrong


def test_dashboard_metrics_exist(served: Served) -> None:
    """Every metric and label of the panels and variables exists on a started server."""
    assert missing(dashboard_queries(), served) == []


def test_alert_rule_metrics_exist(served: Served) -> None:
    """Every metric and label of the alert rules exists on a started server."""
    assert missing(rule_queries(), served) == []


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("sum by (verb) (rate(apiserver_request_total[5m]))", []),
        ("sum by (verbs) (rate(apiserver_request_total[5m]))", ["x: no label verbs"]),
        ('apiserver_request_total{cod="2"} > 3', ["x: no label cod"]),
        ("rate(apiserver_requests_total[5m])", ["x: no metric apiserver_requests_total"]),
        ("apiserver_request_duration_seconds", ["x: no metric apiserver_request_duration_seconds"]),
        ("rate([5m])", ["x: no metric at all"]),
    ],
)
def test_check_detects_wrong_metrics(served: Served, query: str, wrong: list[str]) -> None:
    """A wrong metric, a histogram without its suffix and a wrong label are detected."""
    assert missing({"x": query}, served) == wrong


def test_panels_and_alerts_are_complete() -> None:
    """Panels have an id each and do not overlap; alerts have a severity and a text."""
    panels: list[dict[str, Any]] = json.loads((ROOT / "contrib/grafana/orchd.json").read_text(encoding="utf-8"))[
        "panels"
    ]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (column, line)
        for box in (panel["gridPos"] for panel in panels)
        for column in range(box["x"], box["x"] + box["w"])
        for line in range(box["y"], box["y"] + box["h"])
    ]
    assert len(cells) == len(set(cells)) and max(column for column, _ in cells) < 24
    groups = yaml.safe_load((ROOT / "contrib/prometheus/rules.yaml").read_text(encoding="utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"].keys() == {"summary", "description"}
