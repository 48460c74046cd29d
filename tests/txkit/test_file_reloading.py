"""Values that are read from files and reloaded when the files change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchd.txkit.file_reloading import FileReloader


class Place:
    """A file that refers to another one; `reads` counts how often both were read."""

    def __init__(self, folder: Path) -> None:
        self.first, self.second = folder / "first", folder / "second"
        self.second.write_text("one")
        self.first.write_text(str(self.second))
        self.now = 0.0
        self.reads = 0
        self.named: list[str] = []

    def files(self) -> Iterator[str]:
        yield str(self.first)
        yield from self.named

    def read(self) -> str:
        self.reads += 1
        path = Path(self.first.read_text())
        text = path.read_text()
        if not text:
            raise ValueError("empty")
        self.named = [str(path)]
        return text

    def reloader(self, interval: float = 10.0) -> FileReloader[str]:
        return FileReloader("it", self.read, self.files, clock=lambda: self.now, interval=interval)


def test_changes_are_read_after_the_interval(tmp_path: Path) -> None:
    """A call checks the files at most once per interval, and reads them only after a change."""
    place = Place(tmp_path)
    value = place.reloader()
    place.second.write_text("another")
    place.now = 9.9
    assert value() == "one"
    place.now = 10.0
    assert value() == "another"
    reads = place.reads
    place.now = 20.0
    assert (value(), place.reads) == ("another", reads)


def test_referenced_files_are_checked(tmp_path: Path) -> None:
    """The files to check follow from the contents: a newly referenced file is checked from then on."""
    place = Place(tmp_path)
    value = place.reloader(0.0)
    third = tmp_path / "third"
    third.write_text("three")
    place.first.write_text(str(third))
    assert value() == "three"
    third.write_text("3")
    assert value() == "3"


@pytest.mark.parametrize("damage", ["missing", "invalid"])
def test_failed_reload_keeps_the_value(tmp_path: Path, damage: str) -> None:
    """While files cannot be read the previous value stays; every check tries again."""
    place = Place(tmp_path)
    value = place.reloader(0.0)
    value()
    if damage == "missing":
        place.second.unlink()
    else:
        place.second.write_text("")
    reads = place.reads
    assert (value(), value(), place.reads) == ("one", "one", reads + 2)
    place.second.write_text("two")
    assert value() == "two"


def test_first_failure_is_raised(tmp_path: Path) -> None:
    """Without an earlier value, the error of the first read is raised."""
    place = Place(tmp_path)
    place.second.unlink()
    with pytest.raises(FileNotFoundError):
        place.reloader()


def test_check_reports_changes(tmp_path: Path) -> None:
    """Without a clock only `check` reads again; it returns whether the value differs."""
    place = Place(tmp_path)
    value = FileReloader("it", place.read, place.files)
    place.second.write_text("two")
    assert value() == "one"
    assert value.check()
    assert not value.check()
    # Rewritten with the same contents.
    place.second.write_text("two")
    assert not value.check()
    assert value() == "two"
