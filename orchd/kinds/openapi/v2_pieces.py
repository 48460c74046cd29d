"""The OpenAPI v2 document of a catalog as encoded pieces, one per resource, in JSON and in protobuf.

A change of a custom kind affects a few of thousands of pieces: only those are encoded again; the others are cached in
compressed form.
The bytes are those of the whole document (`v2.document`) encoded at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from orchd.dialect import STOCK_GVK, Dialect
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.openapi import v2, v2_merge, v2_protobuf
from orchd.kinds.openapi.definitions import Definitions
from orchd.kinds.openapi.paths import Paths
from orchd.kinds.openapi.v2_merge import ForeignSpecification

Json = dict[str, Any]

JSON: Final = "json"
PROTOBUF: Final = "protobuf"
#: Pieces of the document in `DocumentPieces.assemble`: number of bytes per part.
_PART: Final = 128 << 10


@dataclass(frozen=True, slots=True)
class _Entries:
    """Members of one JSON object or protobuf map in one form: their names, lengths and concatenated compressed
    bytes."""

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    packed: bytes

    @classmethod
    def of(cls, encoded: Mapping[str, bytes]) -> _Entries:
        return cls(tuple(encoded), tuple(map(len, encoded.values())), zlib.compress(b"".join(encoded.values()), 1))

    def items(self) -> Iterator[tuple[str, memoryview]]:
        """(name, encoded entry) of every member."""
        content, begin = memoryview(zlib.decompress(self.packed)), 0
        for name, length in zip(self.names, self.lengths, strict=True):
            yield name, content[begin : begin + length]
            begin += length


#: Form and member of the document -> entries.
_Piece = dict[tuple[str, str], _Entries]


class DocumentPieces:
    """Encodes the documents of a server's successive catalogs and reuses unchanged pieces. Not thread-safe."""

    def __init__(self, dialect: Dialect) -> None:
        self._gvk = dialect("x-{long}-group-version-kind")
        self._binary = v2_protobuf.MapEntries()
        self._builtin: tuple[tuple[Resource, ...], _Piece] | None = None
        self._custom: dict[Resource, _Piece] = {}

    def assemble(self, catalog: Catalog, foreign: Sequence[ForeignSpecification] = ()) -> dict[str, Iterator[bytes]]:
        """Form -> the parts of the document of `catalog`, merged with those of aggregated servers; they must be read
        before the next call."""
        builtin = tuple(resource for resource in catalog.resources if not resource.custom)
        if self._builtin is None or self._builtin[0] != builtin:
            paths = Paths(catalog)
            path_items = {path: item for resource in builtin for path, item in paths.of(resource)}
            self._builtin = builtin, self._piece(path_items, Definitions(catalog).of(builtin))
            # Their pieces omit what those of the built-in resources contain.
            self._custom = {}
        kept: dict[Resource, _Piece] = {}
        for resource in catalog.resources:
            if resource.custom:
                piece = self._custom.get(resource)
                kept[resource] = self._custom_piece(catalog, resource, self._builtin[1]) if piece is None else piece
        self._custom = kept
        pieces = [self._piece(dict(Paths(catalog).roots()), {}), self._builtin[1], *kept.values()]
        if foreign:
            # In front: definitions with the kinds of other servers as well take the place of one's own.
            pieces.insert(0, self._foreign_piece(pieces, foreign))
        head = v2.frame(catalog)
        return {
            JSON: _parts(_json_document(head, _merge(pieces, JSON, v2.PATHS), _merge(pieces, JSON, v2.DEFINITIONS))),
            PROTOBUF: _parts(
                v2_protobuf.assemble(head, _merge(pieces, PROTOBUF, v2.PATHS), _merge(pieces, PROTOBUF, v2.DEFINITIONS))
            ),
        }

    def _custom_piece(self, catalog: Catalog, resource: Resource, builtin: _Piece) -> _Piece:
        there = frozenset(builtin[JSON, v2.DEFINITIONS].names)
        needed = Definitions(catalog).of([resource], always=False)
        return self._piece(
            dict(Paths(catalog).of(resource)), {name: schema for name, schema in needed.items() if name not in there}
        )

    def _foreign_piece(self, pieces: list[_Piece], foreign: Sequence[ForeignSpecification]) -> _Piece:
        paths = frozenset(name for piece in pieces for name in piece[JSON, v2.PATHS].names)
        entries = dict(_entries(pieces, JSON, v2.DEFINITIONS))

        def definition(name: str) -> Json | None:
            entry = entries.get(name)
            schema: Json | None = None if entry is None else orjson.loads(b"".join((b"{", entry, b"}")))[name]
            return schema

        additions = v2_merge.union(foreign, paths, definition)
        return self._piece(dict(additions.paths), dict(additions.definitions))

    def _piece(self, paths: Json, definitions: Json) -> _Piece:
        out: _Piece = {}
        for member, entries in ((v2.PATHS, paths), (v2.DEFINITIONS, definitions)):
            out[JSON, member] = _Entries.of(
                {name: b"%s:%s" % (orjson.dumps(name), orjson.dumps(value)) for name, value in entries.items()}
            )
            encode = self._binary.path if member == v2.PATHS else self._binary.definition
            find = self._findable_item if member == v2.PATHS else self._findable
            out[PROTOBUF, member] = _Entries.of({name: encode(name, find(value)) for name, value in entries.items()})
        return out

    def _findable(self, part: Any) -> Any:
        """`part` with the name of the kind extension that stock clients know, on definitions and operations: only they
        request the binary form."""
        if self._gvk == STOCK_GVK or not isinstance(part, dict) or self._gvk not in part:
            return part
        return {**part, STOCK_GVK: part[self._gvk]}

    def _findable_item(self, item: Json) -> Json:
        return {method: self._findable(part) for method, part in item.items()}


def _merge(pieces: Iterable[_Piece], form: str, member: str) -> list[memoryview]:
    """The entries of all pieces in the order of their names; the first of several with the same name."""
    entries = _entries(pieces, form, member)
    return [entries[name] for name in sorted(entries)]


def _entries(pieces: Iterable[_Piece], form: str, member: str) -> dict[str, memoryview]:
    entries: dict[str, memoryview] = {}
    for piece in pieces:
        for name, entry in piece[form, member].items():
            entries.setdefault(name, entry)
    return entries


def _json_document(head: Json, paths: list[memoryview], definitions: list[memoryview]) -> Iterator[bytes | memoryview]:
    inside = {v2.PATHS: paths, v2.DEFINITIONS: definitions}
    before = b"{"
    for name, value in head.items():
        yield before + orjson.dumps(name) + b":"
        before = b","
        if name not in inside:
            yield orjson.dumps(value)
            continue
        yield b"{"
        for number, entry in enumerate(inside[name]):
            if number:
                yield b","
            yield entry
        yield b"}"
    yield b"}"


def _parts(chunks: Iterable[bytes | memoryview]) -> Iterator[bytes]:
    """`chunks` joined to larger parts, which saves calls."""
    waiting: list[bytes | memoryview] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= _PART:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
