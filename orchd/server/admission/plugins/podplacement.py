"""PodNodeSelector and PodTolerationRestriction: constrain pod placement by annotations of the namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zope.interface import implementer

from orchd.client.interfaces import ResourceRef
from orchd.errors import ApiError
from orchd.kinds.fields import annotations_of, mapping, spec, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quality_of_service import qos_class
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.core.placement import tolerations
from orchd.kinds.objects.validate.paths import root
from orchd.kinds.objects.validate.report import Report
from orchd.kinds.patch.syntax import SyntaxProblem, decode
from orchd.server.admission.interfaces import CREATE, UPDATE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.admission.plugins.tolerations import Toleration, covers_all, merge

NAMESPACES = ResourceRef("", "v1", "namespaces")


def _broken(message: str) -> ApiError:
    """An invalid annotation is a 500 without a reason."""
    return ApiError(500, "", message)


class _ByNamespace(Plugin):
    informers = (("", "v1", "namespaces"),)

    async def _annotations(self, review: Review) -> Mapping[str, str]:
        await self.wait_ready(review)
        namespace = self.informer("namespaces").get("", review.namespace)
        if namespace is None:
            namespace = await self.context.api.client.get(NAMESPACES, "", review.namespace)
        return annotations_of(namespace)


def parse_selector(text: str) -> dict[str, str]:
    """``a=b,c=d`` as labels. Raises ApiError 500."""
    pairs: dict[str, str] = {}
    for part in text.split(",") if text else ():
        pair = part.split("=")
        if len(pair) != 2:
            raise _broken(f"invalid selector: [{' '.join(pair)}]")
        pairs[pair[0].strip()] = pair[1].strip()
    return pairs


@implementer(IMutatingPlugin, IValidatingPlugin)
class PodNodeSelector(_ByNamespace):
    name = "PodNodeSelector"
    help = "Adds the node selector of the namespace to its pods and enforces the allowed ones."
    operations = (CREATE,)
    resources = ("pods",)

    def setup(self) -> None:
        self._config: Mapping[str, str] = mapping(self.context.settings.configuration, "podNodeSelectorPluginConfig")
        for name, selector in self._config.items():
            try:
                parse_selector(selector)
            except ApiError as error:
                raise ValueError(f"podNodeSelectorPluginConfig.{name}: {error.message}") from None
        self._keys = tuple(self.dialect(k) for k in ("scheduler.alpha.{long}.io/node-selector",))

    async def _selector(self, review: Review) -> dict[str, str]:
        annotations = await self._annotations(review)
        for key in self._keys:
            if key in annotations:
                return parse_selector(annotations[key])
        return parse_selector(self._config.get("clusterDefaultNodeSelector", ""))

    async def admit(self, review: Review) -> None:
        pod = review.written
        selector = await self._selector(review)
        held = mapping(spec(pod), "nodeSelector")
        if any(held.get(k, v) != v for k, v in selector.items()):
            raise refuse(review, "pod node label selector conflicts with its namespace node label selector")
        if selector:
            review.object = with_spec(pod, nodeSelector={**selector, **held})

    async def validate(self, review: Review) -> None:
        selector = await self._selector(review)
        held = mapping(spec(review.object), "nodeSelector")
        if any(held.get(k, v) != v for k, v in selector.items()):
            raise refuse(review, "pod node label selector conflicts with its namespace node label selector")
        allowed = parse_selector(self._config.get(review.namespace, ""))
        if allowed and any(allowed.get(k) != v for k, v in held.items()):
            raise refuse(review, "pod node label selector labels conflict with its namespace whitelist")


@implementer(IMutatingPlugin, IValidatingPlugin)
class PodTolerationRestriction(_ByNamespace):
    name = "PodTolerationRestriction"
    help = "Adds the default tolerations of the namespace to its pods and enforces the allowed ones."
    operations = (CREATE, UPDATE)
    resources = ("pods",)

    def setup(self) -> None:
        section = self.context.settings.configuration or {}
        self._default: list[Toleration] = list(section.get("default") or ())
        self._whitelist: list[Toleration] = list(section.get("whitelist") or ())
        report = Report(ObjectSettings(dialect=self.dialect))
        tolerations(self._default, root("default"), report)
        tolerations(self._whitelist, root("whitelist"), report)
        if report.causes:
            raise ValueError(report.summary())
        self._default_key = self.dialect("scheduler.alpha.{long}.io/defaultTolerations")
        self._whitelist_key = self.dialect("scheduler.alpha.{long}.io/tolerationsWhitelist")
        self._pressure: Toleration = {
            "key": self.dialect("node.{long}.io/memory-pressure"),
            "operator": "Exists",
            "effect": "NoSchedule",
        }

    async def admit(self, review: Review) -> None:
        pod = review.written
        held = spec(pod).get("tolerations") or []
        tolerations: list[Toleration] = list(held)
        if review.operation == CREATE:
            defaults = _read_annotation(await self._annotations(review), self._default_key)
            defaults = self._default if defaults is None else defaults
            if defaults:
                tolerations = merge(tolerations, defaults)
        if qos_class(spec(pod)) != "BestEffort":
            tolerations = merge(tolerations, [self._pressure])
        if tolerations:
            review.object = pod = with_spec(pod, tolerations=merge(tolerations, ()))
        await self._check(review, pod)

    async def validate(self, review: Review) -> None:
        await self._check(review, review.written)

    async def _check(self, review: Review, pod: Object) -> None:
        held = spec(pod).get("tolerations")
        if not held:
            return
        allowed = _read_annotation(await self._annotations(review), self._whitelist_key)
        if not covers_all(self._whitelist if allowed is None else allowed, held):
            raise _broken(
                "pod tolerations (possibly merged with namespace default tolerations) "
                "conflict with its namespace whitelist"
            )


def _read_annotation(annotations: Mapping[str, str], key: str) -> list[Toleration] | None:
    """The tolerations in an annotation; None without the annotation, [] for an empty one. Raises ApiError 500."""
    text = annotations.get(key)
    if text is None:
        return None
    if not text:
        return []
    try:
        value: Any = decode(text)
    except SyntaxProblem as problem:
        raise _broken(str(problem)) from None
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise _broken(f"{key}: a list of tolerations is needed")
    return value
