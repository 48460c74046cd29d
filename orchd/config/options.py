"""The flag tables as `twisted.python.usage.Options`: parsing, ``--help`` and the effective configuration.

Command line and flag files form one sequence; the flags of a file take the position of its --flagfile. A later value
replaces an earlier one. Repeated lists and maps accumulate within one source (the command line, or one file); a later
source replaces the value, so that a command line can override a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, NoReturn

from twisted.python import usage

from orchd.config.capabilities import Capabilities
from orchd.config.flag import FlagTable
from orchd.config.flag_values import FlagValues
from orchd.config.help import usage_text
from orchd.config.nearest import nearest
from orchd.config.settings import Settings, build_settings
from orchd.config.source import FlagError, Mention, Reader
from orchd.config.table import AMBIGUOUS, COMPONENTS, component_table, private_flags, table
from orchd.config.values import FLOAT, INT
from orchd.dialect import DIALECTS, ORCH, Dialect
from orchd.kinds.release import RELEASES


def _read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


class Options(usage.Options):
    """All flags of the server.

    After `parseOptions`: `dialect`, `by_name` (value by the flag's name in the tables), `explicit` (names that were
    given a value, with the last mention), `warnings` about them, and `settings`. As a dictionary it maps the names as
    typed to values. An invalid flag raises `usage.UsageError`, whose message names the flag and, for flag files, the
    file and line.
    """

    synopsis = "[--name=value ...]"

    def __init__(
        self,
        *,
        flags: FlagTable | None = None,
        capabilities: Capabilities | None = None,
        read_file: Callable[[str], str] = _read,
        dialect: Dialect = ORCH,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the base class has no annotations
        self.flags = flags or table()
        self._capabilities = capabilities or Capabilities()
        self._read_file = read_file
        self.dialect: Dialect = dialect
        self._usual_dialect = dialect
        self.explicit: dict[str, Mention] = {}
        self.by_name: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.settings: Settings | None = None

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Parse `options` (without the program's name). Overridden: the base class does not support
        ``--bool=false``."""
        try:
            mentions = Reader(self.flags.by_spelling, self._read_file).read_command_line(options or ())
            asked = {m.flag.name for m in mentions if m.text == "true"}
            if "help" in asked:
                self.opt_help()
            if "version" in asked:
                self.opt_version()
            self.dialect = self._chosen_dialect(mentions)
            self.by_name = self._combine(mentions)
            self.explicit = {m.flag.name: m for m in mentions}
            self._refuse_ineffective()
            self.by_name |= self._later_defaults(self.flags, self.explicit)
            self._make_settings()
        except FlagError as error:
            raise usage.UsageError(str(error)) from None
        for flag in self.flags:
            self[flag.spelled()] = self.by_name[flag.name]
        self.postOptions()  # type: ignore[no-untyped-call]  # likewise

    def _make_settings(self) -> None:
        """Settings from `by_name`. Raises FlagError."""
        components = {name: self._component(name) for name in COMPONENTS}
        built = build_settings(FlagValues(self.dialect, self.by_name, self.explicit), components, self._capabilities)
        self.settings = replace(built, warnings=(*self.warnings, *built.warnings))

    def _component(self, name: str) -> FlagValues:
        """The flags of a component in this process: the server's, and over them those of the component's flag file."""
        flags, private = component_table(name), private_flags(name)
        values = flags.defaults(self.dialect)
        values |= {flag: value for flag, value in self.by_name.items() if flag not in AMBIGUOUS}
        values |= self._later_defaults(flags, self.explicit)
        mentioned = set(self.explicit) - AMBIGUOUS
        path = self.by_name[f"{name}-flagfile"]
        if path:
            mentions = Reader(flags.by_spelling, self._read_file).read_command_line([f"--flagfile={path}"])[1:]
            for mention in mentions:
                if mention.flag.name not in private | {"flagfile"}:
                    raise mention.error(
                        f"is not the component's alone in this process: not allowed in --{name}-flagfile"
                    )
            values |= self._parse(mentions, values)
            mentioned |= {mention.flag.name for mention in mentions}
            self._refuse(flags, {mention.flag.name: mention for mention in mentions}, values)
        return FlagValues(self.dialect, values, mentioned)

    def _chosen_dialect(self, mentions: Sequence[Mention]) -> Dialect:
        for mention in reversed(mentions):
            if mention.flag.name == "dialect":
                self._check_choice(mention)
                if not mention.text:
                    raise mention.error(f"needs one of {', '.join(DIALECTS)}")
                return DIALECTS[mention.text]
        return self._usual_dialect

    def _check_choice(self, mention: Mention) -> None:
        choices = [self.dialect(c) for c in mention.flag.choices]
        if choices and mention.text and mention.text not in choices:
            guess = nearest(mention.text, choices)
            raise mention.error(
                f"unknown value {mention.text!r}: one of {', '.join(choices)}"
                + (f"; did you mean {guess!r}?" if guess else "")
            )

    def _combine(self, mentions: Sequence[Mention]) -> dict[str, Any]:
        return self._parse(mentions, self.flags.defaults(self.dialect))

    def _parse(self, mentions: Sequence[Mention], usual: Mapping[str, Any]) -> dict[str, Any]:
        """The values of `usual`, overridden by `mentions`."""
        values = dict(usual)
        last: dict[str, int] = {}
        for mention in mentions:
            flag = mention.flag
            if mention.spelled not in (flag.spelled(), flag.spelled(self.dialect)):
                raise mention.error(f"not a flag of this dialect: write --{flag.spelled(self.dialect)}")
            self._check_choice(mention)
            try:
                value = flag.type.parse(mention.text)
            except ValueError as error:
                raise mention.error(str(error)) from None
            if flag.type in (INT, FLOAT) and flag.least is not None and value < flag.least:
                raise mention.error(f"must be at least {flag.least}")
            again = last.get(flag.name) == mention.source
            values[flag.name] = flag.type.combine(values[flag.name], value) if again else value
            last[flag.name] = mention.source
        return values

    def _later_defaults(self, flags: FlagTable, mentioned: Container[str]) -> dict[str, Any]:
        """The defaults that differ in the emulated release, of flags that were not given."""
        release = RELEASES[self.by_name["emulated-version"]]
        changed = (flag for flag in flags if flag.later_defaults and flag.name not in mentioned)
        return {flag.name: flag.default_in(release, self.dialect) for flag in changed}

    def _refuse_ineffective(self) -> None:
        for name in AMBIGUOUS & self.explicit.keys():
            flag = self.flags[name]
            usual = flag.default_value(self.dialect)
            if "scheduler-flagfile" in self.by_name and self.by_name[name] != usual:
                files = " or ".join(f"--{component}-flagfile" for component in COMPONENTS)
                raise self.explicit[name].error(f"means another thing for each component: give it in {files}")
        self._refuse(self.flags, self.explicit, self.by_name)

    def _refuse(self, flags: FlagTable, mentions: Mapping[str, Mention], values: Mapping[str, Any]) -> None:
        """Refuse values of flags that can have no effect, and collect warnings about others. Raises FlagError."""
        release = RELEASES[self.by_name["emulated-version"]]
        for name, mention in mentions.items():
            flag = flags[name]
            if lacking := flag.lacking(release):
                raise mention.error(lacking)
            usual = flag.default_in(release, self.dialect)
            if flag.deprecated:
                self.warnings.append(mention.text_about("is deprecated"))
            if flag.noop and values[name] != usual:
                self.warnings.append(mention.text_about(f"has no effect: {flag.noop}"))
            if flag.separate and values[name] != usual:
                raise mention.error("is for a separate process: here the component uses the server's own client")
            if flag.void and values[name] != usual:
                raise mention.error(
                    f"can have no effect: {flag.void}; only the default {flag.type.show(usual)!r} is accepted"
                )

    def value(self, name: str) -> Any:
        """The value of a flag by its name in the tables."""
        return self.by_name[name]

    def opt_version(self) -> NoReturn:
        """Print the version of this program and the API release, and exit. Overridden: the base class prints
        Twisted's."""
        sys.stdout.write(f"orchd {installed('orchd')}, API releases {', '.join(RELEASES)}\n")
        raise SystemExit(0)

    def opt_help(self) -> NoReturn:
        """Displays this help and exits."""
        try:
            sys.stdout.write(f"{self}\n")
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader, `head` or a pager, has ended. The flush at the end of the process must not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        raise SystemExit(0)

    def getUsage(self, width: int | None = None) -> str:
        return usage_text(self.flags, self.dialect, width or 80)

    def __str__(self) -> str:
        return f"{self.getSynopsis()}\n{self.getUsage()}"


class PlainErrors:
    """Mixed into options for `twistd`, which would react to a wrong flag with its own help and exit status 0: the
    message alone goes to standard error, with exit status 1, so that service managers see the failure."""

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        try:
            super().parseOptions(options)  # type: ignore[misc]  # of the options that this is mixed into
        except usage.UsageError as error:
            raise SystemExit(str(error)) from None


class TwistdOptions(PlainErrors, Options):
    """`Options` for `twistd`."""


def from_options(options: Options) -> Settings:
    """The settings of `options`. Parses an empty command line first if the options have not been parsed."""
    if options.settings is None:
        options.parseOptions(())
    assert options.settings is not None
    return options.settings


def from_mapping(values: Mapping[str, str], **keywords: Any) -> Options:
    """Parse ``--name=value`` for each pair. For programs that embed the server. Raises `usage.UsageError`."""
    options = Options(**keywords)
    options.parseOptions([f"--{name}={value}" for name, value in values.items()])
    return options
