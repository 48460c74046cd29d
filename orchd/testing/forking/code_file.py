"""Files of compiled code that a test run leaves for the next one, beside this package's bytecode."""

from __future__ import annotations

import importlib.util
import marshal
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any


def code_file(name: str) -> Path:
    """The file for this interpreter and its optimization level, in the folder of this module's bytecode: write access
    to that already allows changing the program."""
    bytecode = Path(importlib.util.cache_from_source(__file__))
    kind = bytecode.name.removesuffix(".pyc").partition(".")[2]
    return bytecode.with_name(f"{name}.{kind}-{importlib.util.MAGIC_NUMBER.hex()}.marshal")


def read_code(file: Path) -> dict[Any, Any]:
    """The content of a file that `write_code` wrote; empty if it is missing or damaged."""
    try:
        code = marshal.loads(file.read_bytes())
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return code if isinstance(code, dict) else {}


def write_code(file: Path, content: Mapping[Any, Any]) -> None:
    """Replace the file as a whole. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(marshal.dumps(dict(content)))
        os.replace(name, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
