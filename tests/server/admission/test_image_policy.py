"""ImagePolicyWebhook, with a double for its service."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchd.errors import ApiError
from orchd.server.admission.interfaces import PluginContext
from orchd.server.admission.plugins.imagepolicy import ImagePolicyWebhook
from orchd.server.outbound.webhooks import WebhookError
from orchd.testing.doubles.results import result_of

POD = {
    "metadata": {"name": "p", "annotations": {"x.image-policy.orch.io/ticket": "1", "other": "2"}},
    "spec": {"containers": [{"image": "a"}, {"image": "b"}], "initContainers": [{"image": "c"}]},
}


class Service:
    """Returns scripted responses, and records the requests."""

    def __init__(self) -> None:
        self.answer: Any = {"status": {"allowed": True}}
        self.asked: list[Any] = []
        self.made: list[tuple[str, float]] = []

    def reviewer(self, path: str, pause: float) -> Any:
        self.made.append((path, pause))

        async def ask(document: Any) -> Any:
            self.asked.append(document)
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        return ask


def with_service(context: PluginContext, section: dict[str, Any], service: Service) -> PluginContext:
    """The context with a section of the configuration file, and with the service."""
    settings = replace(context.settings, configuration=section)
    return replace(context, settings=settings, outbound=replace(context.outbound, reviewer=service.reviewer))


def plugin(service: Service, world: Any, **chosen: Any) -> ImagePolicyWebhook:
    section = {"imagePolicy": {"orchConfigFile": "/etc/service.conf", **chosen}}
    return ImagePolicyWebhook(with_service(world.context, section, service))


def evaluate(made: ImagePolicyWebhook, world: Any, pod: Any = POD) -> None:
    result_of(made.validate(world.review("pods", pod)))


def test_review_holds_images_and_annotations(world: Any) -> None:
    """The review has all images in order, and the annotations for the service."""
    service, place = Service(), world()
    evaluate(plugin(service, place), place)
    assert service.asked == [{
        "kind": "ImageReview", "apiVersion": "imagepolicy.orch.io/v1alpha1", "metadata": {"creationTimestamp": None},
        "spec": {
            "containers": [{"image": "a"}, {"image": "b"}, {"image": "c"}],
            "annotations": {"x.image-policy.orch.io/ticket": "1"}, "namespace": "ns",
        },
        "status": {"allowed": False},
    }]  # fmt: skip
    assert service.made == [("/etc/service.conf", 0.5)]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (
            {"allowed": False, "reason": "not trusted"},
            "image policy webhook backend denied one or more images: not trusted",
        ),
        ({"allowed": False}, "one or more images rejected by webhook backend"),
        (None, "one or more images rejected by webhook backend"),
    ],
)
def test_refusal_has_the_services_reason(world: Any, status: Any, why: str) -> None:
    """The rejection has the service's reason if there is one; a response without `allowed` is a rejection."""
    service, place = Service(), world()
    service.answer = {"status": status}
    with pytest.raises(ApiError) as refused:
        evaluate(plugin(service, place), place)
    assert refused.value.message == f'pods "p" is forbidden: {why}'


def test_unavailable_service_refuses_or_allows_as_configured(world: Any) -> None:
    """If the service does not respond, pods are rejected or, if configured, allowed with an audit annotation."""
    service, place = Service(), world()
    service.answer = WebhookError("nobody there")
    with pytest.raises(ApiError, match="nobody there"):
        evaluate(plugin(service, place), place)
    evaluate(plugin(service, place, defaultAllow=True), place)
    assert place.notes == {"imagepolicywebhook.image-policy.orch.io/failed-open": "true"}


def test_verdicts_are_cached(world: Any) -> None:
    """Responses are cached for the configured time by review; failures are not cached. Annotations are added at each
    use."""
    service, place = Service(), world()
    service.answer = {"status": {"allowed": True, "auditAnnotations": {"seen": "a"}}}
    image_policy = plugin(service, place, allowTTL=50, denyTTL=10)
    evaluate(image_policy, place)
    place.notes.clear()
    evaluate(image_policy, place)
    assert len(service.asked) == 1 and place.notes == {"imagepolicywebhook.image-policy.orch.io/seen": "a"}
    evaluate(image_policy, place, {**POD, "metadata": {"name": "q"}})
    assert len(service.asked) == 2
    place.now += 51
    service.answer = {"status": {"allowed": False}}
    for now, asked in ((0, 3), (9, 3), (2, 4)):
        place.now += now
        with pytest.raises(ApiError):
            evaluate(image_policy, place)
        assert len(service.asked) == asked


def test_durations_can_be_turned_off(world: Any) -> None:
    """-1 caches no response and makes no pause between attempts."""
    service, place = Service(), world()
    image_policy = plugin(service, place, allowTTL=-1, retryBackoff=-1)
    assert service.made == [("/etc/service.conf", 0.0)]
    plugin(service, place, retryBackoff=2000)
    assert service.made[1:] == [("/etc/service.conf", 2.0)]
    evaluate(image_policy, place)
    place.now += 0.001
    evaluate(image_policy, place)
    assert len(service.asked) == 2


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (None, "imagePolicy: needed in --admission-control-config-file"),
        ({"imagePolicy": {}}, "imagePolicy.orchConfigFile: needs a file"),
        (
            {"imagePolicy": {"orchConfigFile": "f", "allowTTL": 3600}},
            "imagePolicy.allowTTL: valid value is between 1s and 1800s, or -1 for none, got 3600s",
        ),
        (
            {"imagePolicy": {"orchConfigFile": "f", "denyTTL": -2}},
            "imagePolicy.denyTTL: valid value is between 1s and 1800s, or -1 for none, got -2s",
        ),
    ],
)
def test_invalid_configuration_fails_the_start(world: Any, section: Any, message: str) -> None:
    """The error at the start names the field."""
    service, place = Service(), world()
    with pytest.raises(ValueError, match="imagePolicy") as refused:
        ImagePolicyWebhook(with_service(place.context, section, service))
    assert str(refused.value) == message
