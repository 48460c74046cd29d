"""Code of imported modules, kept in one file from one test run to the next.

Finding, opening and checking more than a thousand bytecode files takes a quarter of the time that importing the server
takes. With the file, the folders of the path are searched for packages alone, and of each module below them only the
source's time and size are looked up. Code is used if these are what they were when it was kept and the module is where
the import system would find it first; everything else is imported as usual.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

from orchd.testing.forking.code_file import read_code, write_code

#: Time of the last change of content and of attributes in nanoseconds, and size: of these, bytecode files check less.
_Stamp = tuple[int, int, int]


class _Module(NamedTuple):
    source: str
    stamp: _Stamp
    #: The folder in which the import system found it.
    folder: str
    package: bool
    #: The path of the bytecode file, which modules name.
    bytecode: str | None
    code: CodeType


def _stamp(source: str) -> _Stamp:
    status = os.stat(source)
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


class KeptModules:
    """A meta path finder for what `file` has. `save` writes the file anew, with what was imported since it was read."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._present = {
            name: _Module(*values)
            for name, values in read_code(file).items()
            if isinstance(values, tuple) and len(values) == len(_Module._fields)
        }
        self._used: dict[str, _Module] = {}
        self._added: dict[str, _Module] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        module = self._present.get(name)
        if module is not None and path is not None and list(path) == [module.folder] and self._is_current(module):
            return self._spec(name, module)
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or spec.origin is None:
            return spec
        if module is not None and path is None and spec.origin == module.source and self._is_current(module):
            return self._spec(name, module)
        spec.loader = _RecordingLoader(name, spec.origin, self._added, spec.cached)
        return spec

    @staticmethod
    def _is_current(module: _Module) -> bool:
        try:
            return _stamp(module.source) == module.stamp
        except OSError:
            return False

    def _spec(self, name: str, module: _Module) -> ModuleSpec | None:
        self._used[name] = module
        folders = [os.path.dirname(module.source)] if module.package else None
        loader = _KeptLoader(name, module.source, module.code)
        spec = spec_from_file_location(name, module.source, loader=loader, submodule_search_locations=folders)
        if spec is not None:
            spec.cached = module.bytecode
        return spec

    def release(self) -> None:
        """Drop the code that has not been used."""
        self._present.clear()

    def save(self) -> None:
        """Write the file if modules were imported that it does not have. A file that cannot be written is left as it
        is."""
        if self._added:
            with suppress(OSError):
                write_code(self._file, {name: tuple(module) for name, module in {**self._used, **self._added}.items()})
        self._added, self._used = {}, {}


class _KeptLoader(SourceFileLoader):
    def __init__(self, name: str, source: str, code: CodeType) -> None:
        super().__init__(name, source)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        """The kept code the first time, for the import. Later the source may have changed."""
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


class _RecordingLoader(SourceFileLoader):
    def __init__(self, name: str, source: str, added: dict[str, _Module], bytecode: str | None) -> None:
        super().__init__(name, source)
        self._added: dict[str, _Module] | None = added
        self._bytecode = bytecode

    def get_code(self, fullname: str) -> CodeType | None:
        added, self._added = self._added, None
        if added is None:
            return super().get_code(fullname)
        # Looked up first: if the source changes meanwhile, the code is not used again.
        stamp = _stamp(self.path)
        code = super().get_code(fullname)
        package = self.is_package(fullname)
        folder = os.path.dirname(os.path.dirname(self.path) if package else self.path)
        if code is not None:
            added[fullname] = _Module(self.path, stamp, folder, package, self._bytecode, code)
        return code


@contextmanager
def kept_modules(file: Path) -> Iterator[KeptModules]:
    """Take modules from `file` while active, in the place of the path finder."""
    kept = KeptModules(file)
    finders = sys.meta_path
    finders.insert(finders.index(PathFinder) if PathFinder in finders else len(finders), kept)
    try:
        yield kept
    finally:
        finders.remove(kept)
        kept.release()
