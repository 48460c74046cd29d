"""Reads the command line and flag files into one ordered sequence of flag mentions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchd.config.flag import Flag
from orchd.config.nearest import unknown
from orchd.config.values import BOOL
from orchd.pki.url_users import hide_passwords

#: One-letter names.
SHORT: Final = {"h": "help"}
MAX_DEPTH: Final = 8


class FlagError(Exception):
    """An invalid flag. The message names its place and the error, without passwords of URLs."""

    def __init__(self, message: str) -> None:
        super().__init__(hide_passwords(message))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One assignment of a value to a flag. `place` is "" on the command line, else ``file:line``. `source` numbers the
    contiguous part of a file or of the command line that contains it."""

    flag: Flag
    spelled: str
    text: str
    place: str
    source: int

    def text_about(self, message: str) -> str:
        """`message` after the place and the name of the flag."""
        return f"{self.place}: --{self.spelled}: {message}" if self.place else f"--{self.spelled}: {message}"

    def error(self, message: str) -> FlagError:
        return FlagError(self.text_about(message))


class Reader:
    """Reads mentions. `known` maps every spelling to its flag; `read_file` returns the text of a flag file."""

    def __init__(self, flags_by_spelling: Mapping[str, Flag], read_file: Callable[[str], str]) -> None:
        self._flags = flags_by_spelling
        self._read_file = read_file
        self._sources = 0

    def read_command_line(self, argv: Sequence[str]) -> list[Mention]:
        """All mentions of a command line, with those of a flag file after its --flagfile. Raises FlagError."""
        out: list[Mention] = []
        words = iter(argv)
        source = self._next_source()
        for word in words:
            if not word.startswith("-") or word == "-":
                raise FlagError(f"unexpected argument {word!r}: flags are given as --name=value")
            if word == "--":
                rest = next(words, None)
                if rest is not None:
                    raise FlagError(f"unexpected argument {rest!r} after --")
                break
            mention = self._mention(word, words, "", source)
            out.append(mention)
            if mention.flag.name == "flagfile":
                out.extend(self._file(mention, depth=1))
                source = self._next_source()
        return out

    def _next_source(self) -> int:
        self._sources += 1
        return self._sources

    def _file(self, mention: Mention, depth: int) -> Iterator[Mention]:
        path = mention.text
        if depth > MAX_DEPTH:
            raise mention.error(f"flag files are nested more than {MAX_DEPTH} deep")
        try:
            text = self._read_file(path)
        except (OSError, ValueError) as error:
            raise mention.error(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
        source = self._next_source()
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            place = f"{path}:{number}"
            if not line.startswith("-"):
                line = "--" + line
            name, equals, value = line.partition("=")
            if not equals:
                # In a file, blanks may separate the value from the name.
                name, _, value = line.partition(" ")
            words = [value.strip()] if value.strip() and not equals else []
            left = iter(words)
            inner = self._mention(f"{name.strip()}={value.strip()}" if equals else name, left, place, source)
            if next(left, None) is not None:
                raise inner.error(f"takes no separate value: write --{inner.spelled}={value.strip()}")
            yield inner
            if inner.flag.name == "flagfile":
                yield from self._file(inner, depth + 1)
                source = self._next_source()

    def _mention(self, word: str, following: Iterator[str], place: str, source: int) -> Mention:
        name, equals, text = word.lstrip("-").partition("=")
        if not word.startswith("--"):
            # One dash introduces a one-letter name: -v=2, -v 2, -h.
            if len(name) != 1:
                raise FlagError(_at(place, f"{word}: flags are written with two dashes"))
            name = SHORT.get(name, name)
        flag = self._flags.get(name)
        if flag is None:
            raise FlagError(_at(place, unknown("flag", "--" + name, _with_dashes(self._flags))))
        if not equals:
            if flag.type is BOOL:
                text = "true"
            else:
                following_text = next(following, None)
                if following_text is None:
                    raise FlagError(_at(place, f"--{name}: needs a value"))
                text = following_text
        return Mention(flag=flag, spelled=name, text=text, place=place, source=source)


def _at(place: str, message: str) -> str:
    return f"{place}: {message}" if place else message


def _with_dashes(names: Iterable[str]) -> list[str]:
    return ["--" + name for name in names]
