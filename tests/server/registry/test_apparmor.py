"""AppArmor profiles of new pods: annotations become fields from release 1.30 on, and both have to agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchd.testing.doubles.server import InProcessServer, JsonResponse, make_server, run

PODS = "/api/v1/namespaces/default/pods"
KEY = "container.apparmor.security.beta.kubernetes.io/c"
WARNING = f'299 - "metadata.annotations[{KEY}]: deprecated since v1.30; use the \\"appArmorProfile\\" field instead"'
LOCAL = {"type": "Localhost", "localhostProfile": "p"}


@pytest.fixture(params=["1.23", "1.35"])
def server(tmp_path: Path, request: Any) -> Any:
    release = f"--emulated-version={request.param}"
    server = make_server(tmp_path, "--dialect=kubernetes", release, "--disable-admission-plugins=ServiceAccount")
    yield server, request.param == "1.35"
    server.stop()


def create(server: InProcessServer, text: str, own: Any = None, of_pod: Any = None, **spec: Any) -> JsonResponse:
    context = {"appArmorProfile": own} if own else {}
    container = {"name": "c", "image": "i", "securityContext": context}
    if of_pod:
        spec["securityContext"] = {"appArmorProfile": of_pod}
    body = {"metadata": {"generateName": "p-", "annotations": {KEY: text}}, "spec": {"containers": [container], **spec}}
    return run(server.request("POST", PODS, body=body))


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("unconfined", {"type": "Unconfined"}),
        ("localhost/p", LOCAL),
        ("localhost/ p", None),
        ("localhost/", None),
    ],
)
def test_annotations_become_fields(server: Any, text: str, profile: Any) -> None:
    """The field of a container follows from its annotation, with a warning, unless it would not be valid."""
    earlier, later = server
    response = create(earlier, text)
    assert response.code == 201
    assert response.json["spec"]["containers"][0]["securityContext"].get("appArmorProfile") == (
        profile if later else None
    )
    assert [value for name, value in response.response.headers if name == "Warning"] == ([WARNING] if later else [])


def test_profiles_that_are_not_repeated(server: Any) -> None:
    """An annotation that says what the pod says, and one of a pod for Windows, do not change the container, and are not
    warned of."""
    earlier, _ = server
    for more in ({"of_pod": LOCAL}, {"os": {"name": "windows"}}):
        response = create(earlier, "localhost/p", **more)
        assert (
            response.code == 201 and "appArmorProfile" not in response.json["spec"]["containers"][0]["securityContext"]
        )
        assert not [value for name, value in response.response.headers if name == "Warning"]


@pytest.mark.parametrize(
    ("text", "profile", "member", "what"),
    [
        ("unconfined", {"type": "RuntimeDefault"}, "type", "type"),
        ("runtime/default", {"type": "Unconfined"}, "type", "type"),
        ("unconfined", LOCAL, "type", "type"),
        ("localhost/q", LOCAL, "localhostProfile", "profile"),
        ("localhost/p", LOCAL, "", ""),
        ("runtime/default", {"type": "RuntimeDefault"}, "", ""),
    ],
)
def test_annotations_agree_with_fields(server: Any, text: str, profile: Any, member: str, what: str) -> None:
    """An annotation that contradicts the container's field is refused."""
    earlier, later = server
    response = create(earlier, text, own=profile)
    if not later or not member:
        assert response.code == 201
        return
    at = f"spec.containers[0].securityContext.appArmorProfile.{member}"
    assert response.code == 422
    assert response.json["message"].endswith(f"{at}: Forbidden: apparmor {what} in annotation and field must match")


def test_the_field_of_the_pod_counts(server: Any) -> None:
    """An annotation that contradicts the pod's field becomes the container's own."""
    earlier, later = server
    response = create(earlier, "unconfined", of_pod=LOCAL)
    context = response.json["spec"]["containers"][0]["securityContext"]
    assert context == ({"appArmorProfile": {"type": "Unconfined"}} if later else {})
