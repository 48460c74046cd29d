"""Compiled methods of data classes, kept from one test run to the next.

The standard library writes the methods of each data class as text and compiles it when the class is made, which is a fifth of
the time that importing the server takes. The compiled code depends on the text and the interpreter alone, so it is kept in a
file beside the bytecode, for imports of this process while `KeptCode` is active.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import marshal
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

_NAME = f"dataclasses-{importlib.util.MAGIC_NUMBER.hex()}.marshal"


def default_file() -> Path:
    """The file in the folder of this module's bytecode: write access to it already allows changing the program."""
    return Path(importlib.util.cache_from_source(__file__)).with_name(_NAME)


@contextmanager
def kept_code(file: Path, *, write: bool) -> Iterator[None]:
    """Take the code of data classes from `file` while active. Afterwards, with `write`, the file has what was used, if that is
    not what it had before. A file that is missing or damaged is as good as an empty one."""
    code = _read(file)
    used: dict[str, CodeType] = {}

    def execute(text: str, namespace: dict[str, Any] | None = None, locals: Mapping[str, Any] | None = None) -> None:
        found = used.get(text) or code.get(text)
        if found is None:
            found = compile(text, "<string>", "exec", dont_inherit=True)
        used[text] = found
        exec(found, namespace, locals)

    # The module finds its own name before the builtin one.
    vars(dataclasses)["exec"] = execute
    try:
        yield
    finally:
        del vars(dataclasses)["exec"]
    if write and used.keys() != code.keys():
        with suppress(OSError):
            _write(file, used)


def _read(file: Path) -> dict[str, CodeType]:
    try:
        found = marshal.loads(file.read_bytes())
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, code: Mapping[str, CodeType]) -> None:
    """Replace the file as a whole. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(marshal.dumps(dict(code)))
        os.replace(name, file)
    except OSError:
        os.unlink(name)
        raise
