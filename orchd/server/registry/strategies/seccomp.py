"""Seccomp profiles of pods: keeps deprecated annotations and fields in sync (release 1.23)."""

from __future__ import annotations

from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object

_OF_POD: Final = "seccomp.security.alpha.{long}.io/pod"
_OF_CONTAINER: Final = "container.seccomp.security.alpha.{long}.io/"
_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
_LOCAL: Final = "localhost/"
#: Annotation value -> profile type, and the reverse.
_TYPES: Final = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault", "docker/default": "RuntimeDefault"}
_TEXTS: Final = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default"}


def _text(profile: Object) -> str:
    """The annotation value of a profile; "" when it cannot be expressed."""
    if profile.get("type") == "Localhost" and profile.get("localhostProfile") is not None:
        return f"{_LOCAL}{profile['localhostProfile']}"
    return _TEXTS.get(profile.get("type") or "", "")


def _profile(text: str) -> Object | None:
    """The profile of an annotation value; None for an invalid one."""
    if text in _TYPES:
        return {"type": _TYPES[text]}
    name = text.removeprefix(_LOCAL)
    return {"type": "Localhost", "localhostProfile": name} if name and name != text else None


def _with_profile(holder: Object, key: str, annotations: dict[str, Any]) -> Object:
    """`holder` (a pod spec, a container) with the profile of its annotation, or the annotation of its profile,
    added."""
    context = holder.get("securityContext") or {}
    profile = context.get("seccompProfile")
    if profile is not None:
        text = "" if key in annotations else _text(profile)
        if text:
            annotations[key] = text
        return holder
    from_annotation = _profile(annotations[key]) if key in annotations else None
    return (
        holder
        if from_annotation is None
        else {**holder, "securityContext": {**context, "seccompProfile": from_annotation}}
    )


def as_given(pod: Object, dialect: Dialect) -> Object:
    """The pod itself: later releases ignore the annotations."""
    return pod


def sync_profiles(pod: Object, dialect: Dialect) -> Object:
    """A new pod with annotations and fields in sync; if both are given, both are preserved."""
    spec, metadata = fields.spec(pod), pod["metadata"]
    annotations = dict(metadata.get("annotations") or {})
    count = len(annotations)
    synced = _with_profile(spec, dialect(_OF_POD), annotations)
    prefix = dialect(_OF_CONTAINER)
    for name in _LISTS:
        before = synced.get(name)
        if before:
            after = [_with_profile(c, prefix + (c.get("name") or ""), annotations) for c in before]
            if after != before:
                synced = {**synced, name: after}
    if synced is not spec:
        pod = {**pod, "spec": synced}
    if len(annotations) != count:
        pod = {**pod, "metadata": {**metadata, "annotations": annotations}}
    return pod
