"""The parser: text to syntax tree, by recursive descent, in time linear in the text.

A method is a rule, and each calls the next: `expression` (conditions), `alternatives` (|| and &&), `relation`,
`calculation`, `unary`, `member` (selections, calls, indexes), `primary` (names, literals, brackets). Macros are
expanded where they are called.

It is bounded: code points of the text, nesting of brackets, depth of chains of operators and selections, and the number
of repairs (`recovery`).
"""

from __future__ import annotations

from collections.abc import Callable

from orchd.cel.bracketed import LiteralReader
from orchd.cel.building import Grammar
from orchd.cel.lex import END, Token, scan
from orchd.cel.limits import deep
from orchd.cel.literals import LiteralError, read_literal
from orchd.cel.recovery import EXPRESSION, MAX_DEPTH, MEMBER, NAMES, GiveUp, Unexpected
from orchd.cel.source import NOWHERE, UNPLACED, Issue, Source
from orchd.cel.syntax import Broken, Ident, Literal, MapLiteral, Node, Select

#: The longest text, in code points.
MAX_TEXT = 100_000

RESERVED = frozenset(
    "as break const continue else false for function if import in let loop package namespace null return true var void while".split()
)

_RELATIONS = {"'<'": "_<_", "'<='": "_<=_", "'>='": "_>=_", "'>'": "_>_", "'=='": "_==_", "'!='": "_!=_", "'in'": "@in"}
_PRODUCTS = {"'*'": "_*_", "'/'": "_/_", "'%'": "_%_"}
_SUMS = {"'+'": "_+_", "'-'": "_-_"}
_LITERALS = frozenset("NUM_FLOAT NUM_INT NUM_UINT STRING BYTES 'true' 'false' 'null'".split())
_COLON = frozenset(["':'"])
_QUESTION = frozenset(["'?'"])
_END = frozenset([END])
#: Rules whose nesting is counted.
_EXPRESSIONS, _RELATION, _CALCULATION = range(3)


def parse(source: Source, grammar: Grammar) -> tuple[Node, list[Issue]]:
    """Return the tree of an expression and its issues; with issues the tree is incomplete. Raises nothing."""
    if len(source.text) > MAX_TEXT:
        text = f"expression code point size exceeds limit: size: {len(source.text)}, limit {MAX_TEXT}"
        return Broken(NOWHERE), [Issue(offset=NOWHERE, message=text)]
    tokens, issues = scan(source.text)
    parser = _Parser(tokens, grammar, issues)
    with deep():
        try:
            node = parser.start()
        except GiveUp:
            return Broken(NOWHERE), issues
    if node.depth > MAX_DEPTH:
        issues.append(Issue(offset=NOWHERE, message="max recursion depth exceeded"))
    return node, issues


class _Parser(LiteralReader):
    """One run over the tokens of one expression."""

    # Rules, from the outermost to the innermost.

    def start(self) -> Node:
        node = self.expression()
        try:
            self.match(END)
        except Unexpected:
            self.skip_until(frozenset([END]))
        return node

    def expression(self) -> Node:
        """condition ? value : value, or one of its parts."""
        self.enter(_EXPRESSIONS)
        self.follow.append(_QUESTION | (self.follow[-1] if self.follow else _END))
        node = self.alternatives()
        self.follow.pop()
        if self.token.kind == "'?'":
            mark = self.advance()
            self.follow.append(_COLON)
            first = self.alternatives()
            self.follow.pop()
            try:
                self.match("':'", EXPRESSION)
                second = self.expression()
            except Unexpected as error:
                self.skip("expression", error)
                second = Broken(mark.offset)
            node = self.call(mark.offset, "_?_:_", [node, first, second], depth=1)
        self.depths[_EXPRESSIONS] -= 1
        return node

    def alternatives(self) -> Node:
        """Terms of ||, whose terms are terms of &&; chains become balanced trees."""
        node = self.chain("'&&'", "_&&_", self.relation)
        if self.token.kind != "'||'":
            return node
        return self.chain("'||'", "_||_", lambda: self.chain("'&&'", "_&&_", self.relation), node)

    def chain(self, sign: str, function: str, term: Callable[[], Node], first: Node | None = None) -> Node:
        node = term() if first is None else first
        if self.token.kind != sign:
            return node
        terms, offsets = [node], []
        while self.token.kind == sign:
            offsets.append(self.advance().offset)
            terms.append(term())
        return self.balance(function, terms, offsets)

    def relation(self, binding: int = 1) -> Node:
        self.enter(_RELATION)
        node = self.calculation(1)
        while binding <= 1 and self.token.kind in _RELATIONS:
            mark = self.advance()
            node = self.call(mark.offset, _RELATIONS[mark.kind], [node, self.relation(2)], depth=1)
        self.depths[_RELATION] -= 1
        return node

    def calculation(self, binding: int) -> Node:
        self.enter(_CALCULATION)
        node = self.unary()
        while True:
            kind = self.token.kind
            if kind in _PRODUCTS and binding <= 2:
                function, inner = _PRODUCTS[kind], 3
            elif kind in _SUMS and binding <= 1:
                function, inner = _SUMS[kind], 2
            else:
                break
            mark = self.advance()
            node = self.call(mark.offset, function, [node, self.calculation(inner)], depth=1)
        self.depths[_CALCULATION] -= 1
        return node

    def unary(self) -> Node:
        """Signs before a member.

        An even number of signs cancels out; the minus before a number is a part of the literal.
        """
        begin = self.token.offset
        try:
            self.expect(EXPRESSION)
            sign = self.token
            if sign.kind not in ("'!'", "'-'"):
                return self.member()
            if sign.kind == "'-'" and self.after().kind in ("NUM_INT", "NUM_FLOAT"):
                return self.member()
            count = 0
            while self.token.kind == sign.kind:
                if sign.kind == "'-'" and self.after().kind not in EXPRESSION - {"'!'"}:
                    self.no_alternative(self.after())
                self.advance()
                self.settle(EXPRESSION)
                count += 1
            there = self.token.kind in EXPRESSION
            node = self.member()
        except Unexpected as error:
            self.skip("unary", error)
            return Broken(begin)
        if count % 2 == 0:
            # Signs that cancel out stand for what is behind them, which has no place if nothing is there.
            return node if there else Broken(UNPLACED)
        return self.call(sign.offset, "!_" if sign.kind == "'!'" else "-_", [node])

    def member(self) -> Node:
        """A primary and the selections, calls and indexes that follow it."""
        node = self.primary()
        at = self.at
        try:
            while True:
                at = self.at
                kind = self.token.kind
                if kind == "'.'":
                    node, whole = self.selection(node)
                elif kind == "'['":
                    node, whole = self.index(node)
                else:
                    return node
                if not whole:
                    return node
        except Unexpected as error:
            # A call or an index whose bracket is open stands here, without its end.
            place = at if self.tokens[at].kind == "'['" else at + 2
            begun = self.at > place and self.tokens[place].kind in ("'('", "'['")
            self.skip("member", error)
            return Broken(self.tokens[place].offset) if begun else node

    def selection(self, node: Node) -> tuple[Node, bool]:
        """Return the selection or call behind a node, and whether nothing was skipped at its end."""
        following = self.after()
        if following.kind not in NAMES and following.kind != "'?'":
            self.no_alternative(following)
        dot = self.advance()
        optional = self.token.kind == "'?'"
        if optional:
            self.advance()
            first = self.token
            name = self.selected_name()
            if not name:
                self.issues.append(Issue(offset=first.offset, message="unsupported ident kind"))
        elif self.token.kind == "IDENTIFIER" and self.after().kind == "'('":
            function = self.advance().text
            bracket = self.advance()
            arguments, whole = self.arguments()
            return self.expand(bracket.offset, function, arguments, node), whole
        else:
            name = self.selected_name()
        if optional and not self.grammar.optionals:
            return self.broken(dot.offset, "unsupported syntax '.?'"), True
        if optional:
            return self.call(dot.offset, "_?._", [node, Literal(dot.offset, name)], depth=1), True
        selected = Select(dot.offset, node, name)
        selected.depth = node.depth + 1
        return selected, True

    def selected_name(self, place: Token | None = None) -> str:
        """Return the name of a field, empty if the token is not one. Issues about it are told at ``place``."""
        try:
            self.expect(NAMES)
            if self.token.kind not in NAMES:
                raise Unexpected(NAMES)
        except Unexpected as error:
            self.skip("name", error, *MEMBER)
            return ""
        token = self.advance()
        if token.kind == "IDENTIFIER":
            return token.text
        if not self.grammar.escaped_names:
            self.issues.append(Issue(offset=(place or token).offset, message="unsupported syntax: '`'"))
        return token.text[1:-1]

    def index(self, node: Node) -> tuple[Node, bool]:
        """Return the element of a node, and whether nothing was skipped at its end."""
        bracket = self.advance()
        self.expect(EXPRESSION | {"'?'"})
        optional = self.token.kind == "'?'"
        if optional:
            self.advance()
        with self.before("']'"):
            key = self.expression()
        whole = self.closes("']'")
        if optional and not self.grammar.optionals:
            return self.broken(bracket.offset, "unsupported syntax '[?'"), whole
        return self.call(bracket.offset, "_[?_]" if optional else "_[_]", [node, key], depth=1), whole

    def closes(self, bracket: str, *following: str) -> bool:
        """Accept a bracket. Without it skip to what may follow, also to tokens of some kinds, and return False."""
        try:
            self.match(bracket)
        except Unexpected as error:
            self.skip("closes", error, *following)
            return False
        return True

    def arguments(self, *following: str) -> tuple[list[Node], bool]:
        """Return the arguments of a call whose bracket is open, and whether nothing was skipped at its end.

        Tokens of some kinds may follow besides those of the rules under way.
        """
        self.expect(EXPRESSION | {"')'"})
        arguments: list[Node] = []
        with self.before("')'", "','", *following):
            if self.token.kind != "')'":
                arguments.append(self.expression())
                while self.token.kind == "','":
                    self.advance()
                    arguments.append(self.expression())
        return arguments, self.closes("')'", *following)

    def primary(self) -> Node:
        """A literal, a name, a call, or something in brackets."""
        token, at = self.token, self.at
        kind = token.kind
        node: Node = Broken(UNPLACED if kind == "'.'" else token.offset)
        try:
            if kind == "'-'" and self.after().kind not in ("NUM_INT", "NUM_FLOAT"):
                # Behind other signs only a number has one.
                self.no_alternative(self.after())
            if kind in _LITERALS or kind == "'-'":
                return self.literal()
            if kind == "IDENTIFIER" or kind == "'.'":
                return self.named()
            if kind == "'('":
                self.advance()
                with self.before("')'", *MEMBER):
                    node = self.expression()
                self.match("')'")
            elif kind == "'['":
                node = self.list_literal()
            elif kind == "'{'":
                node = self.map_literal()
            else:
                self.mismatch(EXPRESSION - {"'!'"})
        except Unexpected as error:
            bracket = self.tokens[min(at + (2 if kind == "'.'" else 1), len(self.tokens) - 1)]
            if kind in ("IDENTIFIER", "'.'") and bracket.kind == "'('" and self.token.offset > bracket.offset:
                node = Broken(bracket.offset)
            elif kind == "'{'":
                node = MapLiteral(token.offset, [])
            self.skip("primary", error, *MEMBER)
        return node

    def named(self) -> Node:
        """A name, a call of a function, or a struct literal; each with a leading dot or without."""
        first = self.token
        prefix = ""
        if first.kind == "'.'":
            if self.after().kind != "IDENTIFIER":
                self.no_alternative(self.after())
            self.advance()
            prefix = "."
        if self.begins_struct():
            names = [self.advance().text]
            while self.token.kind == "'.'":
                self.advance()
                names.append(self.advance().text)
            return self.struct_literal(prefix + ".".join(names))
        name = self.advance()
        reserved = name.text in RESERVED
        if reserved:
            self.issues.append(Issue(offset=first.offset, message=f"reserved identifier: {name.text}"))
        bracket = self.advance() if self.token.kind == "'('" else None
        issue_count = len(self.issues)
        arguments = self.arguments(*MEMBER)[0] if bracket is not None else []
        if reserved:
            self.forget_meanings(issue_count)
            return Broken(first.offset)
        if bracket is not None:
            return self.expand(bracket.offset, prefix + name.text, arguments, None)
        return Ident(name.offset, prefix + name.text)

    def begins_struct(self) -> bool:
        """Say whether the names from here on end in an opening brace."""
        at, tokens = self.at + 1, self.tokens
        while tokens[at].kind == "'.'" and tokens[at + 1].kind == "IDENTIFIER":
            at += 2
        return tokens[at].kind == "'{'"

    def literal(self) -> Node:
        token = self.token
        negative = token.kind == "'-'"
        if negative:
            self.advance()
        number = self.advance()
        try:
            value = read_literal(number, negative=negative)
        except LiteralError as error:
            self.issues.append(Issue(offset=token.offset, message=str(error)))
            value = None
        return Literal(token.offset, value)
