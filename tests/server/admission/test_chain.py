"""The admission chain: order, selection by flags, and the attributes that the registry passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from zope.interface import implementer

from orchd.config.choices import DEFAULT_ADMISSION_PLUGINS, LATER_ADMISSION_PLUGINS
from orchd.errors import ApiError
from orchd.kinds.users import User
from orchd.server.admission.builtin import NAMES
from orchd.server.admission.chain import AdmissionChain
from orchd.server.admission.interfaces import CREATE, DELETE, IMutatingPlugin, IValidatingPlugin, Review
from orchd.server.registry.interfaces import Context
from orchd.testing.doubles.results import result_of
from tests.server.admission.conftest import World


@implementer(IMutatingPlugin, IValidatingPlugin)
class Noting:
    def __init__(self, name: str, log: list[tuple[Any, ...]], operations: tuple[str, ...] = (CREATE,)) -> None:
        self.name, self.log, self.operations = name, log, operations

    def handles(self, operation: str) -> bool:
        return operation in self.operations

    async def admit(self, review: Review) -> None:
        self.log.append(("admit", self.name))
        assert review.object is not None
        review.object = {**review.object, self.name: True}

    async def validate(self, review: Review) -> None:
        self.log.append(("validate", self.name, review.name, review.kind))
        if "bad" in (review.object or {}):
            raise ApiError(403, "Forbidden", "no")


def context(world: type[World]) -> Context:
    resource = world().review("configmaps", {"metadata": {"name": "a"}}).resource
    return Context(user=User(name="u"), resource=resource, namespace="ns", now=0.0)


def counts(chain: AdmissionChain) -> dict[tuple[str, ...], float]:
    """Measured calls of plugins and phases, by the labels but the operation."""
    plugins, phases, *_ = (each.family() for each in chain.instruments)
    return {
        tuple(value for label, value in sample.labels.items() if label != "operation"): sample.value
        for family in (plugins, phases)
        for sample in family.samples
        if sample.name.endswith("_count")
    }


def test_plugins_run_in_order_for_their_operations(world: type[World]) -> None:
    """Mutating plugins run in order, then validating ones; a plugin that does not handle the operation is not
    called."""
    log: list[tuple[Any, ...]] = []
    chain = AdmissionChain([Noting("a", log), Noting("d", log, (DELETE,)), Noting("b", log)])
    write = context(world)
    review = chain.review(write, CREATE, None)
    obj = result_of(review.mutate({"metadata": {"name": "x"}}))
    assert obj == {"metadata": {"name": "x"}, "a": True, "b": True}
    result_of(review.validate(obj))
    assert log == [("admit", "a"), ("admit", "b"), ("validate", "a", "x", None), ("validate", "b", "x", None)]
    with pytest.raises(ApiError):
        result_of(chain.review(write, CREATE, None).validate({**obj, "bad": True}))
    assert counts(chain) == {
        ("a", "admit", "false"): 1, ("b", "admit", "false"): 1, ("admit", "false"): 1,
        ("a", "validate", "false"): 1, ("b", "validate", "false"): 1, ("validate", "false"): 1,
        ("a", "validate", "true"): 1, ("validate", "true"): 1,
    }  # fmt: skip


def test_durations_are_of_plugins_and_of_all_of_them(world: type[World], monkeypatch: pytest.MonkeyPatch) -> None:
    """The duration of a phase is that of all its plugins."""
    seconds = iter(range(100, 200))
    monkeypatch.setattr("orchd.server.admission.chain.perf_counter", lambda: float(next(seconds)))
    chain = AdmissionChain([Noting("a", []), Noting("b", [])])
    result_of(chain.review(context(world), CREATE, None).mutate({"metadata": {"name": "x"}}))
    plugins, phases, *_ = (each.family() for each in chain.instruments)
    sums = [s.value for family in (plugins, phases) for s in family.samples if s.name.endswith("_sum")]
    assert sums == [1, 1, 5]


def test_subresource_bodies_have_their_own_kind(world: type[World]) -> None:
    """A Scale or Eviction in the body of a subresource has its own group, version and kind."""
    log: list[tuple[Any, ...]] = []
    chain = AdmissionChain([Noting("a", log)])
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}}
    result_of(chain.review(context(world), CREATE, None).validate(body))
    assert log == [("validate", "a", "x", ("autoscaling", "v1", "Scale"))]


def test_order_and_defaults_are_the_recorded_ones(reference: Callable[[str], Any]) -> None:
    """The names, their order and the default set equal the reference's, which lacks two that its documents have. Those
    of later releases are between them."""
    facts = reference("bootstrap")["admission"]
    documented = ("DenyEscalatingExec", "DenyExecOnPrivileged")
    others = (*documented, *LATER_ADMISSION_PLUGINS)
    assert [name for name in NAMES if name not in others] == facts["all_plugins_order"]
    assert set(documented) <= set(NAMES)
    assert set(DEFAULT_ADMISSION_PLUGINS) == set(facts["default_enabled"])


def test_the_phases_of_the_default_plugins_are_the_recorded_ones(
    reference: Callable[[str], Any], world: type[World]
) -> None:
    """The mutating and the validating plugins, in order, are the reference's."""
    facts = reference("bootstrap")["admission"]
    plugins = world().chain.plugins
    mutating = [p.name for p in plugins if IMutatingPlugin.providedBy(p)]
    validating = [p.name for p in plugins if IValidatingPlugin.providedBy(p)]
    assert mutating == facts["mutating_order"]
    assert validating == facts["validating_order"]


def test_invalid_configuration_names_the_key(world: type[World]) -> None:
    """Sections of unknown plugins and unknown keys fail the start."""
    with pytest.raises(ValueError, match="PodSecurty"):
        world(configurations={"PodSecurty": {}})
    with pytest.raises(ValueError, match=r"defaults\.enforce"):
        world(configurations={"PodSecurity": {"defaults": {"enforce": "high"}}})
    with pytest.raises(ValueError, match="limits"):
        world(enable=["EventRateLimit"])
