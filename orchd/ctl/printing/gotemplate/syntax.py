"""Syntax of Go's text/template: `parse` turns a text into a tree of nodes.

Texts, comments, trim markers, pipelines, variables, ``if``, ``with``, ``range``, ``break``, ``continue``, ``define``,
``template`` and ``block``. `orchd.ctl.printing.gotemplate.template` evaluates the tree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Levels of nested parentheses and control structures.
_DEEPEST: Final = 100
_SPACE: Final = " \t\r\n"
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<string>"(?:\\.|[^"\\\n])*"|`[^`]*`)
    |(?P<char>'(?:\\.[^']*|[^'\\\n])')
    |(?P<number>[-+]?(?:0[xX][0-9a-fA-F_]+|(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![A-Za-z0-9_]))
    |(?P<field>\.[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)
    |(?P<variable>\$[\w\u0080-\uffff]*)
    |(?P<word>[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)
    |(?P<mark>:=|=|\||\(|\)|,|\.)""",
    re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.?))", re.DOTALL
)
_ESCAPED: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
}


class TemplateError(ValueError):
    """A template is malformed, or cannot be evaluated with the given value."""


# -- nodes


@dataclass(frozen=True, slots=True)
class Literal:
    value: Any


@dataclass(frozen=True, slots=True)
class Path:
    """Fields of `start`: a variable (``$`` included), a pipeline in parentheses, or None for the present value."""

    start: str | Pipeline | None
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    name: str


Operand = Literal | Path | Function


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each of operands; the value of one is the last argument of the next. `names` are the variables that get
    the last value; `declares` says that they are new."""

    commands: tuple[tuple[Operand, ...], ...]
    names: tuple[str, ...] = ()
    declares: bool = False
    line: int = 1


@dataclass(frozen=True, slots=True)
class Output:
    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """``if``, ``with`` or ``range``."""

    word: str
    pipeline: Pipeline
    body: Sequence[Node]
    otherwise: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Jump:
    """``break`` or ``continue``."""

    word: str


@dataclass(frozen=True, slots=True)
class Call:
    """``template "name" pipeline``."""

    name: str
    pipeline: Pipeline | None
    line: int


Node = str | Output | Branch | Jump | Call


def parse(text: str, functions: frozenset[str]) -> tuple[Sequence[Node], dict[str, Sequence[Node]]]:
    """The nodes of a template, and those of the templates that it defines. `functions` are the names that may be
    called. Raises TemplateError."""
    return _Parser(text, functions).parse()


# -- texts and actions


@dataclass(frozen=True, slots=True)
class _Action:
    text: str
    line: int


def _split(text: str) -> list[str | _Action]:
    """Texts and actions in order; comments are left out, and trim markers carried out."""
    out: list[str | _Action] = []
    at, trim = 0, False
    while True:
        start = text.find("{{", at)
        plain = text[at:] if start < 0 else text[at:start]
        if trim:
            plain = plain.lstrip(_SPACE)
        if start < 0:
            out.append(plain)
            return out
        line = text.count("\n", 0, start) + 1
        inner = start + 2
        if text.startswith("-", inner) and text[inner + 1 : inner + 2] in (*_SPACE,):
            plain = plain.rstrip(_SPACE)
            inner += 2
        out.append(plain)
        body = inner + len(text[inner:]) - len(text[inner:].lstrip(_SPACE))
        if text.startswith("/*", body):
            end = text.find("*/", body)
            closing = re.compile(r"\*/(?:[ \t\r\n]+(-))?\}\}").match(text, end) if end >= 0 else None
            if closing is None:
                raise TemplateError(f"line {line}: unclosed comment")
            at, trim = closing.end(), closing[1] is not None
            continue
        end = _end_of_action(text, inner, line)
        content = text[inner:end]
        trim = content.endswith("-") and content[-2:-1] in (*_SPACE,)
        out.append(_Action(content[:-1] if trim else content, line))
        at = end + 2


def _end_of_action(text: str, at: int, line: int) -> int:
    """The position of the ``}}`` that ends an action; those in strings do not."""
    while at < len(text):
        if text.startswith("}}", at):
            return at
        if text[at] in "\"`'":
            match = _TOKEN.match(text, at)
            if match is None:
                raise TemplateError(f"line {line}: unterminated quoted string")
            at = match.end()
        else:
            at += 1
    raise TemplateError(f"line {line}: unclosed action: }}}} is missing")


def _tokens(action: _Action) -> list[tuple[str, str]]:
    """Kind and text of each token; ("space", "") between those that are apart."""
    out: list[tuple[str, str]] = []
    at = 0
    while at < len(action.text):
        match = _TOKEN.match(action.text, at)
        if match is None or match.lastgroup is None:
            raise TemplateError(f"line {action.line}: unexpected {action.text[at]!r} in action")
        if not (match.lastgroup == "space" and (not out or match.end() == len(action.text))):
            out.append((match.lastgroup, match[0]))
        at = match.end()
    return out


def unquote(text: str) -> str:
    """The value of a string constant of Go. Raises TemplateError for unknown escapes."""
    if text.startswith("`"):
        return text[1:-1]

    def value(match: re.Match[str]) -> str:
        if match[1]:
            return _ESCAPED[match[1]]
        code = next((int(match[at], base) for at, base in ((2, 16), (3, 16), (4, 16), (5, 8)) if match[at]), -1)
        if not 0 <= code <= 0x10FFFF:
            raise TemplateError(f"unknown escape {match[0]!r} in {text}")
        return chr(code)

    return _ESCAPE.sub(value, text[1:-1])


def _number(text: str, line: int) -> int | float:
    plain = text.replace("_", "")
    try:
        if re.search(r"[xX]", plain):
            return int(plain, 16)
        return int(plain) if re.fullmatch(r"[-+]?\d{1,100}", plain) else float(plain)
    except ValueError:
        raise TemplateError(f"line {line}: bad number {text}") from None


# -- the parser


class _Parser:
    def __init__(self, text: str, functions: frozenset[str]) -> None:
        self._items = _split(text)
        self._at = 0
        self._functions = functions
        self._variables = ["$"]
        self._defined: dict[str, Sequence[Node]] = {}
        self._loops = 0
        self._depth = 0

    def parse(self) -> tuple[Sequence[Node], dict[str, Sequence[Node]]]:
        nodes, word, _, line = self._list()
        if word:
            raise TemplateError(f"line {line}: unexpected {{{{{word}}}}}")
        return nodes, self._defined

    def _list(self) -> tuple[list[Node], str, list[tuple[str, str]], int]:
        """Nodes up to ``end`` or ``else``, or to the end of the text: the word that ended them, what follows it, its
        line."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateError(f"more than {_DEEPEST} levels of actions")
        nodes: list[Node] = []
        line = 1
        while self._at < len(self._items):
            item = self._items[self._at]
            self._at += 1
            if isinstance(item, str):
                nodes += [item] if item else []
                continue
            line = item.line
            tokens = _tokens(item)
            word = tokens[0][1] if tokens and tokens[0][0] == "word" else ""
            rest = tokens[1:]
            if word in ("end", "else"):
                self._depth -= 1
                return nodes, word, rest, line
            nodes += self._action(word, tokens, rest, line)
        self._depth -= 1
        return nodes, "", [], line

    def _action(self, word: str, tokens: list[tuple[str, str]], rest: list[tuple[str, str]], line: int) -> list[Node]:
        if word in ("if", "with", "range"):
            return [self._branch(word, rest, line)]
        if word in ("break", "continue"):
            if not self._loops:
                raise TemplateError(f"line {line}: {{{{{word}}}}} outside {{{{range}}}}")
            return [Jump(word)]
        if word in ("define", "block"):
            return self._define(word, rest, line)
        if word == "template":
            name, after = self._name_of_template(rest, line)
            return [Call(name, self._pipeline(after, line) if after else None, line)]
        return [Output(self._pipeline(tokens, line))]

    def _branch(self, word: str, rest: list[tuple[str, str]], line: int) -> Branch:
        before = len(self._variables)
        pipeline = self._pipeline(rest, line, in_range=word == "range")
        self._loops += word == "range"
        body, ended, after, at = self._list()
        self._loops -= word == "range"
        otherwise: Sequence[Node] = ()
        if ended == "else":
            after = [token for token in after if token[0] != "space"] and after
            follow = next((text for kind, text in after if kind == "word"), "")
            if after and follow in ("if", "with") and word == follow:
                # ``else if`` is one more branch inside, whose end ends this one too.
                at_word = next(index for index, (kind, _) in enumerate(after) if kind == "word")
                otherwise = [self._branch(follow, after[at_word + 1 :], at)]
                ended = "end"
            elif after:
                raise TemplateError(f"line {at}: unexpected {after[-1][1]!r} after else")
            else:
                otherwise, ended, _, _ = self._list()
        if ended != "end":
            raise TemplateError(f"line {line}: {{{{{word}}}}} without {{{{end}}}}")
        del self._variables[before:]
        return Branch(word, pipeline, body, otherwise)

    def _define(self, word: str, rest: list[tuple[str, str]], line: int) -> list[Node]:
        name, after = self._name_of_template(rest, line)
        pipeline = self._pipeline(after, line) if word == "block" else None
        if word == "define" and after:
            raise TemplateError(f"line {line}: unexpected {after[0][1]!r} in define")
        before, self._variables = self._variables, ["$"]
        loops, self._loops = self._loops, 0
        body, ended, _, _ = self._list()
        self._variables, self._loops = before, loops
        if ended != "end":
            raise TemplateError(f"line {line}: {{{{{word}}}}} without {{{{end}}}}")
        self._defined[name] = body
        return [Call(name, pipeline, line)] if word == "block" else []

    @staticmethod
    def _name_of_template(tokens: list[tuple[str, str]], line: int) -> tuple[str, list[tuple[str, str]]]:
        tokens = tokens[1:] if tokens and tokens[0][0] == "space" else tokens
        if not tokens or tokens[0][0] != "string":
            raise TemplateError(f"line {line}: the name of the template is missing")
        return unquote(tokens[0][1]), tokens[1:]

    def _pipeline(self, tokens: list[tuple[str, str]], line: int, *, in_range: bool = False) -> Pipeline:
        return _PipelineParser(tokens, line, self._functions, self._variables).parse(in_range=in_range)


class _PipelineParser:
    """Parses the tokens of one pipeline. Variables that it declares are added to `variables`."""

    def __init__(
        self, tokens: list[tuple[str, str]], line: int, functions: frozenset[str], variables: list[str]
    ) -> None:
        self._tokens = tokens
        self._line = line
        self._functions = functions
        self._variables = variables
        self._at = 0
        self._depth = 0

    def parse(self, *, in_range: bool) -> Pipeline:
        names, declares = self._declaration(in_range)
        commands = self._commands(")" if self._depth else "")
        if self._at < len(self._tokens):
            raise self._error(f"unexpected {self._tokens[self._at][1]!r}")
        if declares:
            self._variables.extend(names)
        return Pipeline(commands, names, declares, self._line)

    def _error(self, text: str) -> TemplateError:
        return TemplateError(f"line {self._line}: {text}")

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _skip_space(self) -> None:
        if self._peek()[0] == "space":
            self._at += 1

    def _declaration(self, in_range: bool) -> tuple[tuple[str, ...], bool]:
        """The variables in front of ``:=`` or ``=``; none without."""
        plain = [(index, token) for index, token in enumerate(self._tokens) if token[0] != "space"]
        texts = [token[1] for _, token in plain]
        count = 2 if in_range and texts[1:2] == [","] else 1
        mark_at = 3 if count == 2 else 1
        names = tuple(texts[0:mark_at:2])
        if len(texts) <= mark_at or texts[mark_at] not in (":=", "="):
            return (), False
        if not all(token[0] == "variable" and token[1] != "$" for _, token in plain[0:mark_at:2]):
            raise self._error(f"unexpected {texts[mark_at]!r}")
        if texts[mark_at] == "=":
            for name in names:
                self._check_variable(name)
        self._at = plain[mark_at][0] + 1
        return names, texts[mark_at] == ":="

    def _check_variable(self, name: str) -> None:
        if name not in self._variables:
            raise self._error(f"undefined variable {name!r}")

    def _commands(self, closing: str) -> tuple[tuple[Operand, ...], ...]:
        commands: list[tuple[Operand, ...]] = []
        while True:
            self._skip_space()
            operands = self._operands()
            if not operands:
                raise self._error("a value is missing")
            if commands and not isinstance(operands[0], Function):
                raise self._error("only a function can follow |")
            commands.append(operands)
            if self._peek() != ("mark", "|"):
                return tuple(commands)
            self._at += 1

    def _operands(self) -> tuple[Operand, ...]:
        out: list[Operand] = []
        while self._peek()[0] != "end" and self._peek() not in (("mark", "|"), ("mark", ")")):
            out.append(self._operand())
            if self._peek()[0] == "space":
                self._at += 1
            elif self._peek()[0] != "end" and self._peek() not in (("mark", "|"), ("mark", ")")):
                raise self._error(f"unexpected {self._peek()[1]!r} in operand")
        return tuple(out)

    def _operand(self) -> Operand:
        kind, text = self._peek()
        self._at += 1
        if kind == "string":
            return Literal(unquote(text))
        if kind == "char":
            return Literal(self._char(text))
        if kind == "number":
            return Literal(_number(text, self._line))
        if kind == "field":
            return Path(None, (text[1:], *self._fields()))
        if kind == "variable":
            self._check_variable(text)
            return Path(text, self._fields())
        if (kind, text) == ("mark", "."):
            return Path(None, ())
        if (kind, text) == ("mark", "("):
            return self._parenthesis()
        if kind == "word":
            if text in ("true", "false", "nil"):
                return Literal({"true": True, "false": False, "nil": None}[text])
            if text not in self._functions:
                raise self._error(f'function "{text}" not defined')
            return Function(text)
        raise self._error(f"unexpected {text!r}")

    def _char(self, text: str) -> int:
        value = unquote(text)
        if len(value) != 1:
            raise self._error(f"{text} is not one character")
        return ord(value)

    def _parenthesis(self) -> Operand:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"more than {_DEEPEST} levels of parentheses")
        inner = Pipeline(self._commands(")"), line=self._line)
        if self._peek() != ("mark", ")"):
            raise self._error(") is missing")
        self._at += 1
        self._depth -= 1
        return Path(inner, self._fields())

    def _fields(self) -> tuple[str, ...]:
        """The fields that follow without a space."""
        out = []
        while self._peek()[0] == "field":
            out.append(self._peek()[1][1:])
            self._at += 1
        return tuple(out)
