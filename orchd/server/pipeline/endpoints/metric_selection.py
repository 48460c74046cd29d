"""Selection of metrics and label values (--disabled-metrics, --allow-metric-labels, --show-hidden-metrics-for-version).

A metric is deprecated in one release and hidden in the next; --show-hidden-metrics-for-version with the previous
release serves those that were hidden by this one (specification, "Metrics", lifecycle).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client.core import Metric

from orchd.kinds.release import RELEASES, SPECIFICATION, Release

#: The release that deprecated a metric, by name.
DEPRECATED: Final[Mapping[str, str]] = {
    "apiserver_longrunning_gauge": "1.23",
    "apiserver_registered_watchers": "1.23",
    "etcd_object_counts": "1.22",
    "scheduler_e2e_scheduling_duration_seconds": "1.23",
}
#: The first release without a metric.
GONE: Final[Mapping[str, str]] = {
    "apiserver_dropped_requests_total": "1.25",
    "etcd_db_total_size_in_bytes": "1.29",
    "node_collector_evictions_number": "1.29",
}
#: The release that gave a metric another name, and this name.
RENAMED: Final[Mapping[str, tuple[str, str]]] = {
    "apiserver_flowcontrol_request_concurrency_in_use": ("1.31", "apiserver_flowcontrol_current_executing_seats"),
    "apiserver_flowcontrol_request_concurrency_limit": ("1.31", "apiserver_flowcontrol_nominal_limit_seats"),
    "apiserver_crd_webhook_conversion_duration_seconds": ("1.34", "apiserver_crd_conversion_webhook_duration_seconds"),
    "apiserver_request_slo_duration_seconds": ("1.27", "apiserver_request_sli_duration_seconds"),
}
#: Replacement for label values that are not allowed.
UNEXPECTED = "unexpected"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSelection:
    """Metrics named in `disabled` are not served. `labels` holds allowed values by metric and label; samples with other
    values are added up. Metrics that a release before `release` deprecated are hidden, except those of
    `exposed_release`."""

    release: Release = SPECIFICATION
    disabled: frozenset[str] = frozenset()
    labels: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    #: The release whose hidden metrics are served as well; "" for none.
    exposed_release: str = ""

    def state(self, family: Metric) -> str:
        """``disabled``, ``hidden`` by its deprecation, or "" for one that this release serves or does not have."""
        full_name = _full_name(family)
        if not self.release.includes("", GONE.get(full_name, "")):
            return ""
        if DEPRECATED.get(family.name, self.release.name) not in (self.release.name, self.exposed_release):
            return "hidden"
        return "disabled" if {full_name, *(sample.name for sample in family.samples)} & self.disabled else ""

    def filter(self, family: Metric) -> Metric | None:
        """The filtered family, None when it is disabled or hidden."""
        if not self.release.includes("", GONE.get(_full_name(family), "")):
            return None
        since, name = RENAMED.get(family.name, ("", family.name))
        if name != family.name and self.release.includes(since):
            _rename(family, name)
        deprecated = DEPRECATED.get(family.name, self.release.name)
        if deprecated not in (self.release.name, self.exposed_release):
            return None
        if family.name in DEPRECATED:
            family.documentation = f"(Deprecated since {deprecated}.0) {family.documentation}"
        if not self.disabled and not self.labels:
            return family
        names = {family.name, *(sample.name for sample in family.samples)}
        if names & self.disabled:
            return None
        limited = {label: values for (name, label), values in self.labels.items() if name in names}
        return _limit_values(family, limited) if limited else family


def _full_name(family: Metric) -> str:
    """The name under which a family is served, before it is renamed."""
    name: str = family.name
    return f"{name}_total" if family.type == "counter" else name


def _rename(family: Metric, name: str) -> None:
    """Give a family and its samples another name."""
    before = len(family.name)
    family.samples = [sample._replace(name=name + sample.name[before:]) for sample in family.samples]
    family.name = name


def _limit_values(family: Metric, limited: Mapping[str, frozenset[str]]) -> Metric:
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for sample in family.samples:
        labels = {
            label: value if label not in limited or value in limited[label] else UNEXPECTED
            for label, value in sample.labels.items()
        }
        key = sample.name, tuple(labels.items())
        sums[key] = sums.get(key, 0.0) + sample.value
    out = copy(family)
    out.samples = []
    for (name, pairs), total in sums.items():
        out.add_sample(name, dict(pairs), total)
    return out


def metric_selection(
    disabled: Iterable[str], allowed: Mapping[str, str], exposed_release: str = "", release: Release = SPECIFICATION
) -> MetricSelection:
    """From the flags' values; `allowed` maps ``metric,label`` to ``value,value``."""
    labels = {}
    for key, values in allowed.items():
        metric, _, label = key.partition(",")
        labels[metric.strip(), label.strip()] = frozenset(value.strip() for value in values.split(","))
    return MetricSelection(
        release=release, disabled=frozenset(disabled), labels=labels, exposed_release=exposed_release
    )


def flag_selection(flags: Mapping[str, Any]) -> MetricSelection:
    """The metrics that the metric flags enable."""
    return metric_selection(
        flags["disabled-metrics"],
        flags["allow-metric-labels"],
        flags["show-hidden-metrics-for-version"],
        RELEASES[flags["emulated-version"]],
    )


#: Selects all metrics, unchanged.
EVERYTHING = MetricSelection()
