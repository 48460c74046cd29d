"""`Session`: flags, streams, environment and connection of one invocation of the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, TypeVar

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.configuration import GlobalFlags
from orchd.ctl.errors import CommandError
from orchd.ctl.printing import output
from orchd.dialect import COMMAND_LINE

T = TypeVar("T")
#: Limits of what is read from a URL.
_FETCH_SECONDS, _MOST_FETCHED = 30.0, 64 * 1024 * 1024
#: What a command does with the server.
Work = Callable[[Api], Coroutine[Any, Any, Any]]


@dataclass(slots=True)
class Writing:
    """Flags of commands that write: the name under which fields are owned, what happens to unknown fields ("" is the
    server's choice), and whether the object is kept in an annotation."""

    manager: str = COMMAND_LINE
    validation: str = ""
    save_config: bool = False


@dataclass(slots=True)
class Session:
    """`connect` runs a coroutine with an `Api` for the flags and gives its result; `edit` opens a text in the user's
    editor and gives the new text, None when nothing was saved; `replace_program` runs another program in this one's
    place."""

    connect: Callable[[Session, Work], Any]
    environment: Mapping[str, str]
    edit: Callable[[str], str | None]
    flags: GlobalFlags = field(default_factory=GlobalFlags)
    writing: Writing = field(default_factory=Writing)
    random: Random = field(default_factory=SystemRandom)
    replace_program: Callable[[str, list[str], Mapping[str, str]], object] = os.execve

    def run(self, work: Callable[[Api], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`. Raises CommandError and ApiError."""
        result: T = self.connect(self, work)
        return result

    def read(self, name: str) -> str:
        """The text of a file, of what an http or https URL leads to, or of standard input for ``-``. Raises
        CommandError."""
        if name == "-":
            return sys.stdin.read()
        if is_url(name):
            return _fetch(name)
        try:
            return Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}: check the path") from None
        except UnicodeDecodeError:
            raise CommandError(f"{name}: not UTF-8 text") from None


def is_url(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def _fetch(url: str) -> str:
    # Slow to import, and rarely needed.
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=_FETCH_SECONDS) as response:
            data: bytes = response.read(_MOST_FETCHED + 1)
    except (OSError, ValueError) as error:
        raise CommandError(f"{url}: {getattr(error, 'reason', None) or error}: check the URL") from None
    if len(data) > _MOST_FETCHED:
        raise CommandError(f"{url}: more than {_MOST_FETCHED} bytes: fetch it into a file, and name that")
    return data.decode("utf-8", "replace")


def warn(text: str) -> None:
    """Print a warning of the server to standard error."""
    output.note(f"Warning: {text}")


def refuse_warning(text: str) -> None:
    """Raises CommandError for a warning of the server."""
    raise CommandError(f"the server warns: {text} (--warnings-as-errors)")


def trace(text: str) -> None:
    """Print a line about a request to standard error."""
    output.note(text)


pass_session = click.make_pass_decorator(Session)
