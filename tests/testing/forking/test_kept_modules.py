"""A cache of module code that outlives the process."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from orchd.testing.forking import kept_modules as subject
from orchd.testing.forking.code_file import code_file, read_code, write_code
from orchd.testing.forking.kept_modules import kept_modules

NAMES = ("kept_example", "kept_example.inner", "kept_other")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the path with a package, a module in it, and a module next to it."""
    root = tmp_path / "tree"
    (root / "kept_example").mkdir(parents=True)
    (root / "kept_example" / "__init__.py").write_text("from kept_example import inner\n")
    (root / "kept_example" / "inner.py").write_text("value = 1\n")
    (root / "kept_other.py").write_text("from kept_example.inner import value\n")
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield root
    forget()


def forget() -> None:
    for name in NAMES:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def load(file: Path, *, save: bool = True) -> dict[str, ModuleType]:
    """Import the modules again with `file`."""
    forget()
    with kept_modules(file) as kept:
        modules = {name: importlib.import_module(name) for name in reversed(NAMES)}
    if save:
        kept.save()
    return modules


def kept_names(modules: dict[str, ModuleType]) -> set[str]:
    """The modules whose code was in the file."""
    return {name for name, module in modules.items() if type(module.__loader__) is subject._KeptLoader}


def test_modules_are_kept(tree: Path, tmp_path: Path) -> None:
    """The second time, the code comes from the file; the modules look as usual, and the finder is removed
    afterwards."""
    file = tmp_path / "new" / "code"
    finders = list(sys.meta_path)
    first = load(file)
    assert not kept_names(first)
    before = file.read_bytes()
    second = load(file)
    assert kept_names(second) == set(NAMES)
    assert file.read_bytes() == before
    assert sys.meta_path == finders
    for name in NAMES:
        for attribute in ("__file__", "__cached__", "__package__", "__name__"):
            assert getattr(first[name], attribute) == getattr(second[name], attribute), (name, attribute)
        assert getattr(first[name], "__path__", None) == getattr(second[name], "__path__", None)
        loader = second[name].__loader__
        assert isinstance(loader, SourceFileLoader)
        assert loader.get_source(name) == Path(str(second[name].__file__)).read_text()
    assert second["kept_other"].value == 1
    assert [each.name for each in file.parent.iterdir()] == ["code"]


def test_changed_source_is_compiled(tree: Path, tmp_path: Path) -> None:
    """A source with the same size and modification time is compiled, too, which a bytecode file would not notice."""
    file = tmp_path / "code"
    load(file)
    source = tree / "kept_example" / "inner.py"
    times = source.stat()
    source.write_text("value = 2\n")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    changed = load(file)
    assert changed["kept_other"].value == 2
    assert kept_names(changed) == {"kept_example", "kept_other"}
    assert kept_names(load(file)) == set(NAMES)


def test_module_in_an_earlier_folder_is_found(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of the path decides, not the contents of the file."""
    file = tmp_path / "code"
    load(file)
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    (earlier / "kept_other.py").write_text("value = 'earlier'\n")
    monkeypatch.syspath_prepend(str(earlier))
    assert load(file)["kept_other"].value == "earlier"


def test_missing_module_is_missing(tree: Path, tmp_path: Path) -> None:
    """A module whose source was removed cannot be imported."""
    file = tmp_path / "code"
    load(file)
    (tree / "kept_example" / "inner.py").unlink()
    with pytest.raises(ImportError):
        load(file, save=False)


def test_read_only_folder(tree: Path, tmp_path: Path) -> None:
    """The import works without writing the file."""
    blocked = tmp_path / "a-file"
    blocked.write_text("")
    assert load(blocked / "code")["kept_other"].value == 1


@pytest.mark.parametrize("content", [b"", b"no marshal", b"\0" * 100])
def test_damaged_files(tree: Path, tmp_path: Path, content: bytes) -> None:
    """Damaged files are replaced."""
    file = tmp_path / "code"
    file.write_bytes(content)
    assert load(file)["kept_other"].value == 1
    assert kept_names(load(file)) == set(NAMES)


def test_entries_of_another_form_are_not_used(tree: Path, tmp_path: Path) -> None:
    """Entries of another format, such as another release's, are ignored."""
    file = tmp_path / "code"
    write_code(file, {"kept_other": (1, 2), "kept_example": ("a", "b", "c", "d", "e", "f"), "other": 3})
    assert load(file)["kept_other"].value == 1
    assert set(read_code(file)) == set(NAMES)


def test_each_interpreter_has_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each interpreter and optimization level has its own file."""
    plain = code_file("modules")
    assert plain.name.startswith(f"modules.{sys.implementation.cache_tag}-")
    cache = importlib.util.cache_from_source
    monkeypatch.setattr("importlib.util.cache_from_source", lambda path: cache(path, optimization=2))
    assert code_file("modules") != plain
