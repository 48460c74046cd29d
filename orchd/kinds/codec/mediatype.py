"""Which form an answer takes, and in which form a body came: Accept and Content-Type (RFC 9110, sections 8.3 and 12.5).

Parameters of an Accept clause ask for another representation of the same resource: ``as``, ``g`` and ``v`` for Table
or PartialObjectMetadata, ``stream=watch``, ``pretty=1``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from orchd import errors
from orchd.dialect import STOCK_META_GROUP, STOCK_PROTOBUF, Dialect
from orchd.kinds.shorttexts import remember_short

JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE: Final = re.compile(rf"\s*({_TOKEN}(?:/{_TOKEN})?)\s*(.*)\Z", re.S)
_PARAMETER: Final = re.compile(rf";\s*{_TOKEN}\s*=\s*(?:{_TOKEN}|\"(?:[^\"\\]|\\.)*\")\s*")


class Form(Enum):
    """How a value is written."""

    JSON = "json"
    YAML = "yaml"
    PROTOBUF = "protobuf"


@dataclass(frozen=True, slots=True)
class Clause:
    """One element of an Accept header."""

    type: str
    subtype: str
    quality: float
    parameters: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Negotiated:
    """The form of an answer. `as_` is "" for the object itself, else Table, PartialObjectMetadata(List) in
    `group`/`version`. `content_type` is what Content-Type says; `pretty` is asked for by the Accept header."""

    form: Form
    content_type: str
    as_: str = ""
    group: str = ""
    version: str = ""
    stream: str = ""
    pretty: bool = False

    @property
    def api_version(self) -> str:
        """apiVersion of the representation asked for, "" for the object itself."""
        return f"{self.group}/{self.version}" if self.as_ else ""


def media_types(dialect: Dialect) -> tuple[str, ...]:
    """What resources are served in and taken in, in order of preference."""
    return JSON_TYPE, YAML_TYPE, dialect.protobuf


def _forms(dialect: Dialect) -> tuple[tuple[str, Form], ...]:
    return (JSON_TYPE, Form.JSON), (YAML_TYPE, Form.YAML), (dialect.protobuf, Form.PROTOBUF)


#: How many clauses of an Accept header count, and parameters of each: the order of preference takes quadratic time.
_MAX_CLAUSES: Final = 64


@remember_short(512)
def parse_accept(header: str) -> tuple[Clause, ...]:
    """The clauses of an Accept header, best first. What cannot be read is left out; a quality that is no number is 0."""
    out: list[Clause] = []
    for part in header.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]:
        name, *parameters = part.strip().split(";", _MAX_CLAUSES)[: _MAX_CLAUSES + 1]
        pieces = name.split("/")
        kind = pieces[0].strip()
        if len(pieces) == 1 and kind == "*":
            pieces.append("*")
        if len(pieces) != 2:
            continue
        quality, known = 1.0, {}
        for parameter in parameters:
            key, equals, value = parameter.partition("=")
            if not equals or not value or "=" in value:
                continue
            if key.strip() == "q":
                quality = _quality(value)
            else:
                known[key.strip()] = value.strip()
        out.append(Clause(kind, pieces[1].strip(), quality, tuple(known.items())))
    # The reference sorts by insertion with an order that is not total, so its algorithm is part of the answer.
    for end in range(1, len(out)):
        for at in range(end, 0, -1):
            if not _before(out[at], out[at - 1]):
                break
            out[at], out[at - 1] = out[at - 1], out[at]
    return tuple(out)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _before(a: Clause, b: Clause) -> bool:
    return a.quality > b.quality or (a.type != "*" and b.type == "*") or (a.subtype != "*" and b.subtype == "*")


def check_route(accept: str, produced: tuple[str, ...]) -> None:
    """The first gate of every path: does any clause name a type that the path can produce? Exact names and ``*/*`` only.

    Raises ApiError 406."""
    for part in (accept or "*/*").split(","):
        name = part.partition(";")[0].strip()
        if name == "*/*" or name in produced:
            return
    raise errors.ApiError(406, "NotAcceptable", "406: Not Acceptable", details={})


@remember_short(1024)
def negotiate(
    accept: str, *, dialect: Dialect, table: bool = True, partial: bool = True, watch: bool = False,
    protobuf: bool = True,
) -> Negotiated:
    """The form for an Accept header ("" without one). Raises ApiError 406 naming what would be accepted.

    `table` and `partial` say whether the endpoint offers those representations, `watch` whether it streams events,
    `protobuf` whether its objects have that form themselves; their metadata always has.
    """
    check_route(accept, media_types(dialect))
    forms = _forms(dialect)
    found = _best(accept, forms, dialect, table=table, partial=partial, whole=protobuf)
    if found is None:
        raise errors.not_acceptable(name for name, _ in forms)
    if watch and found.form is Form.YAML:
        # There is such a form, but not for events.
        raise errors.not_acceptable(f"{name};stream=watch" for name, form in forms if form is not Form.YAML)
    return _streaming(found) if watch and found.form is Form.PROTOBUF else found


def _streaming(found: Negotiated) -> Negotiated:
    return Negotiated(
        form=found.form, content_type=found.content_type + ";stream=watch", as_=found.as_, group=found.group,
        version=found.version, stream="watch", pretty=found.pretty,
    )


@remember_short(1024)
def negotiate_error(accept: str, *, dialect: Dialect) -> Negotiated:
    """The form of a Status: as asked for where that is possible, else indented JSON; an error is never hidden behind 406."""
    found = _best(accept, _forms(dialect), dialect, table=False, partial=False)
    return found or Negotiated(form=Form.JSON, content_type=JSON_TYPE, pretty=True)


def _best(
    accept: str, forms: tuple[tuple[str, Form], ...], dialect: Dialect, *, table: bool, partial: bool, whole: bool = True
) -> Negotiated | None:
    """The best that the clauses leave; `whole` says whether objects themselves have a protobuf form."""
    if not accept:
        return Negotiated(form=forms[0][1], content_type=forms[0][0])
    for clause in parse_accept(accept):
        for name, form in forms:
            kind, _, subtype = name.partition("/")
            if (clause.type, clause.subtype) not in ((kind, subtype), (kind, "*"), ("*", "*")):
                continue
            offered = _offered(clause, name, form, dialect, table=table, partial=partial)
            if offered is not None and (whole or offered.as_ or form is not Form.PROTOBUF):
                return offered
    return None


def _offered(clause: Clause, name: str, form: Form, dialect: Dialect, *, table: bool, partial: bool) -> Negotiated | None:
    """What `form` is for the clause's parameters, None when they ask for what it cannot be."""
    asked = dict(clause.parameters)
    stream = asked.get("stream", "")
    if stream and (stream != "watch" or form is Form.YAML):
        return None
    if asked.get("sv", "") not in ("", "v1"):
        return None
    as_, group, version = asked.get("as", ""), asked.get("g", ""), asked.get("v", "")
    if as_ or group or version:
        # Stock clients ask for tables under the name that they know; the answer carries the name that was asked for.
        if group not in (dialect.meta_group, STOCK_META_GROUP) or version not in ("v1", "v1beta1"):
            return None
        if as_ == "Table":
            if not table or form is Form.PROTOBUF:
                return None
        elif as_ not in ("PartialObjectMetadata", "PartialObjectMetadataList") or not partial:
            return None
    return Negotiated(
        form=form, content_type=name, as_=as_, group=group, version=version, stream=stream,
        pretty=asked.get("pretty") == "1",
    )


def wants_pretty(parameter: str, user_agent: str) -> bool:
    """Is an indented answer wanted? `parameter` is the value of ``?pretty``; without one, people's clients get it."""
    if parameter:
        return parameter in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def parse_content_type(header: str) -> str:
    """The media type of a Content-Type header in lower case, "" when the header cannot be read."""
    match = _MEDIA_TYPE.match(header)
    if match is None:
        return ""
    rest = match.group(2).rstrip("; \t")
    at = 0
    while at < len(rest):
        parameter = _PARAMETER.match(rest, at)
        if parameter is None:
            return ""
        at = parameter.end()
    return match.group(1).lower()


@remember_short(256)
def body_form(content_type: str, *, dialect: Dialect) -> Form:
    """The form of a request body; JSON when the header is missing (""). Raises ApiError 415.

    Stock clients write core kinds in protobuf whatever server they talk to. Those bytes are the same in both dialects
    and the names inside them are checked as always, so only the label of the other dialect has to be known.
    """
    if not content_type:
        return Form.JSON
    name = parse_content_type(content_type)
    for known, form in (*_forms(dialect), (STOCK_PROTOBUF, Form.PROTOBUF)):
        if name == known:
            return form
    raise errors.unsupported_media_type(media_types(dialect))


def patch_type(content_type: str, *, custom: bool = False) -> str:
    """The media type of a patch. Raises ApiError 415; custom kinds have no strategic merge patch."""
    for part in content_type.split(","):
        name = part.partition(";")[0].strip()
        if name in PATCH_TYPES:
            if custom and name == STRATEGIC_PATCH:
                raise errors.unsupported_media_type((JSON_PATCH, MERGE_PATCH, APPLY_PATCH))
            return name
    raise errors.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
