"""Client of the metrics APIs: resource, pod, object and external metrics. All values are in thousandths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from orchd.client.interfaces import IClient, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.catalog import Catalog, split_group_version
from orchd.kinds.fields import mapping
from orchd.kinds.gotext.durations import DurationError, parse_seconds
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity, ScalarError
from orchd.kinds.objects.selectors import LabelSelector
from orchd.kinds.times import seconds_of

#: Default measurement window in seconds.
_WINDOW: Final = 60.0
#: Versions of the custom metrics API, the preferred one first.
_CUSTOM_VERSIONS: Final = ("v1beta2", "v1beta1")


class MetricsError(Exception):
    """A metric is unavailable; the text is the reason."""


@dataclass(frozen=True, slots=True)
class PodMetric:
    """A value of one pod, measured over `window` seconds before `at` (seconds since the epoch)."""

    value: int
    at: float = 0.0
    window: float = _WINDOW


def milli(value: Any) -> int:
    """A quantity in thousandths, rounded up. Raises MetricsError."""
    try:
        return int(Quantity.parse(value).milli)
    except ScalarError as error:
        raise MetricsError(f"wrong quantity {value!r}: {error}") from error


def _window(text: Any) -> float:
    """Seconds of a duration such as ``30s`` or ``1m30s``. Raises MetricsError."""
    try:
        return parse_seconds(str(text or "0")) or _WINDOW
    except DurationError as error:
        raise MetricsError(f"wrong window: {error}") from error


class MetricsClient:
    """Reads as the service account of `client`."""

    def __init__(self, client: IClient, dialect: Dialect, catalog: Callable[[], Catalog]) -> None:
        self._client = client
        self._catalog = catalog
        self._resource = ResourceRef(dialect("metrics.{abbr}.io"), "v1beta1", "pods")
        self._custom = dialect("custom.metrics.{abbr}.io")
        self._external = dialect("external.metrics.{abbr}.io")

    async def resource(
        self, namespace: str, selector: LabelSelector, resource: str, container: str = ""
    ) -> dict[str, PodMetric]:
        """The usage of a resource by pod, of all containers or of one."""
        what = "unable to fetch metrics from resource metrics API"
        items = await self._items(self._resource, namespace, what, label_selector=str(selector))
        if not items:
            raise MetricsError("no metrics returned from resource metrics API")
        metrics = {}
        for item in items:
            usage = _usage(item, resource, container)
            if usage is not None:
                at = seconds_of(item.get("timestamp")) or 0.0
                metrics[str(item["metadata"]["name"])] = PodMetric(usage, at, _window(item.get("window")))
        return metrics

    async def of_pods(
        self, namespace: str, selector: LabelSelector, metric: str, metric_selector: LabelSelector
    ) -> dict[str, PodMetric]:
        """A custom metric by pod."""
        items = await self._custom_items(f"pods/*/{metric}", namespace, str(selector), metric_selector)
        metrics = {}
        for item in items:
            at, window = seconds_of(item.get("timestamp")) or 0.0, item.get("windowSeconds")
            value = PodMetric(milli(item.get("value")), at, float(window) if window is not None else _WINDOW)
            metrics[str(mapping(item, "describedObject").get("name", ""))] = value
        return metrics

    async def of_object(
        self, namespace: str, described: dict[str, Any], metric: str, metric_selector: LabelSelector
    ) -> int:
        """A custom metric of one object, in `namespace` whatever `described` says, or of that namespace itself."""
        kind, group = str(described.get("kind", "")), split_group_version(str(described.get("apiVersion") or ""))[0]
        if (group, kind) == ("", "Namespace"):
            items = await self._custom_items(f"metrics/{metric}", namespace, "", metric_selector)
        else:
            resource = self._catalog().kind_of_group(group, kind)
            if resource is None:
                title = f"{kind}.{group}" if group else kind
                why = f'unable to map kind {title} to resource: no matches for kind "{kind}" in group "{group}"'
                raise MetricsError(f"unable to fetch metrics from custom metrics API: {why}")
            title = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            path = f"{title}/{described.get('name', '')}/{metric}"
            items = await self._custom_items(path, namespace, "", metric_selector)
        return milli(items[0].get("value"))

    async def external(self, namespace: str, metric: str, selector: LabelSelector) -> list[int]:
        """The values of an external metric."""
        what = "unable to fetch metrics from external metrics API"
        ref = ResourceRef(self._external, "v1beta1", metric)
        items = await self._items(ref, namespace, what, label_selector=str(selector))
        if not items:
            raise MetricsError("no metrics returned from external metrics API")
        return [milli(item.get("value")) for item in items]

    async def _custom_items(
        self, path: str, namespace: str, selector: str, metric_selector: LabelSelector
    ) -> list[Object]:
        what = "unable to fetch metrics from custom metrics API"
        query = {} if metric_selector.everything else {"metricLabelSelector": str(metric_selector)}
        for version in _CUSTOM_VERSIONS:
            ref = ResourceRef(self._custom, version, path)
            try:
                response = await self._client.list(ref, namespace, label_selector=selector, query=query)
            except ApiError as error:
                if error.code == 404 and not (error.details or {}).get("name"):
                    continue
                raise MetricsError(f"{what}: {_reason(error, ref)}") from error
            items: list[Object] = response.get("items") or []
            if not items:
                raise MetricsError("no metrics returned from custom metrics API")
            return items
        raise MetricsError(f"{what}: no custom metrics API ({self._custom}) registered")

    async def _items(self, ref: ResourceRef, namespace: str, what: str, *, label_selector: str) -> list[Object]:
        try:
            response = await self._client.list(ref, namespace, label_selector=label_selector)
        except ApiError as error:
            raise MetricsError(f"{what}: {_reason(error, ref)}") from error
        items: list[Object] = response.get("items") or []
        return items


def _reason(error: ApiError, ref: ResourceRef) -> str:
    """The text of an error; names the resource if no server serves it."""
    title = f"(get {ref.plural}.{ref.group})"
    if error.code == 404 and not (error.details or {}).get("name"):
        return f"the server could not find the requested resource {title}"
    if error.code == 503:
        return f"the server is currently unable to handle the request {title}"
    return error.message


def _usage(item: Object, resource: str, container: str) -> int | None:
    """Total usage of a pod's containers; None if one has no value."""
    containers: Iterable[dict[str, Any]] = item.get("containers") or ()
    if container:
        containers = [c for c in containers if c.get("name") == container]
        if not containers:
            pod = item["metadata"]
            raise MetricsError(
                f"container {container} not present in metrics for pod {pod.get('namespace', '')}/{pod['name']}"
            )
    total = 0
    for each in containers:
        value = mapping(each, "usage").get(resource)
        if value is None:
            return None
        total += milli(value)
    return total
