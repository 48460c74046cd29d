"""The parser: text to syntax tree, by recursive descent, in time linear in the text.

A method is a rule, and each calls the next: `expression` (conditions), `alternatives` (|| and &&), `relation`,
`calculation`, `unary`, `member` (selections, calls, indexes), `primary` (names, literals, brackets). Macros are
expanded where they are called.

It is bounded: code points of the text, nesting of brackets, depth of chains of operators and selections, and the number
of repairs (`recovery`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from orchd.cel.lex import END, Token, scan
from orchd.cel.limits import deep
from orchd.cel.literals import LiteralError, read_literal
from orchd.cel.recovery import EXPRESSION, MAX_DEPTH, MEMBER, GiveUp, TokenReader, Unexpected, is_syntax
from orchd.cel.source import NOWHERE, UNPLACED, Issue, Source
from orchd.cel.syntax import (
    Broken,
    Call,
    Entry,
    Field,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    children,
)

#: The longest text, in code points.
MAX_TEXT = 100_000

RESERVED = frozenset(
    "as break const continue else false for function if import in let loop package namespace null return true var void while".split()
)

_RELATIONS = {"'<'": "_<_", "'<='": "_<=_", "'>='": "_>=_", "'>'": "_>_", "'=='": "_==_", "'!='": "_!=_", "'in'": "@in"}
_PRODUCTS = {"'*'": "_*_", "'/'": "_/_", "'%'": "_%_"}
_SUMS = {"'+'": "_+_", "'-'": "_-_"}
_LITERALS = frozenset("NUM_FLOAT NUM_INT NUM_UINT STRING BYTES 'true' 'false' 'null'".split())
_NAMES = frozenset(["IDENTIFIER", "ESC_IDENTIFIER"])
_COLON = frozenset(["':'"])
_QUESTION = frozenset(["'?'"])
_END = frozenset([END])
#: Rules whose nesting is counted.
_EXPRESSIONS, _RELATION, _CALCULATION = range(3)

#: Expands a macro: (call's offset, target or None, arguments) to the tree it stands for, None where it is no macro
#: after all.
Expander = Callable[[int, "Node | None", list[Node]], "Node | None"]


#: Macros that stand for expressions with their target twice: chains of them grow by powers of two.
_DOUBLING = frozenset(["optMap", "optFlatMap"])
#: Nodes that all calls of such macros in one expression may copy.
MAX_COPIED = 5_000


class MacroError(Exception):
    """The arguments of a macro do not fit it."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The parts of the grammar that depend on the environment: macros by (name, number of arguments, with a target),
    and the signs of optionals.
    """

    macros: Mapping[tuple[str, int, bool], Expander] = field(default_factory=dict)
    optionals: bool = True
    escaped_names: bool = False


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


class _Parser(TokenReader):
    """One run over the tokens of one expression."""

    def __init__(self, tokens: list[Token], grammar: Grammar, issues: list[Issue]) -> None:
        super().__init__(tokens, issues)
        self.grammar = grammar
        self.copied = 0

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

    def balance(self, function: str, terms: list[Node], offsets: list[int]) -> Node:
        """Make a tree of logarithmic height of the terms of a chain."""
        if not offsets:
            return terms[0]
        middle = len(offsets) // 2
        left = self.balance(function, terms[: middle + 1], offsets[:middle])
        right = self.balance(function, terms[middle + 1 :], offsets[middle + 1 :])
        return self.call(offsets[middle], function, [left, right])

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
        if following.kind not in _NAMES and following.kind != "'?'":
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
            self.expect(_NAMES)
            if self.token.kind not in _NAMES:
                raise Unexpected(_NAMES)
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
        known = len(self.issues)
        arguments = self.arguments(*MEMBER)[0] if bracket is not None else []
        if reserved:
            self.forget_meanings(known)
            return Broken(first.offset)
        if bracket is not None:
            return self.expand(bracket.offset, prefix + name.text, arguments, None)
        return Ident(name.offset, prefix + name.text)

    def forget_meanings(self, known: int) -> None:
        """Keep of the issues behind the first `known` those of syntax only: what they are about is not looked at."""
        self.issues[known:] = filter(is_syntax, self.issues[known:])

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

    def list_literal(self) -> Node:
        bracket = self.advance()
        elements: list[Node] = []
        optional: list[int] = []
        self.expect(EXPRESSION | {"']'", "','", "'?'"})
        with self.before("']'", "','", *MEMBER):
            while self.token.kind in EXPRESSION or self.token.kind == "'?'":
                if self.optional_mark():
                    optional.append(len(elements))
                elements.append(self.expression())
                if self.token.kind != "','" or not self.goes_on():
                    break
                self.advance()
        self.end_literal("']'")
        node = ListLiteral(bracket.offset, elements, frozenset(optional))
        node.depth = max((element.depth for element in elements), default=0)
        return node

    def map_literal(self) -> Node:
        brace = self.advance()
        entries: list[Entry] = []
        self.expect(EXPRESSION | {"'}'", "','", "'?'"})
        with self.before("'}'", "','", *MEMBER):
            while self.token.kind in EXPRESSION or self.token.kind == "'?'":
                optional = self.optional_mark()
                issue_count = len(self.issues)
                with self.before("':'"):
                    key = self.expression()
                colon = self.colon()
                if colon is None:
                    # Of a key without a value, only mistakes of syntax are told.
                    self.forget_meanings(issue_count)
                    break
                entries.append(Entry(colon.offset, key, self.expression(), optional))
                if self.token.kind != "','" or not self.goes_on():
                    break
                self.advance()
        self.end_literal("'}'")
        node = MapLiteral(brace.offset, entries)
        node.depth = max((max(entry.key.depth, entry.value.depth) for entry in entries), default=0)
        return node

    def struct_literal(self, name: str) -> Node:
        brace = self.advance()
        fields: list[Field] = []
        try:
            self.expect(_NAMES | {"'}'", "','", "'?'"})
            with self.before("'}'", "','", *MEMBER):
                first = self.token
                while self.token.kind in _NAMES or self.token.kind == "'?'":
                    known = len(self.issues)
                    optional = self.optional_mark()
                    with self.before("':'"):
                        field_name = self.selected_name(first)
                    colon = self.colon()
                    if colon is None:
                        self.forget_meanings(known)
                        break
                    if not field_name:
                        self.issues.append(Issue(offset=first.offset, message="unsupported ident kind"))
                    fields.append(Field(colon.offset, field_name, self.expression(), optional))
                    if self.token.kind != "','" or not (self.after().kind in _NAMES or self.after().kind == "'?'"):
                        break
                    self.advance()
            self.end_literal("'}'")
        except Unexpected as error:
            self.skip("struct_literal", error, *MEMBER)
        node = StructLiteral(brace.offset, name, fields)
        node.depth = max((field.value.depth for field in fields), default=0)
        return node

    def optional_mark(self) -> bool:
        if self.token.kind != "'?'":
            return False
        mark = self.advance()
        if not self.grammar.optionals:
            self.issues.append(Issue(offset=mark.offset, message="unsupported syntax '?'"))
        return True

    def colon(self) -> Token | None:
        token = self.token
        try:
            self.match("':'", EXPRESSION)
        except Unexpected as error:
            self.skip("colon", error)
            return None
        return token

    def goes_on(self) -> bool:
        """Say whether behind this comma comes another element, rather than the end."""
        following = self.after().kind
        return following in EXPRESSION or following == "'?'"

    def end_literal(self, bracket: str) -> None:
        """A comma, if there is one, and the end of a literal."""
        self.expect(frozenset([bracket, "','"]))
        if self.token.kind == "','":
            self.advance()
        self.match(bracket)

    # Nodes.

    def call(self, offset: int, function: str, args: list[Node], *, depth: int = 0) -> Node:
        node = Call(offset, function, args)
        node.depth = max(arg.depth for arg in args) + depth
        return node

    def expand(self, offset: int, function: str, args: list[Node], target: Node | None) -> Node:
        """Return the call of a function, or what the macro of this name stands for."""
        depth = max((arg.depth for arg in args), default=0)
        if target is not None:
            depth = max(depth, target.depth) + 1
        macros = self.grammar.macros
        key = (function, len(args), target is not None)
        expander = macros.get(key) or macros.get((function, -1, target is not None))
        node: Node | None = None
        if expander is not None:
            if target is not None and function in _DOUBLING:
                self.count_copied(offset, function, target)
            try:
                node = expander(offset, target, args)
            except MacroError as error:
                self.issues.append(Issue(offset=error.offset, message=str(error)))
                node = Broken(error.offset, macro=True)
        if node is None:
            node = Call(offset, function, args, target)
        node.depth = depth
        return node

    def count_copied(self, offset: int, macro: str, target: Node) -> None:
        """Count the nodes that a macro copies. Raises `GiveUp` when they are too many."""
        left = [target]
        while left:
            self.copied += 1
            if self.copied > MAX_COPIED:
                text = f"expression too large: {macro}() copies its target, at most {MAX_COPIED} nodes may be copied"
                self.issues.append(Issue(offset=offset, message=text))
                raise GiveUp
            left.extend(children(left.pop()))

    def broken(self, offset: int, message: str) -> Node:
        self.issues.append(Issue(offset=offset, message=message))
        return Broken(offset)
