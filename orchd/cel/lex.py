"""The scanner: text to tokens, in time linear in the text.

A character that begins no token is an issue, and scanning goes on behind it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orchd.cel.source import Issue

#: Kinds of tokens in the order in which messages list them. Those in quotes are spelled as they are.
KINDS = (
    "'==' '!=' 'in' '<' '<=' '>=' '>' '&&' '||' '[' ']' '{' '}' '(' ')' '.' ',' '-' '!' '?' ':' '+' '*' '/' '%' 'true' "
    "'false' 'null' NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER ESC_IDENTIFIER"
).split()
END = "<EOF>"
RANK = {kind: rank for rank, kind in enumerate([END, *KINDS])}

_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
#: The beginning of an escape sequence that is none.
_PARTIAL_ESCAPE = re.compile(r"\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?")
# Possessive repetitions: the scanner never tries a second way.
_QUOTED = (
    rf'"""(?:{_ESCAPE}|[^\\"]|"(?!""))*+"""',
    rf"'''(?:{_ESCAPE}|[^\\']|'(?!''))*+'''",
    rf'"(?:{_ESCAPE}|[^\\"\n\r])*+"',
    rf"'(?:{_ESCAPE}|[^\\'\n\r])*+'",
)
_RAW = ('"""(?:[^"]|"(?!""))*+"""', "'''(?:[^']|'(?!''))*+'''", r'"[^"\n\r]*+"', r"'[^'\n\r]*+'")
_STRING = rf"(?:{'|'.join(_QUOTED)}|[rR](?:{'|'.join(_RAW)}))"
_TOKEN = re.compile(
    rf"""(?P<skip>[\t \r\n\f]++|//[^\n]*+)
    |(?P<BYTES>[bB]{_STRING})
    |(?P<STRING>{_STRING})
    |(?P<NUM_FLOAT>[0-9]++\.[0-9]++(?:[eE][+-]?[0-9]+)?|[0-9]++[eE][+-]?[0-9]+|\.[0-9]++(?:[eE][+-]?[0-9]+)?)
    |(?P<NUM_UINT>(?:0x[0-9a-fA-F]++|[0-9]++)[uU])
    |(?P<NUM_INT>0x[0-9a-fA-F]++|[0-9]++)
    |(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*+)
    |(?P<ESC_IDENTIFIER>`[A-Za-z0-9_./\ -]++`)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[][<>{{}}().,!?:+*/%-])""",
    re.VERBOSE,
)
_BODIES = {quote: re.compile(rf"{quote}(?:{_ESCAPE}|[^\\{quote}\n\r])*+") for quote in "\"'"}
_ESCAPED_BODY = re.compile(r"`[A-Za-z0-9_./ -]*+")
_WORDS = {"in": "'in'", "true": "'true'", "false": "'false'", "null": "'null'"}


class Token(NamedTuple):
    """A token: its kind (see `KINDS`), its text, where it begins, and the blanks and comments before it."""

    kind: str
    text: str
    offset: int
    gap: str = ""


def scan(text: str) -> tuple[list[Token], list[Issue]]:
    """Return the tokens of a text, an `END` token last, and one issue per place where no token begins."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    at, end, gap = 0, len(text), ""
    match = _TOKEN.match
    while at < end:
        token = match(text, at)
        if token is None:
            after = _after_failure(text, at)
            issues.append(Issue(offset=at, message=f"Syntax error: token recognition error at: '{text[at:after]}'"))
            at = after
            continue
        kind = token.lastgroup or ""
        if kind == "skip":
            gap += token.group()
        else:
            word = token.group()
            if kind == "sign":
                kind = f"'{word}'"
            elif kind == "IDENTIFIER":
                kind = _WORDS.get(word, kind)
            tokens.append(Token(kind, word, at, gap))
            gap = ""
        at = token.end()
    tokens.append(Token(END, END, end, gap))
    return tokens, issues


def _after_failure(text: str, at: int) -> int:
    """Return the offset behind the first character that keeps ``text[at:]`` from beginning with a token."""
    first = text[at]
    if first in _BODIES:
        body = _BODIES[first].match(text, at)
        stop = body.end() if body else at + 1
        partial = _PARTIAL_ESCAPE.match(text, stop)
        if partial:
            stop = partial.end()
    elif first == "`":
        body = _ESCAPED_BODY.match(text, at)
        stop = body.end() if body else at + 1
    elif first in "&|=":
        stop = at + 1
    else:
        stop = at
    return min(stop + 1, len(text))
