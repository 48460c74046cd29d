"""Selection of metrics and label values (--disabled-metrics, --allow-metric-labels)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import Metric

#: Replacement for label values that are not allowed.
UNEXPECTED = "unexpected"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSelection:
    """Metrics named in `disabled` are not served. `labels` holds allowed values by metric and label; samples with other
    values are added up."""

    disabled: frozenset[str] = frozenset()
    labels: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def filter(self, family: Metric) -> Metric | None:
        """The filtered family, None when it is disabled."""
        if not self.disabled and not self.labels:
            return family
        names = {family.name, *(sample.name for sample in family.samples)}
        if names & self.disabled:
            return None
        limited = {label: values for (name, label), values in self.labels.items() if name in names}
        return _limited(family, limited) if limited else family


def _limited(family: Metric, limited: Mapping[str, frozenset[str]]) -> Metric:
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for sample in family.samples:
        labels = {
            label: value if label not in limited or value in limited[label] else UNEXPECTED
            for label, value in sample.labels.items()
        }
        key = sample.name, tuple(labels.items())
        sums[key] = sums.get(key, 0.0) + sample.value
    out = Metric(family.name, family.documentation, family.type, family.unit)
    for (name, pairs), total in sums.items():
        out.add_sample(name, dict(pairs), total)
    return out


def metric_selection(disabled: Iterable[str], allowed: Mapping[str, str]) -> MetricSelection:
    """From the flags' values; `allowed` maps ``metric,label`` to ``value,value``."""
    labels = {}
    for key, values in allowed.items():
        metric, _, label = key.partition(",")
        labels[metric.strip(), label.strip()] = frozenset(value.strip() for value in values.split(","))
    return MetricSelection(disabled=frozenset(disabled), labels=labels)


#: Selects all metrics, unchanged.
EVERYTHING = MetricSelection()
