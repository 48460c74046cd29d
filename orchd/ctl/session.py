"""`Session`: what one invocation of the command line has - flags, streams, environment and a way to the server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from orchd.ctl.api import Api
from orchd.ctl.configuration import GlobalFlags
from orchd.ctl.errors import CommandError

T = TypeVar("T")

#: What a command does with the server.
Work = Callable[[Api], Coroutine[Any, Any, Any]]


@dataclass(slots=True)
class Session:
    """`connect` runs a coroutine with an `Api` for the flags and gives its result; `edit` opens a text in the user's
    editor and gives the new text, None when nothing was saved."""

    connect: Callable[[Session, Work], Any]
    environment: Mapping[str, str]
    edit: Callable[[str], str | None]
    flags: GlobalFlags = field(default_factory=GlobalFlags)

    def run(self, work: Callable[[Api], Coroutine[Any, Any, T]]) -> T:
        """The result of `work`. Raises CommandError and ApiError."""
        result: T = self.connect(self, work)
        return result

    def read(self, name: str) -> str:
        """The text of a file, or of standard input for ``-``. Raises CommandError."""
        if name == "-":
            return sys.stdin.read()
        try:
            return Path(name).read_text(encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}: check the path") from None
        except UnicodeDecodeError:
            raise CommandError(f"{name}: not UTF-8 text") from None


def warn(text: str) -> None:
    """Print a warning of the server to standard error."""
    click.echo(f"Warning: {text}", err=True)


def interactive() -> bool:
    """Is standard output a terminal?"""
    return sys.stdout.isatty()


pass_session = click.make_pass_decorator(Session)
