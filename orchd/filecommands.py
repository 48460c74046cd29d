"""Command line of the programs for a server's files (`orchd-store`, `orchd-certs`): a command, flags of the server, an
optional file, and one line per error on standard error.

Exit status: 0 on success, 1 on failure, 2 for an invalid command line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from twisted.python import usage

from orchd.assembly.capabilities import capabilities
from orchd.config.options import Options
from orchd.config.settings import Settings

#: Arguments of a command besides flags.
NO_FILE, OPTIONAL_FILE, FILE = "", "[FILE]", "FILE"


class Report(Protocol):
    """Progress output of long-running commands."""

    def say(self, text: str) -> None:
        """Print a line about the current step."""

    def progress(self, done: int, total: int) -> None:
        """Report that `done` of `total` steps are done."""


class _Lines:
    """Prints lines on standard error, without progress."""

    def __init__(self, program: str) -> None:
        self._program = program

    def say(self, text: str) -> None:
        sys.stderr.write(f"{self._program}: {text}\n")

    def progress(self, done: int, total: int) -> None:
        """No output."""


@dataclass(frozen=True, slots=True)
class Result:
    """Output and exit status of a command."""

    text: str
    status: int = 0


#: Settings, file ("" without one), report. Raises one of the program's `errors`.
Command = Callable[[Settings, str, Report], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`commands` by name, each with its arguments besides flags; the texts of `errors` are printed for the user.
    `flags` are flags of single commands by their names, which get the value in place of a file."""

    name: str
    text: str
    commands: Mapping[str, tuple[Command, str]]
    errors: tuple[type[Exception], ...]
    flags: Mapping[str, str] = field(default_factory=dict)

    def run(self, arguments: Sequence[str] | None = None, report: Report | None = None) -> int:
        """Run one command; the exit status."""
        words = list(sys.argv[1:] if arguments is None else arguments)
        if not words or words[0] in _HELP:
            (sys.stdout if words else sys.stderr).write(f"{self.text}\n")
            return 0 if words else 2
        name, *rest = words
        if name not in self.commands:
            return self._fail(f"unknown command {name!r}: one of {', '.join(self.commands)}", 2)
        command, takes = self.commands[name]
        file = ""
        if takes and rest and not rest[-1].startswith("-"):
            file = rest.pop()
        if takes == FILE and not file:
            return self._fail(f"{name} needs a file as its last argument", 2)
        options = Options(capabilities=capabilities())
        try:
            if name in self.flags:
                file, rest = _own_flag(self.flags[name], rest)
            options.parseOptions(rest)
        except usage.UsageError as error:
            return self._fail(str(error), 2)
        assert options.settings is not None, "parsed"
        try:
            result = command(options.settings, file, report or _Lines(self.name))
        except self.errors as error:
            return self._fail(str(error), 1)
        sys.stdout.write(f"{result.text}\n")
        return result.status

    def _fail(self, text: str, status: int) -> int:
        sys.stderr.write(f"{self.name}: {text}\n")
        return status


def _own_flag(flag: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """The value of `flag` in `words` ("" without it), and the other words. Raises UsageError."""
    value, others = "", list[str]()
    arguments = iter(words)
    for word in arguments:
        name, equals, text = word.partition("=")
        if name != f"--{flag}":
            others.append(word)
            continue
        value = text if equals else next(arguments, "")
        if not value:
            raise usage.UsageError(f"--{flag} needs a value")
    return value, others


_HELP: Final = ("-h", "--help", "help")
