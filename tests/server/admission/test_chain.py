"""The chain: order, choice by flags, and what the registry hands in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from zope.interface import implementer

from orchd.errors import ApiError
from orchd.kinds.identity import User
from orchd.server.admission.builtin import BUILT, DEFAULT_ON, ORDER, choose
from orchd.server.admission.chain import AdmissionChain
from orchd.server.admission.interfaces import CREATE, DELETE, IMutatingPlugin, IValidatingPlugin
from orchd.testing.results import result_of


@implementer(IMutatingPlugin, IValidatingPlugin)
class Noting:
    def __init__(self, name, log, operations=(CREATE,)):
        self.name, self.log, self.operations = name, log, operations

    def handles(self, operation):
        return operation in self.operations

    async def admit(self, review):
        self.log.append(("admit", self.name))
        review.object = {**review.object, self.name: True}

    async def validate(self, review):
        self.log.append(("validate", self.name, review.name, review.kind))
        if "bad" in review.object:
            raise ApiError(403, "Forbidden", "no")


@dataclass
class Context:
    user: User
    resource: Any
    namespace: str = "ns"
    subresource: str = ""
    dry_run: bool = False
    options: dict = field(default_factory=dict)
    warn: Any = None
    annotate: Any = None


def context(world):
    resource = world().review("configmaps", {"metadata": {"name": "a"}}).resource
    return Context(User(name="u"), resource)


def test_plugins_run_in_order_for_their_operations(world):
    """Mutating plugins in order, then validating ones; a plugin that does not handle the operation is not called."""
    log = []
    seen = []
    chain = AdmissionChain(
        [Noting("a", log), Noting("d", log, (DELETE,)), Noting("b", log)],
        observe=lambda plugin, phase, operation, seconds, rejected: seen.append((plugin, phase, rejected)),
    )
    write = context(world)
    obj = result_of(chain.admit(write, CREATE, {"metadata": {"name": "x"}}, None))
    assert obj == {"metadata": {"name": "x"}, "a": True, "b": True}
    result_of(chain.validate(write, CREATE, obj, None))
    assert log == [("admit", "a"), ("admit", "b"), ("validate", "a", "x", None), ("validate", "b", "x", None)]
    with pytest.raises(ApiError):
        result_of(chain.validate(write, CREATE, {**obj, "bad": True}, None))
    assert seen[-1] == ("a", "validate", True)


def test_bodies_of_another_kind_are_told_apart(world):
    """A Scale or Eviction in a subresource has its own group, version and kind."""
    log = []
    chain = AdmissionChain([Noting("a", log)])
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}}
    result_of(chain.validate(context(world), CREATE, body, None))
    assert log == [("validate", "a", "x", ("autoscaling", "v1", "Scale"))]


def test_order_and_defaults_are_the_recorded_ones(reference):
    """The names, their order and the default set are the reference's, without what is not built."""
    facts = reference("bootstrap")["admission"]
    assert list(ORDER) == facts["all_plugins_order"]
    assert list(BUILT) == [n for n in ORDER if n in BUILT]
    assert set(DEFAULT_ON) == set(facts["default_enabled"]) & set(BUILT)


def test_the_phases_of_the_default_plugins_are_the_recorded_ones(reference, world):
    """Which plugins mutate and which validate, in order."""
    facts = reference("bootstrap")["admission"]
    plugins = world().chain.plugins
    mutating = [p.name for p in plugins if IMutatingPlugin.providedBy(p)]
    validating = [p.name for p in plugins if IValidatingPlugin.providedBy(p)]
    assert mutating == [n for n in facts["mutating_order"] if n in BUILT]
    assert validating == [n for n in facts["validating_order"] if n in BUILT]


def test_flags_choose():
    """Enabled plugins join the default set in order, disabled ones leave it."""
    names = [f.name for f in choose(["AlwaysPullImages"], ["Priority"])]
    assert "Priority" not in names and names == [n for n in BUILT if n in names]
    assert "AlwaysPullImages" in names


@pytest.mark.parametrize(
    ("enable", "disable", "text"),
    [
        (["NamespaceLifecycl"], [], "the nearest is 'NamespaceLifecycle'"),
        ([], ["priority"], "the nearest is 'Priority'"),
        (["Priority"], ["Priority"], "both enabled and disabled"),
    ],
)
def test_wrong_names_are_errors(enable, disable, text):
    """An unknown name gets the nearest known one, a name in both lists is refused."""
    with pytest.raises(ValueError, match=text):
        choose(enable, disable)


def test_a_wrong_configuration_names_the_key(world):
    """Sections of unknown plugins and wrong keys are errors at start."""
    with pytest.raises(ValueError, match="PodSecurty"):
        world(configurations={"PodSecurty": {}})
    with pytest.raises(ValueError, match=r"defaults\.enforce"):
        world(configurations={"PodSecurity": {"defaults": {"enforce": "high"}}})
    with pytest.raises(ValueError, match="limits"):
        world(enable=["EventRateLimit"])
