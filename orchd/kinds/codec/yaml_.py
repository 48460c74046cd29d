"""YAML in and out, as the API reads it: YAML 1.1 booleans and numbers, dates stay text, keys become text, only the first
document counts. The parser's events are put together here without recursion, so that neither deep nesting nor aliases
that multiply can hurt.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, Final

import yaml

from orchd.kinds.bounds import MAX_VALUES
from orchd.kinds.digits import integer

#: Nesting above this is refused, as the reference's parser does; JSON has the same limit.
MAX_DEPTH: Final = 10_000

#: Brackets that are open, summed over all values: the C parser walks over them.
_MAX_WALKED: Final = 150_000_000

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
#: First characters of scalars that can be anything but text.
_HINTS: Final = frozenset("+-.0123456789yYnNtTfFoO~")


class YAMLError(ValueError):
    """Text that is not YAML, or cannot be JSON. The message begins with ``yaml: `` as the API's does."""


def resolve(text: str) -> Any:
    """The value of a plain scalar: None, bool, int, float, or the text itself."""
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
        # Number bases that are powers of two are read in linear time, however long.
        value = integer(digits or "0") if base == 10 else int(digits or "0", base)
        value = -value if plain[0] == "-" else value
        if -(1 << 63) <= value < 1 << 64:
            return value
    if _FLOAT.match(plain):
        return float(plain)
    return text


def decode(data: bytes) -> Any:
    """The first document as JSON data; None when there is none. Raises YAMLError."""
    try:
        return _Builder(data).document()
    except yaml.MarkedYAMLError as error:
        raise YAMLError(_message(error)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = getattr(error, "reason", "") or "unknown problem parsing YAML content"
        raise YAMLError(f"yaml: {reason}") from None


def duplicates(data: bytes) -> str:
    """What strict decoding says about keys that stand twice in one mapping of a document that `decode` takes: a heading,
    and a line for each. "" when there are none."""
    builder = _Watching(data)
    builder.document()
    return "\n  ".join(["yaml: unmarshal errors:", *builder.found]) if builder.found else ""


def _message(error: yaml.MarkedYAMLError) -> str:
    """``yaml: line N: problem``: the line is counted as the reference counts it, so it may be left out."""
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + (1 if isinstance(error, yaml.scanner.ScannerError) else 0)
    elif error.context_mark is not None and error.context_mark.line:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem or 'unknown problem parsing YAML content'}"


class _Open:
    """A collection that is being read."""

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
    """Puts the events of one document together. Sizes count what aliases would be written out as."""

    def __init__(self, data: bytes) -> None:
        self._loader: Any = yaml.CSafeLoader(data)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._stack: list[_Open] = []
        #: How many collections that are open have an anchor, and how many of them are in brackets.
        self._open_anchors: Counter[str] = Counter()
        self._open_flows = 0
        self._read = 0
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
        # The parser itself looks at every open bracket for each token.
        self._walked += self._open_flows
        if self._read + self._repeated > MAX_VALUES or self._walked > _MAX_WALKED:
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
            value = _merged(done)
            if done.anchor is not None:
                self._open_anchors[done.anchor] -= 1
                self._anchors[done.anchor] = (value, done.size)
            self._put(value, done.size)
        elif isinstance(event, yaml.DocumentEndEvent):
            self._done = True

    def _deepen(self, event: Any) -> None:
        """Nesting in brackets and by indentation have a limit each."""
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
        # The reference's rule: what aliases repeat may be nearly all of a small document, and a tenth of a big one.
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
        return _tagged(tag, text)


class _Watching(_Builder):
    """Notes keys that a mapping has already, as the reference does: by value before keys become text (1 is not "1"),
    when the value has been read, with the line where that begins."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.found: list[str] = []
        #: For each open collection the line where it begins, and for mappings the keys so far.
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
                    self.found.append(f"line {self._line + 1}: key {_shown(key)} already set in map")
                seen[place] = None
        super()._put(value, size)


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line


def _shown(key: Any) -> str:
    """A key as messages quote it."""
    if isinstance(key, dict):
        inner = ", ".join(f"{_shown(k)}:{_shown(v)}" for k, v in key.items())
        return f"map[interface {{}}]interface {{}}{{{inner}}}"
    if isinstance(key, list):
        return f"[]interface {{}}{{{', '.join(map(_shown, key))}}}"
    return json.dumps(key, ensure_ascii=False) if isinstance(key, str | bool) else str(key)


def _tagged(tag: str, text: str) -> Any:
    """A scalar with an explicit tag."""
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
    raise YAMLError(f"yaml: invalid map key: {_shown(value)}")


def _merged(done: _Open) -> Any:
    """The collection, with what ``<<`` keys bring in where it has no key of its own."""
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
    """Block style, no resolver of its own: what needs quotes is decided here."""

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


_Dumper.add_representer(str, _represent_str)
_Dumper.add_representer(bool, lambda dumper, value: _plain(dumper, "true" if value else "false"))
_Dumper.add_representer(int, lambda dumper, value: _plain(dumper, str(value)))
_Dumper.add_representer(float, _represent_float)
_Dumper.add_representer(type(None), lambda dumper, value: _plain(dumper, "null"))


def encode(value: Any) -> bytes:
    """A YAML document with sorted keys, as the body of an answer."""
    out: bytes = yaml.dump(
        value, Dumper=_Dumper, sort_keys=True, default_flow_style=False, allow_unicode=True, encoding="utf-8"
    )
    return out.removesuffix(b"...\n")
