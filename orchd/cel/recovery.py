"""Error recovery of the parser: what it does with a token that does not fit.

After a syntax error the parser continues: it drops a superfluous token, assumes a missing one, or skips to one that may
follow, so that several errors are reported at once. Errors that only result from the one being recovered from are not
reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orchd.cel.lex import END, RANK, Token
from orchd.cel.source import NOWHERE, Issue

#: The deepest nesting of brackets, and of operators and selections.
MAX_DEPTH = 250
#: Repairs before the parser gives up.
MAX_REPAIRS = 30
#: Tokens that one repair may skip.
MAX_SKIPPED = 256

#: What an expression begins with.
EXPRESSION = frozenset(
    "'[' '{' '(' '.' '-' '!' 'true' 'false' 'null' NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER".split()
)
NAMES = frozenset(["IDENTIFIER", "ESC_IDENTIFIER"])
#: What may follow an operand anywhere.
OPERATORS = frozenset("'<' '<=' '>=' '>' '==' '!=' 'in' '*' '/' '%' '+' '-' '&&' '||'".split()) | {END}
#: What may follow a primary besides.
MEMBER = frozenset(["'.'", "'['"])


class Unexpected(Exception):
    """The current token cannot go on the current rule; the issue is recorded. The argument says what was expected."""


class GiveUp(Exception):
    """Parsing ends here; the issue is recorded."""


class TokenReader:
    """A place in the tokens of an expression, and the issues that were found on the way."""

    def __init__(self, tokens: list[Token], issues: list[Issue]) -> None:
        self.tokens = tokens
        self.issues = issues
        self.at = 0
        self.token = tokens[0]
        #: What may follow the rules under way, outermost first.
        self.follow: list[frozenset[str]] = []
        self.repairing = False
        self.repairs = 0
        #: Where a repair began, and what was expected in the repairs since the last accepted token.
        self.stuck = -1
        self.sites: set[object] = set()
        self.depths = [0, 0, 0]

    def advance(self) -> Token:
        """Accept the current token."""
        token = self.token
        if self.repairing:
            self.repaired()
        self.move()
        return token

    def repaired(self) -> None:
        self.repairing = False
        self.stuck = -1
        self.sites.clear()

    def move(self) -> None:
        if self.at + 1 < len(self.tokens):
            self.at += 1
            self.token = self.tokens[self.at]

    def after(self) -> Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def enter(self, rule: int) -> None:
        """Count one more activation of a rule, which the caller undoes when it leaves the rule.

        Raises GiveUp at the limit.
        """
        self.depths[rule] += 1
        if self.depths[rule] > MAX_DEPTH:
            text = f"expression recursion limit exceeded: {MAX_DEPTH}"
            self.issues.append(Issue(offset=NOWHERE, message=text))
            raise GiveUp

    @contextmanager
    def before(self, *kinds: str) -> Iterator[None]:
        """Note what may follow the rules inside."""
        self.follow.append(frozenset(kinds))
        try:
            yield
        finally:
            self.follow.pop()

    def match(self, kind: str, next_kinds: frozenset[str] = frozenset()) -> None:
        """Accept a token of one kind.

        Drop one before it, or assume it where ``next_kinds`` or what may follow comes.
        """
        if self.token.kind == kind:
            self.advance()
            return
        self.count_repair()
        if self.after().kind == kind:
            self.report(self.token, f"extraneous input '{in_one_line(self.token.text)}' expecting {kind}")
            self.move()
            self.advance()
            return
        if self.token.kind in (next_kinds or self.next_in_context(kind)):
            self.report(self.token, f"missing {kind} at '{in_one_line(self.token.text)}'")
            return
        self.report(self.token, f"mismatched input '{in_one_line(self.token.text)}' expecting {kind}")
        raise Unexpected(kind)

    def next_in_context(self, kind: str) -> frozenset[str]:
        """Tokens that may follow the end of a primary here: operators, and those that the innermost rule expects."""
        if kind == END:
            return frozenset()
        allowed = (OPERATORS | MEMBER) - {END}
        return allowed | (self.follow[-1] if self.follow else frozenset([END]))

    def expect(self, kinds: frozenset[str]) -> None:
        """Go on only with a token of these kinds; drop one before it."""
        if self.token.kind in kinds or self.repairing:
            return
        if self.after().kind in kinds:
            self.report(self.token, f"extraneous input '{in_one_line(self.token.text)}' expecting {_set_of(kinds)}")
            self.move()
            self.repaired()
            return
        self.mismatch(kinds)

    def settle(self, kinds: frozenset[str]) -> None:
        """Behind one turn of a loop, skip to a token of these kinds, or to one that may follow the rules under way."""
        if self.token.kind in kinds or self.repairing:
            return
        self.report(self.token, f"extraneous input '{in_one_line(self.token.text)}' expecting {_set_of(kinds)}")
        allowed = OPERATORS.union(kinds, *self.follow)
        while self.token.kind not in allowed:
            self.move()

    def mismatch(self, kinds: frozenset[str]) -> None:
        self.report(self.token, f"mismatched input '{in_one_line(self.token.text)}' expecting {_set_of(kinds)}")
        raise Unexpected(kinds)

    def no_alternative(self, following: Token) -> None:
        """The current token, a dot or a sign, is followed by nothing that it may stand before."""
        text = following.gap + ("" if following.kind == END else following.text)
        if self.token.text + text in (".true", ".false", ".null"):
            self.report(following, f"mismatched input '{in_one_line(following.text)}' expecting IDENTIFIER")
        else:
            self.report(following, f"no viable alternative at input '{self.token.text}{in_one_line(text)}'")
        raise Unexpected(self.token.kind)

    def report(self, token: Token, message: str) -> None:
        """Record a mistake; those that only follow from the one under repair are not told."""
        if not self.repairing:
            self.issues.append(Issue(offset=token.offset, message=f"Syntax error: {message}"))
        self.repairing = True

    def skip(self, rule: str, unexpected: Unexpected, *more: str) -> None:
        """Skip to a token that may follow one of the rules under way, or to one of some more kinds.

        A second repair of the same place in a rule skips one token at least.
        """
        self.count_repair()
        site = (rule, *unexpected.args)
        if self.stuck == self.at and site in self.sites:
            self.move()
        self.stuck = self.at
        self.sites.add(site)
        self.skip_until(OPERATORS.union(more, *self.follow))

    def skip_until(self, kinds: frozenset[str]) -> None:
        """Skip to a token of these kinds. Raises `GiveUp` where none comes soon."""
        skipped = 0
        while self.token.kind not in kinds:
            if skipped == MAX_SKIPPED:
                text = f"error recovery token lookahead limit exceeded: {MAX_SKIPPED}"
                self.issues.append(Issue(offset=NOWHERE, message=text))
                raise GiveUp
            self.move()
            skipped += 1

    def count_repair(self) -> None:
        self.repairs += 1
        if self.repairs > MAX_REPAIRS:
            text = f"Syntax error: error recovery attempt limit exceeded: {MAX_REPAIRS}"
            self.issues.append(Issue(offset=self.token.offset, message=text))
            raise GiveUp


def in_one_line(text: str) -> str:
    """Return a part of the source as messages show it, in one line."""
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def is_syntax(issue: Issue) -> bool:
    """Say whether an issue is a mistake of syntax, rather than one of what the text says."""
    return issue.message.startswith("Syntax error: ")


def _set_of(kinds: frozenset[str]) -> str:
    return "{" + ", ".join(sorted(kinds, key=RANK.__getitem__)) + "}"
