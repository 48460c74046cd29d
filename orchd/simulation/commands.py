"""The effect of a container's command, if it has one of a few simple forms; nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from operator import eq, ge, gt, le, lt, ne
from shlex import shlex
from typing import Any, Final

from orchd.kinds.jsonvalues import Object
from orchd.simulation.variables import environment, expand

_SHELLS: Final = frozenset(("sh", "bash", "ash"))
_PROGRAMS: Final = frozenset(("true", "false", "sleep", "echo", "touch", "test", "["))
_FOLDERS: Final = ("/usr/bin/", "/bin/")
#: Longer commands, and scripts with more conditions, are not looked at.
_LONGEST, _CONDITIONS = 4096, 20
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_EXPR: Final = re.compile(r"\$\(expr (-?\d{1,9}) ([-+%]) (-?\d{1,9})\)")
_OPERATORS: Final = frozenset("();<>|&")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_NUMBERS: Final = {"-eq": eq, "-ne": ne, "-lt": lt, "-le": le, "-gt": gt, "-ge": ge}


class _Unknown(Exception):
    """The command has another form."""


class _Exit(Exception):
    """The script ends; the argument is its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The exit code of a command, and the seconds that it sleeps: infinite if it does not end."""

    code: int
    seconds: float


def outcome_of(pod: Object, container: Mapping[str, Any], count: int) -> Outcome | None:
    """The outcome of the command of a container that was restarted `count` times; None for a command of another form,
    or that of the image. Files that it made before a restart are there."""
    words = (*(container.get("command") or ()), *(container.get("args") or ()))
    if not container.get("command") or sum(map(len, words)) > _LONGEST:
        return None
    env = environment(pod, container)
    words = tuple(expand(word, env) for word in words)
    return _outcome(words, tuple(sorted(env.items())), count > 0)


def succeeds(words: Sequence[str]) -> bool:
    """False for a command that is known to fail."""
    outcome = _outcome(tuple(words), (), False)
    return outcome is None or outcome.code == 0


@lru_cache(maxsize=1024)
def _outcome(words: tuple[str, ...], env: tuple[tuple[str, str], ...], again: bool) -> Outcome | None:
    name, *rest = words or ("",)
    for folder in _FOLDERS:
        name = name.removeprefix(folder)
    script = _Script(dict(env))
    try:
        if name in _SHELLS and len(rest) > 1 and rest[0] == "-c":
            result = script.run(rest[1])
            return script.run(rest[1]) if again else result
        if name not in _PROGRAMS:
            return None
        return Outcome(code=script.command([name, *rest]), seconds=script.seconds)
    except _Unknown:
        return None


@dataclass(slots=True)
class _Script:
    """A shell script of `exit`, `sleep`, `echo`, `touch`, `true`, `false` and `if` with simple tests. Files stay from
    one run to the next."""

    env: Mapping[str, str]
    files: set[str] = field(default_factory=set)
    seconds: float = 0.0
    words: list[str] = field(default_factory=list)

    def run(self, text: str) -> Outcome:
        text = _VARIABLE.sub(lambda match: self.env.get(match[1] or match[2], ""), text)
        text = _EXPR.sub(_calculated, text)
        if "$" in text or "`" in text or "#" in text:
            raise _Unknown
        lexer = shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            self.words, self.seconds = list(lexer), 0.0
        except ValueError:
            raise _Unknown from None
        if self.words.count("if") > _CONDITIONS:
            raise _Unknown
        try:
            code = self._list((), active=True)
        except _Exit as end:
            code = end.args[0]
        return Outcome(code=code, seconds=self.seconds)

    def _list(self, ends: tuple[str, ...], *, active: bool) -> int:
        """Run the commands up to one of the words, which is left; without words up to the end."""
        code, words = 0, self.words
        while words and words[0] not in ends:
            if words[0] == "if":
                code = self._if(active=active)
            elif words[0] == ";":
                del words[0]
            else:
                length = words.index(";") if ";" in words else len(words)
                command = words[:length]
                del words[:length]
                code = self.command(command) if active else 0
        if not words and ends:
            raise _Unknown
        return code

    def _if(self, *, active: bool) -> int:
        del self.words[0]
        holds = self._list(("then",), active=active) == 0
        del self.words[0]
        code = self._list(("else", "fi"), active=active and holds)
        if self.words[0] == "else":
            del self.words[0]
            other = self._list(("fi",), active=active and not holds)
            code = code if holds else other
        del self.words[0]
        return code

    def command(self, command: list[str]) -> int:
        match command:
            case ["true" | "false" | ":"]:
                return int(command[0] == "false")
            case ["exit", code] if code.isascii() and code.isdigit() and len(code) < 4:
                raise _Exit(int(code) % 256)
            case ["sleep", time]:
                self.seconds += _time(time)
                return 0
            case ["echo", *words] if not any(word and _OPERATORS.issuperset(word) for word in words):
                return 0
            case ["touch", name]:
                self.files.add(name)
                return 0
            case ["[", *words, "]"] | ["[[", *words, "]]"] | ["test", *words]:
                return int(not self._test(words))
        raise _Unknown

    def _test(self, words: list[str]) -> bool:
        match words:
            case ["-r" | "-f" | "-e", name]:
                return name in self.files
            case [left, ("=" | "==" | "!=") as sign, right]:
                return (left == right) == (sign != "!=")
            case [left, sign, right] if sign in _NUMBERS:
                try:
                    return bool(_NUMBERS[sign](int(left), int(right)))
                except ValueError:
                    raise _Unknown from None
        raise _Unknown


def _calculated(match: re.Match[str]) -> str:
    left, right = int(match[1]), int(match[3])
    if match[2] == "%":
        return str(abs(left) % abs(right) * (-1 if left < 0 else 1)) if right else match[0]
    return str(left + right if match[2] == "+" else left - right)


def _time(text: str) -> float:
    if text in ("inf", "infinity"):
        return inf
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)", text, re.ASCII)
    if match is None:
        raise _Unknown
    return float(match[1]) * _SECONDS[match[2]]
