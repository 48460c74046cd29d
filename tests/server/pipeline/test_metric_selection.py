"""Disabled metrics and allow-lists of label values."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from twisted.internet.task import Clock

from orchd.dialect import ORCH
from orchd.kinds.openapi.discovery import version_info
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.server.pipeline.endpoints.metric_selection import MetricSelection, metric_selection
from orchd.server.pipeline.endpoints.metrics import metrics_endpoint
from orchd.server.pipeline.endpoints.simple import build_info, enabled_features
from orchd.testing.doubles.server import run
from orchd.txkit.metrics.instruments import Counter, Gauge
from orchd.txkit.turns import TurnBudget


def family() -> CounterMetricFamily:
    counter_metric_family = CounterMetricFamily("asked", "Questions.", labels=("who", "what"))
    for labels, value in ((("a", "x"), 1), (("b", "x"), 2), (("c", "x"), 4), (("c", "y"), 8)):
        counter_metric_family.add_metric(labels, value)
    return counter_metric_family


def test_all_metrics_are_shown_by_default() -> None:
    """Without flags all metrics are served unchanged."""
    found = family()
    assert MetricSelection().filter(found) is found


def test_disabled_metrics_are_omitted() -> None:
    """A metric is disabled by the name under which it is served."""
    assert metric_selection(["asked_total"], {}).filter(family()) is None
    assert metric_selection(["other"], {}).filter(family()) is not None


def test_label_values_outside_the_allow_list_are_combined() -> None:
    """Other values of the label are combined."""
    shown = metric_selection([], {"asked_total,who": "a, b"}).filter(family())
    assert shown is not None
    values = {tuple(sample.labels.values()): sample.value for sample in shown.samples if sample.name == "asked_total"}
    assert values == {("a", "x"): 1, ("b", "x"): 2, ("unexpected", "x"): 4, ("unexpected", "y"): 8}


def test_hidden_and_deprecated_metrics() -> None:
    """A metric that the last release deprecated is hidden by default; one that this release deprecated says so in its
    help."""
    hidden = GaugeMetricFamily("etcd_object_counts", "Objects.")
    assert metric_selection([], {}).filter(hidden) is None
    exposed = metric_selection([], {}, "1.22").filter(hidden)
    assert exposed is not None and exposed.documentation == "(Deprecated since 1.22.0) Objects."
    deprecated = metric_selection([], {}).filter(GaugeMetricFamily("apiserver_registered_watchers", "Watches."))
    assert deprecated is not None and deprecated.documentation == "(Deprecated since 1.23.0) Watches."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("apiserver_request_slo_duration_seconds", "apiserver_request_sli_duration_seconds"),
        ("apiserver_flowcontrol_request_concurrency_limit", "apiserver_flowcontrol_nominal_limit_seats"),
        ("apiserver_dropped_requests_total", None),
        ("apiserver_request_duration_seconds", "apiserver_request_duration_seconds"),
    ],
)
def test_names_follow_the_release(old: str, new: str | None) -> None:
    """Metrics have the names of the emulated release, their samples too; what it no longer has is not served."""
    found = metric_selection([], {}, release=NEWEST).filter(HistogramMetricFamily(old, "Text.", [("+Inf", 1.0)], 2.0))
    names = found and (found.name, {sample.name for sample in found.samples})
    assert names == (new and (new, {f"{new}_bucket", f"{new}_count", f"{new}_sum"}))
    before = metric_selection([], {}).filter(HistogramMetricFamily(old, "Text.", [("+Inf", 1.0)], 2.0))
    assert before is not None and before.name == old


@pytest.mark.parametrize(("release", "shown"), [(SPECIFICATION, False), (NEWEST, True)])
def test_gates_are_a_metric_of_later_releases(release: Release, *, shown: bool) -> None:
    """One number for each gate of the release, with its stage."""
    families = [
        each.family() for each in enabled_features(ORCH, release, lambda name: name != "APIResponseCompression")
    ]
    numbers = {
        (sample.labels["name"], sample.labels["stage"]): sample.value
        for family in families
        for sample in family.samples
    }
    assert numbers.get(("APIResponseCompression", "BETA")) == (0.0 if shown else None)
    assert numbers.get(("AnyVolumeDataSource", "")) == (1.0 if shown else None)


def test_the_metrics_of_the_release() -> None:
    """The build is that of the program alone; later releases say which one it emulates in a metric of their own."""
    labels = {}
    for release in (SPECIFICATION, NEWEST):
        for info in build_info(ORCH, version_info(release)):
            [sample] = info.family().samples
            labels[release, sample.name] = sample.labels
    before, after = (labels[release, ORCH("{long}_build_info")] for release in (SPECIFICATION, NEWEST))
    assert before.keys() == after.keys() and after["git_version"] == "v1.35.6"
    assert (SPECIFICATION, "version_info") not in labels
    emulated = {"binary": "1.35.6", "component": "orch", "emulation": "1.35", "min_compat": "1.34"}
    assert labels[NEWEST, "version_info"] == emulated


@pytest.mark.parametrize(("release", "disabled", "expected"), [
    (NEWEST, [], {"disabled": 0, "hidden": 1}),
    (NEWEST, ["asked_total"], {"disabled": 1, "hidden": 1}),
    (SPECIFICATION, ["asked_total"], {}),
])  # fmt: skip
def test_metrics_that_are_not_served_are_counted(
    release: Release, disabled: list[str], expected: dict[str, int]
) -> None:
    """Later releases count those that are disabled, and those that are hidden because they are deprecated."""
    instruments = Counter("asked_total", "Questions."), Gauge("etcd_object_counts", "Objects.")
    shown = metric_selection(disabled, {}, release=release)
    respond = metrics_endpoint(lambda: instruments, TurnBudget(Clock()), shown)
    text = run(respond(cast(Any, SimpleNamespace(method="GET")))).body.decode()
    found = dict(re.findall(r"^(disabled|hidden)_metrics_total (\d+)", text, re.MULTILINE))
    assert {state: int(number) for state, number in found.items()} == expected
    assert ("asked_total 0.0" in text) == (not disabled)
