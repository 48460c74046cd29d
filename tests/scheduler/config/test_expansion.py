"""Plugin sets: defaults, merging, multiPoint, weights."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.scheduler.config.expansion import ExpandedProfile, expand_all
from orchd.scheduler.config.model import ConfigError
from orchd.scheduler.plugins.registry import BUILT_IN, plugin_factories
from tests.scheduler.config.config_support import document, read

#: The extension points of plugins.
IMPLEMENTED = {
    **{plugin.name: plugin.points for plugin in BUILT_IN},
    "Mine": ["score", "filter"],
    "OtherSort": ["queueSort"],
}


def expand(version: str = "v1beta3", **plugins: Any) -> ExpandedProfile:
    return expand_all(read(document(version, profiles=[{"plugins": plugins}])), IMPLEMENTED)[0]


def enabled(*names: str) -> dict[str, Any]:
    """A plugin set; ``Name:3`` has a weight, ``-Name`` is disabled."""
    out: dict[str, Any] = {"enabled": [], "disabled": []}
    for each in names:
        name, _, weight = each.lstrip("-").partition(":")
        out["disabled" if each.startswith("-") else "enabled"].append(
            {"name": name, **({"weight": int(weight)} if weight else {})}
        )
    return out


def test_default_orders_of_both_versions() -> None:
    """v1beta3 runs plugins in the order of multiPoint, v1beta2 in an order per extension point."""
    new, old = expand(), expand("v1beta2")
    assert new.points["preFilter"] == (
        "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "VolumeBinding", "PodTopologySpread",
        "InterPodAffinity",
    )  # fmt: skip
    assert old.points["preFilter"][0] == "NodeResourcesFit"
    assert set(new.points["filter"]) == set(old.points["filter"])
    assert (new.weights["TaintToleration"], old.weights["TaintToleration"]) == (3, 1)
    assert new.weights["VolumeBinding"] == 1
    assert "VolumeBinding" not in old.points["score"]
    assert old.points["permit"] == ()


_FILTERS = (
    *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
    *("VolumeRestrictions", "EBSLimits", "GCEPDLimits", "NodeVolumeLimits", "AzureDiskLimits", "VolumeBinding"),
    *("VolumeZone", "PodTopologySpread", "InterPodAffinity"),
)


@pytest.mark.parametrize(
    ("point", "plugins"),
    [
        ("queueSort", ("PrioritySort",)),
        ("filter", _FILTERS),
        ("postFilter", ("DefaultPreemption",)),
        ("preScore", ("TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity")),
        (
            "score",
            (
                *("TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding", "PodTopologySpread"),
                *("InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality"),
            ),
        ),
        ("reserve", ("VolumeBinding",)),
        ("preBind", ("VolumeBinding",)),
        ("bind", ("DefaultBinder",)),
    ],
)
def test_plugins_of_the_default_profile(point: str, plugins: tuple[str, ...]) -> None:
    """Each plugin is at the extension points that the reference has it at."""
    assert expand().points[point] == plugins


CASES: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "a point's own come first": ({"score": enabled("Mine:2")}, "score", ("Mine", "TaintToleration")),
    "overriding a weight moves to the front": (
        {"score": enabled("-NodeAffinity", "NodeAffinity:9")}, "score", ("NodeAffinity", "TaintToleration"),
    ),
    "disabled at a point": ({"filter": enabled("-NodeName")}, "filter", ("NodeUnschedulable", "TaintToleration")),
    "all disabled at a point": ({"preScore": enabled("-*")}, "preScore", ()),
    "all but one": ({"filter": enabled("-*", "NodeName")}, "filter", ("NodeName",)),
    "multiPoint replaced": (
        {"multiPoint": enabled("-*", "PrioritySort", "DefaultBinder", "NodeAffinity", "Mine:4")}, "score", ("NodeAffinity", "Mine"),
    ),
    "multiPoint in place": ({"multiPoint": enabled("NodeName:5")}, "filter", ("NodeUnschedulable", "NodeName")),
    "multiPoint appended": ({"multiPoint": enabled("-TaintToleration", "Mine")}, "filter", ("NodeUnschedulable", "NodeName")),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_point_plugins_come_before_multi_point_plugins(case: str) -> None:
    """The plugins of an extension point run first, followed by those of multiPoint."""
    plugins, point, begin = CASES[case]
    profile = expand(**plugins).points[point]
    assert profile[: len(begin)] == begin
    assert begin or not profile
    assert len(set(profile)) == len(profile)


def test_point_weight_overrides_multi_point_weight() -> None:
    """The weight at an extension point overrides that of multiPoint; 0 means 1."""
    profile = expand(score=enabled("Mine"), multiPoint=enabled("Mine:7", "ImageLocality:5"))
    assert profile.weights["Mine"] == 1
    assert profile.weights["ImageLocality"] == 5
    assert profile.points["filter"][-1] == "Mine"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"filter": enabled("Nope")}, 'FilterPlugin "Nope" does not exist'),
    "unknown in multiPoint": ({"multiPoint": enabled("Nope")}, 'QueueSortPlugin "Nope" does not exist'),
    "at the wrong point": ({"score": enabled("NodeName")}, 'plugin "NodeName" does not extend ScorePlugin plugin'),
    "twice": ({"score": enabled("Mine", "Mine")}, 'plugin "Mine" already registered as "ScorePlugin"'),
    "twice in multiPoint": ({"multiPoint": enabled("Mine", "Mine")}, 'plugin "Mine" already registered as "FilterPlugin"'),
    "no binder": (
        {"multiPoint": enabled("-DefaultBinder")}, 'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
    ),
    "no order": (
        {"multiPoint": enabled("-PrioritySort")}, 'one queue sort plugin required for profile with scheduler name "default-scheduler"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_profiles_are_refused(case: str) -> None:
    """The error names the profile."""
    plugins, expected = REFUSED[case]
    with pytest.raises(ConfigError) as caught:
        expand(**plugins)
    assert str(caught.value) == f"creating profile for scheduler name default-scheduler: {expected}"


def test_profiles_must_share_the_queue_sort() -> None:
    """Two profiles whose queue sort plugins differ through multiPoint are rejected."""
    other = {"schedulerName": "b", "plugins": {"multiPoint": enabled("-PrioritySort", "OtherSort")}}
    config = read(document(profiles=[{"schedulerName": "a"}, other]))
    with pytest.raises(
        ConfigError, match='different queue sort plugins for profile "b": "OtherSort", first: "PrioritySort"'
    ):
        expand_all(config, IMPLEMENTED)


def test_profiles_must_share_the_arguments_of_the_queue_sort() -> None:
    """Arguments of other plugins may differ."""

    def profile(name: str, value: int, other: int) -> dict[str, Any]:
        args = [{"name": "PrioritySort", "args": {"x": value}}, {"name": "Mine", "args": {"x": other}}]
        return {"schedulerName": name, "pluginConfig": args}

    expand_all(read(document(profiles=[profile("a", 1, 1), profile("b", 1, 2)])), IMPLEMENTED)
    with pytest.raises(ConfigError, match='different queue sort plugin args for profile "b"'):
        expand_all(read(document(profiles=[profile("a", 1, 1), profile("b", 2, 1)])), IMPLEMENTED)


def test_extension_points_depend_on_the_release() -> None:
    """VolumeZone looks at a pod before its nodes in newer releases alone."""
    assert [plugin_factories(each)["VolumeZone"].points for each in (SPECIFICATION, NEWEST)] == [
        ("filter",),
        ("filter", "preFilter"),
    ]
