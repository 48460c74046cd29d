"""Drop-in scheduler plugins: the example of docs/extending/scheduler-plugin.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import orchd.plugins
from orchd.kinds.release import SPECIFICATION
from orchd.scheduler.config.model import ConfigError
from orchd.scheduler.plugins.registry import plugin_factories
from tests.scheduler.scheduler_support import PODS, SchedulerHarness, node, pod

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "scheduler_plugin.py"
PAGE = ROOT / "docs" / "extending" / "scheduler-plugin.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(orchd.plugins, "__path__", [*orchd.plugins.__path__, str(tmp_path)])
    yield tmp_path


def _configuration() -> dict[str, object]:
    """The configuration of the page."""
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    whole = yaml.safe_load(example[1])
    return {name: value for name, value in whole.items() if name not in ("apiVersion", "kind")}


def test_documented_example_decides_where_pods_go(folder: Path) -> None:
    """With the module and the configuration of the page, pods go to the nodes with the highest label."""
    (folder / "drop_in_rack_power.py").write_text(EXAMPLE.read_text(encoding="utf-8"))
    harness = SchedulerHarness(_configuration())
    for name, power in (("n1", "10"), ("n2", "90"), ("n3", "40")):
        harness.put(node(name, labels={"example.com/rack-power": power}))
    harness.put(pod("a"))
    harness.settle()
    assert harness.where("a") == "n2"


def test_invalid_plugin_arguments_are_named(folder: Path) -> None:
    """An error that `make` raises for its arguments fails the start."""
    (folder / "drop_in_rack_power.py").write_text(EXAMPLE.read_text(encoding="utf-8"))
    config = _configuration()
    config["profiles"][0]["pluginConfig"][0]["args"] = {"lable": "x"}  # type: ignore[index]  # JSON data
    with pytest.raises(ConfigError, match='initializing plugin "RackPower": unknown field lable'):
        SchedulerHarness(config)


def test_drop_in_cannot_replace_a_built_in_plugin(folder: Path) -> None:
    """A drop-in with the name of a built-in plugin is rejected."""
    (folder / "drop_in_taken.py").write_text(EXAMPLE.read_text(encoding="utf-8").replace('"RackPower"', '"NodeName"'))
    with pytest.raises(ConfigError, match=r'scheduler plugin "NodeName" of .* has a name that is taken'):
        plugin_factories(SPECIFICATION)


_FILTER = """
from twisted.plugin import IPlugin
from zope.interface import implementer

from orchd.scheduler.interfaces import IFilter, IPermit, IPluginFactory
from orchd.scheduler.values import ANY_EVENT, Code, Status, unschedulable


@implementer(IFilter, IPermit)
class Odd:
    name = "Odd"
    events = ANY_EVENT

    def filter(self, state, pod, node):
        return unschedulable("node(s) were odd") if node.name[-1] in "13579" else None

    def permit(self, state, pod, node_name):
        return (Status(Code.WAIT), 30.0) if pod.labels.get("wait") else (None, 0.0)


@implementer(IPlugin, IPluginFactory)
class Factory:
    name, help, points = "Odd", "Refuses odd nodes.", ("filter", "permit")

    def make(self, handle, args):
        return Odd()


factory = Factory()
"""
_ENABLED = {
    "profiles": [{"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"enabled": [{"name": "Odd"}]}}}]
}


def test_invalid_events_are_named(folder: Path) -> None:
    """An event of the wrong type is an error that names the plugin."""
    (folder / "drop_in_odd_events.py").write_text(_FILTER.replace("events = ANY_EVENT", "events = (ANY_EVENT,)"))
    with pytest.raises(ConfigError, match='initializing plugin "Odd": events must be a sequence of ClusterEvent'):
        SchedulerHarness(_ENABLED)


def test_plain_filter_is_called_for_every_remaining_node(folder: Path) -> None:
    """A plain filter is called for every remaining node, and its reasons are counted with the others."""
    (folder / "drop_in_odd.py").write_text(_FILTER)
    harness = SchedulerHarness(_ENABLED)
    harness.put(node("n1", cpu=8), node("n2", cpu=1), pod("small", cpu=1), pod("large", cpu=4))
    harness.settle()
    assert harness.where("small") == "n2"
    assert harness.message("large") == "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were odd."


def test_permit_plugin_delays_the_binding(folder: Path) -> None:
    """A permit plugin delays a pod until it allows it, or until its timeout."""
    (folder / "drop_in_odd.py").write_text(_FILTER)
    harness = SchedulerHarness(_ENABLED)
    harness.put(node("n2"), pod("a", labels={"wait": "1"}), pod("b", labels={"wait": "1"}), pod("c"))
    harness.settle()
    assert harness.api.bound == [("c", "n2")]
    waiting = harness.scheduler.waiting.get("uid-a")
    assert waiting is not None
    waiting.allow("Odd")
    harness.settle(31)
    assert harness.where("a") == "n2"
    assert harness.where("b") == ""
    assert harness.message("b") == "rejected due to timeout after waiting on permit at plugin Odd"


def test_the_example_with_state_lets_pods_wait_for_a_seat(folder: Path) -> None:
    """Pods beyond the seats of their label wait; the first is bound when a seat becomes free, the next reaches its
    timeout."""
    (folder / "drop_in_licences.py").write_text(
        (EXAMPLE.parent / "scheduler_permit_plugin.py").read_text(encoding="utf-8")
    )
    page = re.search(r"```yaml\n(  plugins:\n    reserve.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert page is not None
    profile = yaml.safe_load(page[1])
    assert profile["pluginConfig"][0]["args"].keys() == {"label", "seats", "waitSeconds"}
    profile["pluginConfig"][0]["args"] |= {"seats": 1, "waitSeconds": 30}
    harness = SchedulerHarness({"profiles": [{"schedulerName": "default-scheduler", **profile}]})
    harness.put(node("n1"), *(pod(name, labels={"licence": "x"}) for name in "abc"), pod("free"))
    harness.settle(1)
    assert sorted(harness.api.bound) == [("a", "n1"), ("free", "n1")]
    harness.informers.informer(PODS).remove("ns", "a")
    harness.settle(1)
    assert harness.where("b") == "n1" and harness.where("c") == ""
    harness.settle(31)
    assert harness.message("c") == "rejected due to timeout after waiting on permit at plugin Licences"


def test_the_example_with_state_of_a_cycle_spreads_pods(folder: Path) -> None:
    """What is counted once decides the scores; a full node is refused, and room made by a deletion is used."""
    (folder / "drop_in_tenants.py").write_text(
        (EXAMPLE.parent / "scheduler_spread_plugin.py").read_text(encoding="utf-8")
    )
    page = re.search(r"```yaml\n(  plugins:\n    multiPoint.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert page is not None
    harness = SchedulerHarness({"profiles": [{"schedulerName": "default-scheduler", **yaml.safe_load(page[1])}]})
    harness.put(node("n1"), node("n2"), pod("other"))
    for name in "abc":
        harness.put(pod(name, labels={"tenant": "x"}))
        harness.settle(1)
    assert sorted((harness.where("a"), harness.where("b"))) == ["n1", "n2"]
    assert harness.message("c") == "0/2 nodes are available: 2 too many pods of the tenant."
    assert harness.message("other") == "0/2 nodes are available: 2 the pod has no label tenant."
    freed = harness.where("b")
    harness.informers.informer(PODS).remove("ns", "b")
    harness.settle(61)
    assert harness.where("c") == freed
