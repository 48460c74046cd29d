"""YAML encoding and decoding with the rules of the API: YAML 1.1 booleans and numbers; dates remain strings; keys
become strings; only the first document is read. Values are built from parser events without recursion and with limits,
so that deep nesting and multiplying aliases are harmless.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson
import yaml

from orchd.kinds.bounds import MAX_VALUES
from orchd.kinds.codec import yaml_json
from orchd.kinds.codec.yaml_keys import in_order
from orchd.kinds.digits import integer

#: Maximum nesting depth, as in the reference's parser; JSON has the same limit.
MAX_DEPTH: Final = 10_000

#: Maximum of open brackets summed over all tokens: the C parser iterates over them.
_MAX_WALKED: Final = 150_000_000

#: Bytes of JSON of a part of a value that is encoded at once, and the depth to which larger values are taken apart.
_PIECE: Final = 16 * 1024
_PIECE_LEVELS: Final = 12

_STR: Final = "tag:yaml.org,2002:str"
_BOOLS: Final = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_SPECIAL: Final = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)\Z")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?\Z", re.S)
_BASE60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
#: First characters of scalars that may resolve to something other than a string.
_HINTS: Final = frozenset("+-.0123456789yYnNtTfFoO~")


#: Characters that are drawn as nothing (Default_Ignorable_Code_Point of Unicode, and interlinear annotations), among
#: them the marks, overrides and isolates of the direction of writing. The library escapes other controls. Joiners and
#: variation selectors belong to the character before them in other scripts and in emoji.
_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SEEN: Final = f"[^\\x00-\\x7f{_IGNORABLE}]"
_JOINERS: Final = "[\u200c\u200d\ufe0e\ufe0f]"
_UNSEEN: Final = re.compile(f"[{_IGNORABLE}](?<!{_SEEN}{_JOINERS})(?<!{_SEEN}\ufe0f{_JOINERS})")


#: JSON writes whole numbers from here on with an exponent.
_MOST_PLAIN: Final = 1e21


class YAMLError(ValueError):
    """Invalid YAML, or YAML without a JSON equivalent. The message begins with ``yaml: ``, as in the API."""


def resolve(text: str) -> Any:
    """Resolve a plain scalar to None, bool, int, float or str."""
    if text in _NULLS:
        return None
    if text[0] not in _HINTS:
        return text
    if text in _BOOLS:
        return _BOOLS[text]
    if text in _SPECIAL:
        return _SPECIAL[text]
    if text[0] in "+-.0123456789":
        return _number(text)
    return text


def _number(text: str) -> Any:
    plain = text.replace("_", "")
    if _INTEGER.match(plain):
        digits = plain.lstrip("+-")
        base = 10
        if digits[:1] == "0" and len(digits) > 1:
            base = {"x": 16, "b": 2, "o": 8}.get(digits[1].lower(), 8)
            digits = digits[2:] if digits[1] in "xXbBoO" else digits[1:]
        # Bases that are powers of two are parsed in linear time.
        value = integer(digits or "0") if base == 10 else int(digits or "0", base)
        value = -value if plain[0] == "-" else value
        if -(1 << 63) <= value < 1 << 64:
            return value
    if _FLOAT.match(plain):
        number = float(plain)
        # As JSON writes it: a whole number is no fraction.
        return int(number) if number.is_integer() and abs(number) < _MOST_PLAIN else number
    return text


def decode(data: bytes) -> Any:
    """Decode the first document to JSON data; None for a stream without documents. Raises YAMLError."""
    obj = yaml_json.decode_object(data)
    if obj is not None:
        return obj
    return _document(_Builder(data))


def decode_edited(data: bytes) -> Any:
    """Decode a text that a person has edited, whose value is shown and sent as JSON; None for an empty one.

    Raises YAMLError, with the line, also for what would be lost or multiplied: duplicate keys, further documents,
    aliases.
    """
    builder = _Edited(data)
    value = _document(builder)
    if builder.duplicates:
        raise YAMLError(f"yaml: {builder.duplicates[0]}")
    return value


def _document(builder: _Builder) -> Any:
    """The builder's value. Raises YAMLError."""
    try:
        return builder.document()
    except yaml.MarkedYAMLError as error:
        raise YAMLError(_message(error)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = getattr(error, "reason", "") or "unknown problem parsing YAML content"
        raise YAMLError(f"yaml: {reason}") from None


def duplicates(data: bytes, *, whole: bool = False) -> str:
    """The strict decoding error about duplicate keys in a document that `decode` accepts: a heading and a line per key.

    "" if there are none. With `whole`, raises YAMLError for what `decode` has not read: another document, or an invalid
    text, after the first.
    """
    builder = _Whole(data) if whole else _Watching(data)
    _document(builder)
    return "\n  ".join(["yaml: unmarshal errors:", *builder.duplicates]) if builder.duplicates else ""


def _message(error: yaml.MarkedYAMLError) -> str:
    """Format an error as ``yaml: line N: problem``. The line is counted like in the reference, and may be absent."""
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + (1 if isinstance(error, yaml.scanner.ScannerError) else 0)
    elif error.context_mark is not None and error.context_mark.line:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem or 'unknown problem parsing YAML content'}"


class _Open:
    """A collection under construction."""

    __slots__ = ("anchor", "flow", "key", "merges", "size", "value", "wants_key")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None, flow: bool) -> None:
        self.value = value
        self.anchor = anchor
        self.flow = flow
        self.wants_key = isinstance(value, dict)
        self.key: Any = None
        self.size = 1
        self.merges: list[Any] = []


_MERGE: Final = object()


class _Builder:
    """Builds the value of one document from parser events. Sizes include expanded aliases."""

    def __init__(self, data: bytes) -> None:
        self._loader: Any = yaml.CSafeLoader(data)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._stack: list[_Open] = []
        #: Number of open collections with an anchor, and number of open flow collections.
        self._open_anchors: Counter[str] = Counter()
        self._open_flows = 0
        #: Number of scalars and collections read, and how many of them are keys.
        self._read = 0
        self._keys_read = 0
        self._walked = 0
        self._repeated = 0
        self._done = False
        self._value: Any = None

    def document(self) -> Any:
        try:
            while not self._done:
                event = self._loader.get_event()
                if event is None or isinstance(event, yaml.StreamEndEvent):
                    break
                self._take(event)
            return self._value
        finally:
            self._loader.dispose()

    def _take(self, event: Any) -> None:
        # The parser iterates over all open brackets for each token.
        self._walked += self._open_flows
        if self._read - self._keys_read + self._repeated > MAX_VALUES or self._walked > _MAX_WALKED:
            raise YAMLError(f"yaml: document holds more than {MAX_VALUES} values, or is too deep for their number")
        if isinstance(event, yaml.ScalarEvent):
            self._read += 1
            value = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = (value, 1)
            self._put(value, 1)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._read += 1
            self._deepen(event)
            is_map = isinstance(event, yaml.MappingStartEvent)
            if event.anchor is not None:
                self._anchors.pop(event.anchor, None)
                self._open_anchors[event.anchor] += 1
            self._open_flows += bool(event.flow_style)
            self._stack.append(_Open({} if is_map else [], event.anchor, bool(event.flow_style)))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done = self._stack.pop()
            self._open_flows -= done.flow
            value = _merge_keys(done)
            if done.anchor is not None:
                self._open_anchors[done.anchor] -= 1
                self._anchors[done.anchor] = (value, done.size)
            self._put(value, done.size)
        elif isinstance(event, yaml.DocumentEndEvent):
            self._done = True

    def _deepen(self, event: Any) -> None:
        """Count a level of nesting. Flow and block collections have a limit each."""
        if len(self._stack) < MAX_DEPTH:
            return
        if (self._open_flows if event.flow_style else len(self._stack) - self._open_flows) >= MAX_DEPTH:
            line = _line(event)
            where = f"line {line + 1}: " if line else ""
            raise YAMLError(f"yaml: {where}exceeded max depth of {MAX_DEPTH}")

    def _alias(self, event: Any) -> None:
        if self._open_anchors[event.anchor]:
            raise YAMLError(f"yaml: anchor '{event.anchor}' value contains itself")
        if event.anchor not in self._anchors:
            raise YAMLError(f"yaml: unknown anchor '{event.anchor}' referenced")
        value, size = self._anchors[event.anchor]
        self._repeated += size
        # The reference's rule: aliases may make up nearly all of a small document, and a tenth of a large one.
        total = self._read + self._repeated
        if self._repeated > 100 and total > 1000 and self._repeated > total * _allowed(total):
            raise YAMLError("yaml: document contains excessive aliasing")
        self._put(value, size)

    def _put(self, value: Any, size: int) -> None:
        if not self._stack:
            self._value = value
            return
        top = self._stack[-1]
        top.size += size
        if isinstance(top.value, list):
            top.value.append(None if value is _MERGE else value)
        elif top.wants_key:
            self._keys_read += 1
            top.key = value if value is _MERGE else _key(value)
            top.wants_key = False
        else:
            if top.key is _MERGE:
                top.merges.append(value)
            else:
                top.value[top.key] = _jsonable(value)
            top.wants_key = True

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        tag: str | None = event.tag
        if tag in (None, "!") and (event.style is None or event.style == ""):
            if text == "<<" and self._stack and self._stack[-1].wants_key:
                return _MERGE
            value = resolve(text) if tag is None else text
            return value if self._stack and self._stack[-1].wants_key else _jsonable(value)
        if tag is None or tag in ("!", _STR):
            return text
        return _resolve_tagged(tag, text)


class _Watching(_Builder):
    """Records duplicate keys like the reference: compared before keys become strings (1 is not "1"), after their value
    has been read, with the line at which the value begins."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.duplicates: list[str] = []
        #: For each open collection, its first line, and for mappings, the keys so far.
        self._opened: list[tuple[int, dict[tuple[type, Any], None]]] = []
        self._keys: list[Any] = []
        self._line = 0

    def _take(self, event: Any) -> None:
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._opened.append((_line(event), {}))
            self._keys.append(None)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._line = self._opened.pop()[0]
            self._keys.pop()
        elif isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
            self._line = _line(event)
        super()._take(event)

    def _put(self, value: Any, size: int) -> None:
        if self._stack and isinstance(self._stack[-1].value, dict):
            if self._stack[-1].wants_key:
                self._keys[-1] = value
            elif isinstance(key := self._keys[-1], str | int | float):
                seen, place = self._opened[-1][1], (type(key), key)
                if place in seen:
                    self.duplicates.append(f"line {self._line + 1}: key {_format(key)} already set in map")
                seen[place] = None
        super()._put(value, size)


class _Whole(_Watching):
    """Reads the whole stream: the end of the first document is not the end."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._documents = 0

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise YAMLError(f"yaml: line {_line(event) + 1}: more than one document")
        elif not isinstance(event, yaml.DocumentEndEvent):
            super()._take(event)


class _Edited(_Whole):
    """Refuses aliases."""

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise YAMLError(f"yaml: line {_line(event) + 1}: aliases are not supported here")
        super()._take(event)


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line


def _format(key: Any) -> str:
    """Format a key for messages."""
    if isinstance(key, dict):
        inner = ", ".join(f"{_format(k)}:{_format(v)}" for k, v in key.items())
        return f"map[interface {{}}]interface {{}}{{{inner}}}"
    if isinstance(key, list):
        return f"[]interface {{}}{{{', '.join(map(_format, key))}}}"
    return json.dumps(key, ensure_ascii=False) if isinstance(key, str | bool) else str(key)


def _resolve_tagged(tag: str, text: str) -> Any:
    """Resolve a scalar with an explicit tag."""
    short = tag.removeprefix("tag:yaml.org,2002:")
    value = resolve(text)
    types: dict[str, Any] = {"bool": bool, "int": int, "float": (int, float), "null": type(None)}
    fits = types.get(short)
    if fits is None:
        return text
    if not isinstance(value, fits) or (short in ("int", "float") and isinstance(value, bool)):
        raise YAMLError(f"yaml: cannot decode !!str `{text}` as a !!{short}")
    return _jsonable(value)


def _jsonable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise YAMLError(f"json: unsupported value: {'NaN' if math.isnan(value) else '+Inf' if value > 0 else '-Inf'}")
    return None if value is _MERGE else value


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return f"{value:g}"
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if value is None:
        raise YAMLError("Unsupported map key of type: %!s(<nil>), key: <nil>")
    raise YAMLError(f"yaml: invalid map key: {_format(value)}")


def _merge_keys(done: _Open) -> Any:
    """A finished collection, with merged ``<<`` mappings; its own keys take precedence."""
    if not done.merges:
        return done.value
    assert isinstance(done.value, dict)
    out: dict[str, Any] = {}
    for merge in done.merges:
        for part in reversed(merge) if isinstance(merge, list) else (merge,):
            if not isinstance(part, dict):
                raise YAMLError("yaml: map merge requires map or sequence of maps as the value")
            out.update(part)
    out.update(done.value)
    return out


def _allowed(total: int) -> float:
    if total <= 400_000:
        return 0.99
    if total >= 4_000_000:
        return 0.10
    return 0.99 - 0.89 * (total - 400_000) / 3_600_000


class _Dumper(yaml.CSafeDumper):
    """Writes block style. Quoting is decided here, not by a resolver."""

    yaml_implicit_resolvers: Final = {}  # type: ignore[misc]  # a class attribute of the base, emptied on purpose

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _plain(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(_STR, text)


def _represent_str(dumper: Any, text: str) -> Any:
    if "\n" in text:
        return dumper.represent_scalar(_STR, text, style="|")
    if not isinstance(resolve(text), str) or _DATE.match(text) or _BASE60.match(text) or text in ("<<", "="):
        return dumper.represent_scalar(_STR, text, style='"')
    return dumper.represent_scalar(_STR, text)


def _represent_float(dumper: Any, value: float) -> Any:
    return _plain(dumper, str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value))


def _represent_dict(dumper: Any, value: dict[str, Any]) -> Any:
    members = in_order(value) if dumper.sort_keys else list(value.items())
    return dumper.represent_mapping("tag:yaml.org,2002:map", members)


_Dumper.add_representer(str, _represent_str)
_Dumper.add_representer(dict, _represent_dict)
_Dumper.add_representer(bool, lambda dumper, value: _plain(dumper, "true" if value else "false"))
_Dumper.add_representer(int, lambda dumper, value: _plain(dumper, str(value)))
_Dumper.add_representer(float, _represent_float)
_Dumper.add_representer(type(None), lambda dumper, value: _plain(dumper, "null"))


class _EditedDumper(_Dumper):
    """Strings with characters that are not seen are in double quotes, where `encode_edited` can replace them."""


def _represent_edited(dumper: Any, text: str) -> Any:
    if _UNSEEN.search(text):
        return dumper.represent_scalar(_STR, text, style='"')
    return _represent_str(dumper, text)


_EditedDumper.add_representer(str, _represent_edited)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Style:
    """`width`: columns after which a text is continued on the next line; -1 for no limit."""

    dumper: type[_Dumper]
    is_sorted: bool
    width: int


_STYLE: Final = _Style(dumper=_Dumper, is_sorted=True, width=80)
_EDITED: Final = _Style(dumper=_EditedDumper, is_sorted=False, width=-1)


def encode(value: Any) -> bytes:
    """Encode a value as a YAML document with sorted keys, for a response body.

    A large value is encoded in pieces: the C library does not let other threads run before it is done with one."""
    return _pieces(value, _PIECE_LEVELS, _STYLE)


def encode_edited(value: Any) -> bytes:
    """Encode a value as a YAML document that people read and edit: keys in their order, no line continued, and
    characters that are not seen or change the direction of writing as escapes. In pieces, as `encode`."""
    text = _pieces(value, _PIECE_LEVELS, _EDITED).decode()
    return _UNSEEN.sub(_escape, text).encode()


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _dump(value: Any, style: _Style) -> bytes:
    out: bytes = yaml.dump(
        value,
        Dumper=style.dumper,
        sort_keys=style.is_sorted,
        width=style.width,
        default_flow_style=False,
        allow_unicode=True,
        encoding="utf-8",
    )
    return out.removesuffix(b"...\n")


def _size(value: Any) -> int:
    return len(orjson.dumps(value)) if value.__class__ in (dict, list) else 0


def _pieces(value: Any, levels: int, style: _Style) -> bytes:
    """The text of a value, with parts above `_PIECE` bytes encoded separately, down to this many levels."""
    if not levels or value.__class__ not in (dict, list) or not value or _size(value) <= _PIECE:
        return _dump(value, style)
    mapping = value.__class__ is dict
    out: list[bytes] = []
    together: list[Any] = []
    taken = 0

    def dump() -> None:
        nonlocal taken
        if together:
            out.append(_dump(dict(together) if mapping else list(together), style))
            together.clear()
        taken = 0

    parts: Iterable[Any] = value
    if isinstance(value, dict):
        parts = in_order(value) if style.is_sorted else value.items()
    for part in parts:
        inner = part[1] if mapping else part
        size = _size(inner) if inner.__class__ in (dict, list) else len(inner) if inner.__class__ is str else 0
        if size > _PIECE and inner.__class__ in (dict, list):
            dump()
            below = _pieces(inner, levels - 1, style)
            if mapping:
                out.append(_dump({part[0]: None}, style).removesuffix(b" null\n") + b"\n")
                # Sequences in mappings are not indented.
                out.append(below if inner.__class__ is list else _indent(b"  ", below))
            else:
                out.append(_indent(b"- ", below))
            continue
        together.append(part)
        taken += size + 16
        if taken > _PIECE:
            dump()
    dump()
    return b"".join(out)


def _indent(first: bytes, text: bytes) -> bytes:
    """Lines of a block, below a key or an item."""
    return first + text[:-1].replace(b"\n", b"\n  ") + b"\n"
