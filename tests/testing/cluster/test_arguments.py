"""The arguments of test clusters: the resulting server settings, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import KUBERNETES, ORCH
from orchd.kinds.release import NEWEST, SPECIFICATION, Release
from orchd.testing import Cluster
from orchd.testing.cluster.flags import command_line, controller_names, release_of

WARN = "--feature-gates=CustomResourceValidationExpressions=true,ServerSideFieldValidation=true"


def line(
    release: Release, *, nodes: Any = 0, controllers: Any = True, scheduler: Any = None, **named: Any
) -> list[str]:
    given = named.get("gates", {}), named.get("flags", {})
    return list(command_line(release, nodes, controllers, scheduler, *given))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["--scheduler=false", WARN]),
        ({"nodes": 2}, ["--scheduler=true", "--simulated-nodes=2", WARN]),
        ({"nodes": 2, "scheduler": False}, ["--scheduler=false", "--simulated-nodes=2", WARN]),
        ({"controllers": False}, ["--controllers=-*", "--scheduler=false", WARN]),
        ({"controllers": "namespace, job"}, ["--controllers=namespace,job", "--scheduler=false", WARN]),
        (
            {"gates": {"B": True, "A": False}},
            [
                "--scheduler=false",
                "--feature-gates=A=false,B=true,CustomResourceValidationExpressions=true,ServerSideFieldValidation=true",
            ],
        ),
        (
            {"gates": {"ServerSideFieldValidation": False}},
            [
                "--scheduler=false",
                "--feature-gates=CustomResourceValidationExpressions=true,ServerSideFieldValidation=false",
            ],
        ),
        (
            {"flags": {"--v": 2, "anonymous-auth": False}},
            ["--scheduler=false", WARN, "--v=2", "--anonymous-auth=false"],
        ),
        # The flag has the same effect as the argument.
        ({"flags": {"simulated-nodes": 3}}, ["--scheduler=true", WARN, "--simulated-nodes=3"]),
        ({"flags": {"scheduler": True}}, [WARN, "--scheduler=true"]),
        ({"flags": {"controllers": "job"}}, ["--scheduler=false", WARN, "--controllers=job"]),
        ({"flags": {"a": ["x", "y"], "b": ("z",), "c": []}}, ["--scheduler=false", WARN, "--a=x,y", "--b=z", "--c="]),
    ],
    ids=str,
)
def test_flags_of_arguments(arguments: dict[str, Any], expected: list[str]) -> None:
    """Each argument becomes its flag. Beside the feature gates given, unknown fields give warnings in release 1.23."""
    assert line(SPECIFICATION, **arguments) == ["--emulated-version=1.23", *expected]


def test_flags_of_a_later_release() -> None:
    """A later release has no gates but those given: what they are for is its default."""
    assert line(NEWEST) == ["--emulated-version=1.35", "--scheduler=false"]
    assert line(NEWEST, gates={"A": False})[-1] == "--feature-gates=A=false"


def test_releases_of_the_dialects() -> None:
    """Without a release, the dialect decides."""
    assert release_of(KUBERNETES, None) is NEWEST
    assert release_of(ORCH, None) is SPECIFICATION
    assert release_of(ORCH, "1.35") is NEWEST


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"nodes": "3"}, "nodes"),
        ({"nodes": -1}, "nodes"),
        ({"nodes": True}, "nodes"),
        ({"controllers": None}, "controllers"),
        ({"controllers": 3}, "controllers"),
        ({"scheduler": "on"}, "scheduler"),
        ({"gates": "A=true"}, "gates"),
        ({"flags": ["--v=2"]}, "flags"),
        ({"flags": {"secure-port": 1}}, "secure-port"),
        ({"flags": {"v": None}}, "v: None"),
        ({"flags": {"v": [{"a": 1}]}}, "v: {'a': 1}"),
        ({"flags": {"--data-dir": "/x"}}, "data-dir"),
        ({"nodes": 2, "flags": {"simulated-nodes": 3}}, "simulated-nodes is the argument nodes"),
        ({"controllers": False, "flags": {"controllers": "*"}}, "controllers is the argument controllers"),
        ({"gates": {"A": True}, "flags": {"feature-gates": "B=true"}}, "feature-gates is the argument gates"),
        ({"port": 65536}, "port"),
        ({"port": "80"}, "port"),
        ({"dialect": "latin"}, "dialect"),
        ({"release": "1.30"}, "release: '1.30' is not one of 1.23, 1.35"),
        ({"flags": {"emulated-version": "1.23"}}, "emulated-version"),
    ],
    ids=str,
)
def test_invalid_arguments(arguments: dict[str, Any], named: str) -> None:
    """Invalid arguments raise an error when the cluster is created, not when it starts; the error names the
    argument."""
    with pytest.raises(ValueError, match=named):
        Cluster(**arguments)


def test_names_of_controllers() -> None:
    """A text with commas is a list of names."""
    assert controller_names("a, b") == controller_names(["a", "b"]) == ("a", "b")
    assert controller_names(True) is True


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ({}, True),
        ({"controllers": False}, False),
        ({"controllers": "*,-job"}, False),
        ({"controllers": "job"}, True),
        ({"flags": {"controllers": "namespace"}}, False),
        ({"flags": {"controllers": ["job"]}}, True),
        ({"flags": {"--controllers": "-*"}}, False),
    ],
    ids=str,
)
def test_which_controllers_run(arguments: dict[str, Any], runs: bool) -> None:
    """The cluster knows which controllers run, whether they were chosen by argument or by flag."""
    assert Cluster(**arguments).runs_controllers("job") is runs


async def later() -> bool:
    return True


def test_invalid_conditions() -> None:
    """A condition that is a plain value or an async function is an error."""
    cluster = Cluster()
    value: Any = True
    asynchronous: Any = later
    with pytest.raises(TypeError, match=r"wait_for\(lambda"):
        cluster.wait_for(value)
    with pytest.raises(TypeError, match="later is asynchronous"):
        cluster.wait_for(asynchronous)
