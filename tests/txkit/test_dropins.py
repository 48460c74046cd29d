"""Drop-ins are found in a package that others add modules to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from twisted.logger import capturedLogs, formatEvent
from zope.interface import Interface

from orchd.txkit.dropins import drop_ins

MODULE = """
from twisted.plugin import IPlugin
from zope.interface import implementer
from {package} import IThing

@implementer(IPlugin, IThing)
class Thing:
    name = "{name}"

@implementer(IThing)
class NoPlugin:
    pass

other = alias = Thing()
no_plugin = NoPlugin()
kind = Thing
"""


class IThing(Interface):
    """What the tests look for."""


@pytest.fixture
def package(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """A package, with the folder of its modules as `__path__`, under a name of its own."""
    module_type = ModuleType(f"dropped_{abs(hash(request.node.nodeid))}")
    module_type.__path__ = [str(tmp_path)]
    module_type.IThing = IThing  # type: ignore[attr-defined]  # for the modules in it
    sys.modules[module_type.__name__] = module_type
    yield module_type
    for name in [name for name in sys.modules if name.partition(".")[0] == module_type.__name__]:
        del sys.modules[name]


def test_drop_ins_are_found_once_by_interface(package: ModuleType, tmp_path: Path) -> None:
    """Instances that provide IPlugin and the interface are found, each once, in the order of the modules' names;
    nothing is written."""
    for name in ("b", "a"):
        (tmp_path / f"{name}.py").write_text(MODULE.format(package=package.__name__, name=name))
    before = {path.name for path in tmp_path.iterdir()}
    assert [found.name for found in drop_ins(IThing, package)] == ["a", "b"]
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_module_at_all\n", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("def broken(:\n", "SyntaxError: invalid syntax"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_module_that_cannot_be_imported_is_one_line(
    package: ModuleType, tmp_path: Path, text: str, reason: str
) -> None:
    """A module that cannot be imported is named in one line, once, and does not hide the others."""
    (tmp_path / "bad.py").write_text(text)
    (tmp_path / "good.py").write_text(MODULE.format(package=package.__name__, name="good"))
    with capturedLogs() as events:
        for _ in range(3):
            assert [found.name for found in drop_ins(IThing, package)] == ["good"]
    (line,) = map(formatEvent, events)
    assert line.startswith(f"drop-in {package.__name__}.bad cannot be imported and is missing: {reason}")
    assert "\n" not in line and "log_failure" not in events[0]
