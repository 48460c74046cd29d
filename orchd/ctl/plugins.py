"""Plugins: programs ``orchctl-NAME`` on the path, as commands of this program.

The longest name wins: ``orchctl a b c`` runs ``orchctl-a-b-c``, ``orchctl-a-b`` or ``orchctl-a``, with the remaining
words as arguments. A dash in a word is an underscore in the name of the program. Commands of this program cannot be
replaced.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from orchd.dialect import COMMAND_LINE

PREFIX: Final = f"{COMMAND_LINE}-"


def find_plugin(words: Sequence[str], search: str | None) -> tuple[str, list[str]] | None:
    """The program for the words of a command line, and its arguments; None without one. `search` is the PATH."""
    names: list[str] = []
    for word in words:
        if word.startswith("-") or "/" in word:
            break
        names.append(word.replace("-", "_"))
    for length in range(len(names), 0, -1):
        program = shutil.which(PREFIX + "-".join(names[:length]), path=search)
        if program is not None:
            return program, list(words[length:])
    return None


def installed_plugins(environment: Mapping[str, str]) -> list[Path]:
    """Files of the PATH that are named as plugins, in the order in which they are looked for; they may not be
    executable."""
    out = []
    for folder in dict.fromkeys(filter(None, environment.get("PATH", "").split(os.pathsep))):
        try:
            out += sorted(path for path in Path(folder).iterdir() if path.name.startswith(PREFIX) and path.is_file())
        except OSError:
            continue
    return out
