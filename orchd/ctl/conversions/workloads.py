"""Workloads of extensions/v1beta1 and apps/v1beta1: defaults that apps/v1 does not have, and fields that became
annotations."""

from __future__ import annotations

from typing import Any, Final

from orchd.dialect import Dialect
from orchd.kinds.fields import mapping
from orchd.kinds.jsonvalues import Object

#: The greatest number of these fields, which means: without limit.
_UNLIMITED: Final = 2**31 - 1
_ROLLBACK: Final = "deprecated.deployment.rollback.to"
_GENERATION: Final = "deprecated.daemonset.template.generation"


def with_selector(obj: Object, dialect: Dialect) -> Object:
    """The selector, and the labels of an object without any, are by default those of the pod template."""
    spec, metadata = obj["spec"], obj["metadata"]
    labels = mapping(spec, "template", "metadata").get("labels")
    if not labels:
        return obj
    out = {**obj, "spec": spec if spec.get("selector") is not None else {**spec, "selector": {"matchLabels": labels}}}
    return out if metadata.get("labels") else {**out, "metadata": {**metadata, "labels": labels}}


def extensions_deployment(obj: Object, dialect: Dialect) -> Object:
    """A rolling update replaces one pod at a time, and neither revisions nor the time of a rollout are limited."""
    out = _without_rollback(with_selector(obj, dialect))
    strategy = {"type": "RollingUpdate", **mapping(out["spec"], "strategy")}
    if strategy["type"] == "RollingUpdate" or strategy.get("rollingUpdate") is not None:
        strategy["rollingUpdate"] = {"maxUnavailable": 1, "maxSurge": 1, **mapping(strategy, "rollingUpdate")}
    return _with_defaults(
        {**out, "spec": {**out["spec"], "strategy": strategy}},
        progressDeadlineSeconds=_UNLIMITED,
        revisionHistoryLimit=_UNLIMITED,
    )


def beta1_deployment(obj: Object, dialect: Dialect) -> Object:
    """Two revisions are kept."""
    return _with_defaults(_without_rollback(with_selector(obj, dialect)), revisionHistoryLimit=2)


def beta1_stateful_set(obj: Object, dialect: Dialect) -> Object:
    """Pods are replaced when they are deleted."""
    return _on_delete(with_selector(obj, dialect))


def extensions_daemon_set(obj: Object, dialect: Dialect) -> Object:
    """Pods are replaced when they are deleted; the generation of the template is an annotation."""
    out = _on_delete(with_selector(obj, dialect))
    generation = out["spec"].get("templateGeneration")
    if generation is None:
        return out
    return _annotated({**out, "spec": _without(out["spec"], "templateGeneration")}, _GENERATION, str(generation))


def _on_delete(obj: Object) -> Object:
    strategy = {"type": "OnDelete", **mapping(obj["spec"], "updateStrategy")}
    return {**obj, "spec": {**obj["spec"], "updateStrategy": strategy}}


def _without_rollback(obj: Object) -> Object:
    rollback = obj["spec"].get("rollbackTo")
    if rollback is None:
        return obj
    return _annotated({**obj, "spec": _without(obj["spec"], "rollbackTo")}, _ROLLBACK, str(rollback.get("revision", 0)))


def _with_defaults(obj: Object, **defaults: Any) -> Object:
    missing = {key: value for key, value in defaults.items() if obj["spec"].get(key) is None}
    return {**obj, "spec": {**obj["spec"], **missing}}


def _annotated(obj: Object, key: str, value: str) -> Object:
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**mapping(metadata, "annotations"), key: value}}}


def _without(values: Object, key: str) -> Object:
    return {name: value for name, value in values.items() if name != key}
