"""Rules of the parser for lists, maps and structs in brackets."""

from __future__ import annotations

from abc import abstractmethod

from orchd.cel.building import NodeBuilder
from orchd.cel.lex import Token
from orchd.cel.recovery import EXPRESSION, MEMBER, NAMES, Unexpected, is_syntax
from orchd.cel.source import Issue
from orchd.cel.syntax import Entry, Field, ListLiteral, MapLiteral, Node, StructLiteral


class LiteralReader(NodeBuilder):
    """Reads literals in brackets; the rules for what is in them are those of the parser."""

    @abstractmethod
    def expression(self) -> Node:
        """Read an expression."""

    @abstractmethod
    def selected_name(self, place: Token | None = None) -> str:
        """Read the name of a field."""

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
                    # After a key without a value only syntax errors are reported.
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
            self.expect(NAMES | {"'}'", "','", "'?'"})
            with self.before("'}'", "','", *MEMBER):
                first = self.token
                while self.token.kind in NAMES or self.token.kind == "'?'":
                    issue_count = len(self.issues)
                    optional = self.optional_mark()
                    with self.before("':'"):
                        field_name = self.selected_name(first)
                    colon = self.colon()
                    if colon is None:
                        self.forget_meanings(issue_count)
                        break
                    if not field_name:
                        self.issues.append(Issue(offset=first.offset, message="unsupported ident kind"))
                    fields.append(Field(colon.offset, field_name, self.expression(), optional))
                    if self.token.kind != "','" or not (self.after().kind in NAMES or self.after().kind == "'?'"):
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

    def forget_meanings(self, count: int) -> None:
        """Keep the first `count` issues, and of the later ones those of syntax: the expressions that the others are
        about are not evaluated."""
        self.issues[count:] = filter(is_syntax, self.issues[count:])
