"""ImagePolicyWebhook: an external service decides whether the images of a pod may run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from zope.interface import implementer

from orchd.kinds.fields import annotations_of, mapping, spec, unstored_metadata
from orchd.server.admission.interfaces import IValidatingPlugin, Review
from orchd.server.admission.plugin import Plugin, refuse
from orchd.server.outbound.webhooks import WebhookError
from orchd.txkit.expiring_cache import ExpiringCache

#: Maximum number of cached verdicts.
_REMEMBERED = 1024
#: name -> (unit in seconds; minimum, maximum and default in seconds)
_DURATIONS = {
    "allowTTL": (1.0, 1.0, 1800.0, 300.0),
    "denyTTL": (1.0, 1.0, 1800.0, 30.0),
    "retryBackoff": (0.001, 0.001, 300.0, 0.5),
}
#: The value of a duration that turns it off.
_OFF = -1
_CONTAINERS: Mapping[str, tuple[str, ...]] = {"": ("containers", "initContainers")}
_REVIEWED = (("", _CONTAINERS), ("1.27", {**_CONTAINERS, "ephemeralcontainers": ("ephemeralContainers",)}))


@implementer(IValidatingPlugin)
class ImagePolicyWebhook(Plugin):
    """Configured by the member ``imagePolicy`` of its section of --admission-control-config-file."""

    name = "ImagePolicyWebhook"
    help = "Calls a webhook to decide whether the images of a pod may run."
    resources = ("pods", "pods/ephemeralcontainers")

    def setup(self) -> None:
        chosen = (self.context.settings.configuration or {}).get("imagePolicy")
        if chosen is None:
            raise ValueError("imagePolicy: needed in --admission-control-config-file")
        path = chosen.get(self.dialect("{short}ConfigFile"))
        if not path:
            raise ValueError(self.dialect("imagePolicy.{short}ConfigFile: needs a file"))
        times = {name: _seconds(name, chosen.get(name, 0)) for name in _DURATIONS}
        #: The lists of containers whose images are reviewed, by subresource. Others are not handled.
        self._reviewed = self.context.settings.release.choose(_REVIEWED)
        self._kept_for = {True: times["allowTTL"], False: times["denyTTL"]}
        self._open = bool(chosen.get("defaultAllow"))
        self._marker = self.dialect(".image-policy.{abbr}.io/")
        self._prefix = self.dialect("imagepolicywebhook.image-policy.{abbr}.io/")
        self._ask = self.context.outbound.reviewer(path, times["retryBackoff"])
        self._decisions: ExpiringCache[bytes, dict[str, Any]] = ExpiringCache(_REMEMBERED, self.context.runtime.wall)

    async def validate(self, review: Review) -> None:
        pod = review.written
        if review.subresource not in self._reviewed:
            return
        asked = self._question(review, pod)
        status = self._cached_response(asked)
        if status is None:
            try:
                status = await self._review(asked)
            except WebhookError as error:
                if not self._open:
                    raise refuse(review, str(error)) from error
                review.annotate(self._prefix + "failed-open", "true")
                return
        for key, value in mapping(status, "auditAnnotations").items():
            review.annotate(self._prefix + key, str(value))
        if not status.get("allowed"):
            why = status.get("reason")
            raise refuse(
                review,
                f"image policy webhook backend denied one or more images: {why}"
                if why
                else "one or more images rejected by webhook backend",
            )

    def _question(self, review: Review, pod: dict[str, Any]) -> dict[str, Any]:
        """The spec of an ImageReview: images, and annotations for the service."""
        body = spec(pod)
        containers = [each for name in self._reviewed[review.subresource] for each in body.get(name) or ()]
        asked: dict[str, Any] = {"containers": [{"image": c["image"]} if c.get("image") else {} for c in containers]}
        notes = annotations_of(pod)
        chosen = {key: value for key, value in notes.items() if self._marker in key}
        if chosen:
            asked["annotations"] = chosen
        asked["namespace"] = review.namespace
        return asked

    def _cached_response(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        return self._decisions.get(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS))

    async def _review(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The status of the service's response. Raises WebhookError."""
        response = await self._ask(
            {
                "kind": "ImageReview",
                "apiVersion": self.dialect("imagepolicy.{abbr}.io/v1alpha1"),
                "metadata": unstored_metadata(self.context.settings.release),
                "spec": asked,
                "status": {"allowed": False},
            }
        )
        status = response.get("status")
        if not isinstance(status, dict):
            status = {}
        key = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
        self._decisions.put(key, status, self._kept_for[bool(status.get("allowed"))])
        return status


def _seconds(name: str, value: int) -> float:
    unit, least, most, usual = _DURATIONS[name]
    if not value:
        return usual
    if value == _OFF:
        return 0.0
    seconds = value * unit
    if not least <= seconds <= most:
        raise ValueError(
            f"imagePolicy.{name}: valid value is between {least:g}s and {most:g}s, or -1 for none, got {seconds:g}s"
        )
    return float(seconds)
