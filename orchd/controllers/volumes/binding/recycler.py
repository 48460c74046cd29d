"""Recycling: a pod that empties a volume, so that other claims can use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchd.controllers.settings import ControllerSettings
from orchd.kinds import fields
from orchd.kinds.fields import name, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import capacity

#: Namespace of the pods.
NAMESPACE: Final = "default"
_PREFIX: Final = "recycler-for-"
#: Image of the pods, a template for a dialect.
IMAGE: Final = "{abbr}.gcr.io/debian-base:v2.0.0"
_SCRUB: Final = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
_GIB_NANO: Final = 1024**3 * 10**9


def recyclable(volume: Object) -> bool:
    """True if a recycler pod on any node can empty the volume."""
    return any(spec(volume).get(field) is not None for field in ("nfs", "hostPath"))


def pod_name(volume: Object) -> str:
    return f"{_PREFIX}{name(volume)}"


def volume_of(pod: Object) -> str:
    """The name of the volume that a pod recycles; "" for other pods."""
    if pod["metadata"].get("namespace") != NAMESPACE or not name(pod).startswith(_PREFIX):
        return ""
    return name(pod).removeprefix(_PREFIX)


def deadline(volume: Object, settings: ControllerSettings) -> int:
    """Seconds that the pod may run: a number per GiB, and a minimum."""
    if spec(volume).get("nfs") is not None:
        least, increment = settings.pv_recycler_minimum_timeout_nfs, settings.pv_recycler_increment_timeout_nfs
    else:
        least = settings.pv_recycler_minimum_timeout_hostpath
        increment = settings.pv_recycler_timeout_increment_hostpath
    return max(least, capacity(volume).nano // _GIB_NANO * increment)


def recycler_pod(volume: Object, image: str, settings: ControllerSettings) -> Object:
    """The pod for a volume that `recyclable` accepts."""
    field = "nfs" if spec(volume).get("nfs") is not None else "hostPath"
    source: Mapping[str, Any] = spec(volume)[field]
    template = settings.pv_recycler_pod_template_filepath_nfs
    if field == "hostPath":
        template = settings.pv_recycler_pod_template_filepath_hostpath
    if template is not None:
        return _from_template(template, volume, field, settings)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod_name(volume), "namespace": NAMESPACE},
        "spec": {
            "activeDeadlineSeconds": deadline(volume, settings),
            "restartPolicy": "Never",
            "volumes": [{"name": "vol", field: source}],
            "containers": [
                {
                    "name": "pv-recycler",
                    "image": image,
                    "command": ["/bin/sh"],
                    "args": ["-c", _SCRUB],
                    "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
                }
            ],
        },
    }


def _from_template(template: Mapping[str, Any], volume: Object, field: str, settings: ControllerSettings) -> Object:
    """The pod of a template; its first volume becomes the one to recycle."""
    first, *rest = template["spec"]["volumes"]
    metadata = {k: v for k, v in fields.metadata(template).items() if k in ("labels", "annotations")}
    volumes = [{"name": first["name"], field: spec(volume)[field]}, *rest]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "name": pod_name(volume), "namespace": NAMESPACE},
        "spec": {**template["spec"], "volumes": volumes, "activeDeadlineSeconds": deadline(volume, settings)},
    }


def check_template(template: Any) -> str:
    """Why a value is not the template of a recycler's pod, "" if it is one."""
    if not isinstance(template, dict) or (template.get("apiVersion"), template.get("kind")) != ("v1", "Pod"):
        return "is not a v1 Pod"
    if fields.metadata(template).get("namespace", NAMESPACE) != NAMESPACE:
        return f"must be in the namespace {NAMESPACE}"
    volumes = spec(template).get("volumes")
    if not volumes or not isinstance(volumes, list) or not isinstance(volumes[0], dict) or not volumes[0].get("name"):
        return "does not contain any volumes"
    return ""


def failure(pod: Object) -> str:
    """Why a failed pod failed."""
    return str(status(pod).get("message") or "pod failed, pod.Status.Message unknown")
