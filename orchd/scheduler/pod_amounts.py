"""The requests of a pod, as the filter and the scores count them. Pure; one rule per release that changed it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchd.scheduler.resources import CPU, MEMORY, amount, amounts, maximum, total

#: Requests that scores assume for a container without any: 100 milli CPU, 200 MiB.
DEFAULT_CPU, DEFAULT_MEMORY = 100, 200 * 1024 * 1024
_DEFAULTS: Final = {CPU: DEFAULT_CPU, MEMORY: DEFAULT_MEMORY}
#: Resources that a pod may request as a whole, besides huge pages.
_POD_LEVEL: Final = (CPU, MEMORY)
_HUGE_PAGES: Final = "hugepages-"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAmounts:
    """Whole numbers by resource (milli CPU, bytes, counts); pairs are (milli CPU, bytes of memory).

    `requests` is what the node must have, `nonzero` what a pod on a node counts in scores, with defaults for containers
    that request nothing. Scores count the pod that is placed as `scored`, `scored_nonzero` and, for the balance,
    `balanced`."""

    requests: Mapping[str, int]
    nonzero: tuple[int, int]
    scored: Mapping[str, int]
    scored_nonzero: tuple[int, int]
    balanced: Mapping[str, int]


#: Reads the containers, the init containers, the overhead and the pod's own resources in the facts of a template.
AmountRule = Callable[[Mapping[str, Any]], PodAmounts]


def count_containers(facts: Mapping[str, Any]) -> PodAmounts:
    """The sum of the containers, or the largest init container if that requests more. Scores count the pod that is
    placed without overhead, and the balance counts whole units of it (a part of a core is one thousandth): the
    reference does so, and its figures are compared."""
    requested = [amounts(each["requests"]) for each in facts["containers"]]
    requested_first = [amounts(each["requests"]) for each in facts["inits"]]
    overhead = amounts(facts["overhead"])
    bare = maximum((total(requested), *requested_first))
    nonzero = _nonzero(requested, requested_first)
    return PodAmounts(
        requests=total((bare, overhead)),
        nonzero=(nonzero[0] + overhead.get(CPU, 0), nonzero[1] + overhead.get(MEMORY, 0)),
        scored=bare,
        scored_nonzero=nonzero,
        balanced=total((bare, {name: amount("", each) for name, each in facts["overhead"].items()})),
    )


def _nonzero(requested: Iterable[Mapping[str, int]], requested_first: Iterable[Mapping[str, int]]) -> tuple[int, int]:
    """Of containers and of init containers, of which the largest counts; with defaults for those that request
    nothing."""
    cpu = sum(each.get(CPU, DEFAULT_CPU) for each in requested)
    memory = sum(each.get(MEMORY, DEFAULT_MEMORY) for each in requested)
    for each in requested_first:
        cpu, memory = max(cpu, each.get(CPU, DEFAULT_CPU)), max(memory, each.get(MEMORY, DEFAULT_MEMORY))
    return cpu, memory


def count_sidecars(facts: Mapping[str, Any]) -> PodAmounts:
    """Init containers that are restarted always run beside the containers and the init containers after them; what the
    pod requests as a whole replaces the sum of its containers. Scores count the same as the filter."""
    requested = [amounts(each["requests"]) for each in facts["containers"]]
    requested_first = [(each["sidecar"], amounts(each["requests"])) for each in facts["inits"]]
    whole = {
        name: each
        for name, each in amounts(facts["resources"]).items()
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
    }
    overhead = amounts(facts["overhead"])
    requests = _together(requested, requested_first, whole, overhead)
    # Of the basic resources alone: a pod may name thousands of others.
    with_defaults = _together(
        [{**_DEFAULTS, **_basic(each)} for each in requested],
        [(sidecar, {**_DEFAULTS, **_basic(each)}) for sidecar, each in requested_first],
        whole,
        overhead,
    )
    nonzero = (with_defaults.get(CPU, 0), with_defaults.get(MEMORY, 0))
    return PodAmounts(requests=requests, nonzero=nonzero, scored=requests, scored_nonzero=nonzero, balanced=requests)


def _basic(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amounts[name] for name in _DEFAULTS if name in amounts}


def _together(
    requested: Iterable[Mapping[str, int]],
    requested_first: Iterable[tuple[bool, Mapping[str, int]]],
    whole: Mapping[str, int],
    overhead: Mapping[str, int],
) -> dict[str, int]:
    """Amounts of a pod: of its containers, of its init containers (each with whether it is a sidecar), of what it
    requests as a whole, and its overhead."""
    sums = total(requested)
    beside: dict[str, int] = {}
    largest: dict[str, int] = {}
    for sidecar, own in requested_first:
        running = total((beside, own))
        if sidecar:
            sums, beside = total((sums, own)), running
        largest = maximum((largest, running))
    return total(({**maximum((sums, largest)), **whole}, overhead))


#: By the release that begins a rule.
AMOUNTS: Final[tuple[tuple[str, AmountRule], ...]] = (("", count_containers), ("1.28", count_sidecars))
