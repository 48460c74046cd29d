"""A cache of compiled dataclass methods that outlives the process."""

from __future__ import annotations

import dataclasses
import marshal
from pathlib import Path
from typing import Any

import pytest

from orchd.testing.forking.compiled_dataclasses import kept_code


def make() -> Any:
    """Create the data class."""
    return dataclasses.make_dataclass("Point", [("x", int), ("y", int, 3)], frozen=True, slots=True)


def test_code_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time nothing is compiled; the classes behave as ordinary ones, and afterwards classes are made as
    usual."""
    file = tmp_path / "new" / "code"
    with kept_code(file, write=True):
        first = make()
    before = file.read_bytes()
    compiled: list[str] = []
    monkeypatch.setattr(
        "orchd.testing.forking.compiled_dataclasses.compile", lambda *_, **__: compiled.append("one"), raising=False
    )
    with kept_code(file, write=True):
        second = make()
    assert not compiled
    assert file.read_bytes() == before
    assert (repr(second(1)), second(1) == second(1, 3), hash(second(1)) == hash(first(1))) == (
        "Point(x=1, y=3)",
        True,
        True,
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        second(1).x = 2
    assert "exec" not in vars(dataclasses)
    assert make()(1).y == 3
    assert [each.name for each in file.parent.iterdir()] == ["code"]


@pytest.mark.parametrize("content", [b"", b"no marshal", marshal.dumps([1]), marshal.dumps({"a": 1})[:-2]])
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    """Damaged files are replaced, or left alone where the folder is read-only."""
    file = tmp_path / "code"
    file.write_bytes(content)
    with kept_code(file, write=False):
        assert make()(1).y == 3
    assert file.read_bytes() == content
    with kept_code(file, write=True):
        make()
    assert marshal.loads(file.read_bytes())
