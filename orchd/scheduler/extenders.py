"""Extenders: external services that take part in filtering, scoring, preemption and binding.

Members of messages have the names of the reference's fields; the case of members of responses does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from zope.interface import implementer

from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.errors import quoted
from orchd.kinds.gotext.values import json_name
from orchd.kinds.jsonvalues import Object
from orchd.scheduler.config.model import ExtenderConfig
from orchd.scheduler.extender_connection import ExtenderConnection
from orchd.scheduler.interfaces import ExtenderError, ExtenderVerdict, ExtenderVictims, IExtender, ISnapshot
from orchd.scheduler.pods import Pod

NODES: Final = ResourceRef("", "v1", "nodes")
PODS: Final = ResourceRef("", "v1", "pods")


def make_extenders(
    configs: Iterable[ExtenderConfig], *, reactor: Any, dialect: Dialect, informers: IInformers, snapshot: ISnapshot
) -> tuple[HttpExtender, ...]:
    """The extenders of a configuration in the order in which they are called: those whose failures are ignored come
    last. Raises ConfigError for TLS settings that cannot be used."""
    ordered = sorted(configs, key=lambda config: config.ignorable)
    nodes, pods = informers.informer(NODES), informers.informer(PODS)
    agent = dialect("{short}-scheduler")
    return tuple(
        HttpExtender(config, ExtenderConnection(config, reactor, agent), nodes, pods, snapshot) for config in ordered
    )


@implementer(IExtender)
class HttpExtender:
    """An extender that is called over HTTP. `nodes` and `pods` are the informers of the objects in requests."""

    def __init__(
        self,
        config: ExtenderConfig,
        connection: ExtenderConnection,
        nodes: IInformer,
        pods: IInformer,
        snapshot: ISnapshot,
    ) -> None:
        self._config = config
        self._connection = connection
        self._nodes = nodes
        self._pods = pods
        self._snapshot = snapshot
        self._managed = frozenset(each.name for each in config.managed_resources)
        self.name = config.url
        self.weight = config.weight
        self.ignorable = config.ignorable
        self.filters = bool(config.filter_verb)
        self.prioritizes = bool(config.prioritize_verb)
        self.preempts = bool(config.preempt_verb)
        self.binds = bool(config.bind_verb)
        self.ignored_resources = frozenset(each.name for each in config.managed_resources if each.ignored_by_scheduler)

    async def close(self) -> None:
        """Close kept connections."""
        await self._connection.close()

    def interested(self, pod: Pod) -> bool:
        return not self._managed or not self._managed.isdisjoint(pod.template.resource_names)

    # -- filtering and scoring

    async def filter(self, pod: Object, nodes: Sequence[str]) -> ExtenderVerdict:
        if not self._config.filter_verb:
            return ExtenderVerdict(nodes, {}, {})
        response = await self._ask(self._config.filter_verb, self._arguments(pod, nodes), "v1.ExtenderFilterResult")
        return ExtenderVerdict(
            self._remaining(response, nodes),
            _reasons(response, "FailedNodes"),
            _reasons(response, "FailedAndUnresolvableNodes"),
        )

    def _remaining(self, response: Mapping[str, Any], nodes: Sequence[str]) -> list[str]:
        """The nodes that a response leaves, in the order in which they were asked about."""
        names = _member(response, "NodeNames", list) if self._config.node_cache_capable else None
        if names is None:
            listed = _member(response, "Nodes", dict)
            items = None if listed is None else _member(listed, "items", list)
            names = [_name(each) for each in items or ()]
        candidates = set(nodes)
        for name in names:
            if not isinstance(name, str):
                raise _mismatch(name, "string")
            if name not in candidates:
                claim = f"claims a filtered node {quoted(str(name))} which is not found in the input node list"
                raise ExtenderError(f"extender {quoted(self.name)} {claim}")
        left = set(names)
        return [name for name in nodes if name in left]

    async def prioritize(self, pod: Object, nodes: Sequence[str]) -> Mapping[str, int]:
        if not self._config.prioritize_verb:
            return dict.fromkeys(nodes, 0)
        response = await self._connection.post(self._config.prioritize_verb, self._arguments(pod, nodes))
        if not isinstance(response, list | None):
            raise _mismatch(response, "v1.HostPriorityList")
        scores: dict[str, int] = {}
        for each in response or ():
            if not isinstance(each, dict):
                raise _mismatch(each, "v1.HostPriority")
            scores[_member(each, "Host", str) or ""] = _member(each, "Score", int) or 0
        return scores

    def _arguments(self, pod: Object, nodes: Sequence[str]) -> dict[str, Any]:
        if self._config.node_cache_capable:
            return {"Pod": pod, "Nodes": None, "NodeNames": list(nodes)}
        objects = (self._nodes.get("", name) for name in nodes)
        return {
            "Pod": pod,
            "Nodes": {"metadata": {}, "items": [each for each in objects if each is not None]},
            "NodeNames": None,
        }

    # -- preemption

    async def preempt(self, pod: Object, victims: Mapping[str, ExtenderVictims]) -> Mapping[str, ExtenderVictims]:
        if not self._config.preempt_verb:
            raise ExtenderError(f"preempt verb is not defined for extender {self.name} but run into ProcessPreemption")
        capable = self._config.node_cache_capable
        described = {name: self._describe(each, whole=not capable) for name, each in victims.items()}
        document = {
            "Pod": pod,
            "NodeNameToVictims": None if capable else described,
            "NodeNameToMetaVictims": described if capable else None,
        }
        response = await self._ask(self._config.preempt_verb, document, "v1.ExtenderPreemptionResult")
        remaining = _member(response, "NodeNameToMetaVictims", dict) or {}
        return {name: self._read_victims(name, each) for name, each in remaining.items()}

    def _describe(self, victims: ExtenderVictims, *, whole: bool) -> dict[str, Any]:
        if whole:
            objects = (self._pods.get(each.namespace, each.name) for each in victims.pods)
            pods = [each for each in objects if each is not None]
        else:
            pods = [{"UID": each.uid} for each in victims.pods]
        return {"Pods": pods, "NumPDBViolations": victims.violations}

    def _read_victims(self, node: str, victims: Any) -> ExtenderVictims:
        """The pods on a node that a response names by uid."""
        if not isinstance(victims, dict | None):
            raise _mismatch(victims, "v1.MetaVictims")
        victims = victims or {}
        row = self._snapshot.row_of(node)
        if row < 0:
            raise ExtenderError(f"nodeinfo not found for node name {quoted(node)}")
        by_uid = {each.uid: each for each in self._snapshot.pods(row)}
        pods = []
        for each in _member(victims, "Pods", list) or ():
            uid = (_member(each, "UID", str) or "") if isinstance(each, dict) else ""
            if uid not in by_uid:
                claim = (
                    f"claims to preempt pod (UID: &{{{uid}}}) on node: {node}, but the pod is not found on that node"
                )
                raise ExtenderError(f"extender: {self.name} {claim}")
            pods.append(by_uid[uid])
        return ExtenderVictims(pods, _member(victims, "NumPDBViolations", int) or 0)

    # -- binding

    async def bind(self, pod: Pod, node_name: str) -> None:
        if not self._config.bind_verb:
            raise ExtenderError("unexpected empty bindVerb in extender")
        document = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name}
        await self._ask(self._config.bind_verb, document, "v1.ExtenderBindingResult", again=False)

    async def _ask(self, verb: str, document: Any, type_name: str, *, again: bool = True) -> Mapping[str, Any]:
        """The response to a call, an object. Raises ExtenderError, also for an error in the response."""
        response = await self._connection.post(verb, document, again=again)
        if not isinstance(response, dict | None):
            raise _mismatch(response, type_name)
        response = response or {}
        error = _member(response, "Error", str)
        if error:
            raise ExtenderError(error)
        return response


def _member(response: Mapping[str, Any], name: str, kind: type) -> Any:
    """A member of a response, matched without regard to case; None if it is missing. Raises ExtenderError for one of
    another type."""
    value = response.get(name)
    if value is None:
        value = next((item for key, item in response.items() if key.casefold() == name.casefold()), None)
    if value is None or (isinstance(value, kind) and (kind is not int or _is_int64(value))):
        return value
    raise ExtenderError(f"json: cannot unmarshal {json_name(value)} into Go struct field {name}")


def _is_int64(value: Any) -> bool:
    """True for an integer of the reference: neither a boolean, nor beyond 64 bits."""
    return not isinstance(value, bool) and -(2**63) <= value < 2**63


def _reasons(response: Mapping[str, Any], name: str) -> dict[str, str]:
    """Reasons by node."""
    return {node: str(reason) for node, reason in (_member(response, name, dict) or {}).items()}


def _name(node: Any) -> str:
    """The name of a node object of a response."""
    metadata = node.get("metadata") if isinstance(node, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _mismatch(value: Any, type_name: str) -> ExtenderError:
    return ExtenderError(f"json: cannot unmarshal {json_name(value)} into Go value of type {type_name}")
