"""Small pod policies, all disabled by default: image pulls, security contexts, affinity, extended resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zope.interface import implementer

from orchd.kinds.fields import mapping, spec, with_spec
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.quota.usage import is_extended
from orchd.server.admission.interfaces import UPDATE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.admission.plugin import CONTAINER_LISTS, Plugin, map_containers, refuse


def _all_containers(pod: Object | None) -> Iterator[tuple[str, int, Object]]:
    """(list, position, container)"""
    for key in CONTAINER_LISTS:
        for i, container in enumerate(spec(pod).get(key) or ()):
            yield key, i, container


@implementer(IMutatingPlugin, IValidatingPlugin)
class AlwaysPullImages(Plugin):
    name = "AlwaysPullImages"
    help = "Sets imagePullPolicy Always, so that pods need credentials for private images."
    resources = ("pods", "pods/ephemeralcontainers")

    def _adds_no_image(self, review: Review) -> bool:
        """True if an update adds no image."""
        if review.operation != UPDATE:
            return False
        old = {c.get("image") for _, _, c in _all_containers(review.old_object)}
        return all(c.get("image") in old for _, _, c in _all_containers(review.object))

    async def admit(self, review: Review) -> None:
        if review.object is None or self._adds_no_image(review):
            return
        review.object = map_containers(
            review.object,
            lambda c: c if c.get("imagePullPolicy") == "Always" else {**c, "imagePullPolicy": "Always"},
            CONTAINER_LISTS,
        )

    async def validate(self, review: Review) -> None:
        if self._adds_no_image(review):
            return
        for key, i, container in _all_containers(review.object):
            policy = container.get("imagePullPolicy", "")
            if policy != "Always":
                raise refuse(
                    review,
                    f'spec.{key}[{i}].imagePullPolicy: Unsupported value: "{policy}": supported values: "Always"',
                )


@implementer(IValidatingPlugin)
class SecurityContextDeny(Plugin):
    name = "SecurityContextDeny"
    help = "Rejects pods that set users, groups or SELinux options."
    resources = ("pods",)

    async def validate(self, review: Review) -> None:
        context = mapping(spec(review.object), "securityContext")
        for key, title in (
            ("supplementalGroups", "SupplementalGroups"),
            ("seLinuxOptions", "SELinuxOptions"),
            ("runAsUser", "RunAsUser"),
            ("fsGroup", "FSGroup"),
        ):
            if context.get(key) is not None:
                raise refuse(review, f"pod.Spec.SecurityContext.{title} is forbidden")
        for _, _, container in _all_containers(review.object):
            held = mapping(container, "securityContext")
            for key, title in (("seLinuxOptions", "SELinuxOptions"), ("runAsUser", "RunAsUser")):
                if held.get(key) is not None:
                    raise refuse(review, f"SecurityContext.{title} is forbidden")


@implementer(IValidatingPlugin)
class LimitPodHardAntiAffinityTopology(Plugin):
    name = "LimitPodHardAntiAffinityTopology"
    help = "Rejects required anti-affinity with a topology other than the host name."
    resources = ("pods",)

    async def validate(self, review: Review) -> None:
        allowed = self.dialect("{long}.io/hostname")
        anti = mapping(spec(review.object), "affinity", "podAntiAffinity")
        for term in anti.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey", "")
            if key != allowed:
                raise refuse(
                    review,
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} "
                    f"but only key {allowed} is allowed",
                )


@implementer(IMutatingPlugin)
class ExtendedResourceToleration(Plugin):
    name = "ExtendedResourceToleration"
    help = "Adds tolerations for nodes tainted with the extended resources that a pod requests."
    resources = ("pods",)

    async def admit(self, review: Review) -> None:
        pod = review.written
        extended: set[str] = set()
        for key in ("initContainers", "containers"):
            for container in spec(pod).get(key) or ():
                requests = mapping(container, "resources", "requests")
                extended.update(name for name in requests if is_extended(name, self.dialect))
        if not extended:
            return
        tolerations: list[dict[str, Any]] = list(spec(pod).get("tolerations") or ())
        fresh = {name: {"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in sorted(extended)}
        held = {each.get("key") for each in tolerations if each == fresh.get(each.get("key", ""))}
        tolerations += (toleration for name, toleration in fresh.items() if name not in held)
        review.object = with_spec(pod, tolerations=tolerations)
