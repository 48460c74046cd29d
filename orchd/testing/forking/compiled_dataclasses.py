"""Compiled methods of data classes, kept from one test run to the next.

The standard library writes the methods of each data class as text and compiles it when the class is made, which is a
fifth of the time that importing the server takes. The compiled code depends on the text and the interpreter alone, so
it is kept in a file beside the bytecode, for imports of this process while `KeptCode` is active.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any

from orchd.testing.forking.code_file import read_code, write_code


@contextmanager
def kept_code(file: Path, *, write: bool) -> Iterator[None]:
    """Take the code of data classes from `file` while active. Afterwards, with `write`, the file has what was used, if
    that is not what it had before. A file that is missing or damaged is as good as an empty one."""
    code: dict[str, CodeType] = read_code(file)
    used: dict[str, CodeType] = {}

    def execute(text: str, namespace: dict[str, Any] | None = None, locals: Mapping[str, Any] | None = None) -> None:
        compiled = used.get(text) or code.get(text)
        if compiled is None:
            compiled = compile(text, "<string>", "exec", dont_inherit=True)
        used[text] = compiled
        exec(compiled, namespace, locals)

    # The module finds its own name before the builtin one.
    vars(dataclasses)["exec"] = execute
    try:
        yield
    finally:
        del vars(dataclasses)["exec"]
    if write and used.keys() != code.keys():
        with suppress(OSError):
            write_code(file, used)
