"""Disabled metrics and allow-lists of label values."""

from __future__ import annotations

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from orchd.server.pipeline.endpoints.metric_selection import MetricSelection, metric_selection


def family() -> CounterMetricFamily:
    made = CounterMetricFamily("asked", "Questions.", labels=("who", "what"))
    for labels, value in ((("a", "x"), 1), (("b", "x"), 2), (("c", "x"), 4), (("c", "y"), 8)):
        made.add_metric(labels, value)
    return made


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
