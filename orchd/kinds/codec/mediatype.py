"""Content negotiation: Accept and Content-Type (RFC 9110, sections 8.3 and 12.5).

Parameters of an Accept clause select another representation of the same resource: ``as``, ``g`` and ``v`` for Table
or PartialObjectMetadata, ``stream=watch``, ``pretty=1``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from orchd import errors
from orchd.dialect import STOCK_DISCOVERY_GROUP, STOCK_META_GROUP, STOCK_PROTOBUF, Dialect
from orchd.kinds.release import SPECIFICATION, Release
from orchd.kinds.shorttexts import remember_short

JSON_TYPE: Final = "application/json"
YAML_TYPE: Final = "application/yaml"

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)

#: How errors begin of requests whose media types no route of the reference accepts.
UNROUTED: Final = ("406: Not Acceptable", "415: Unsupported Media Type")

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE: Final = re.compile(rf"\s*({_TOKEN}(?:/{_TOKEN})?)\s*(.*)\Z", re.S)
_PARAMETER: Final = re.compile(rf";\s*{_TOKEN}\s*=\s*(?:{_TOKEN}|\"(?:[^\"\\]|\\.)*\")\s*")


class Form(Enum):
    """An encoding of values."""

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
    """The negotiated representation of a response. `as_` is "" for the object itself, else Table or
    PartialObjectMetadata(List) in `group`/`version`. `content_type` is the value of Content-Type; `pretty` was
    requested by the Accept header."""

    form: Form
    content_type: str
    as_: str = ""
    group: str = ""
    version: str = ""
    stream: str = ""
    pretty: bool = False

    @property
    def api_version(self) -> str:
        """apiVersion of the requested representation, "" for the object itself."""
        return f"{self.group}/{self.version}" if self.as_ else ""


def media_types(dialect: Dialect) -> tuple[str, ...]:
    """Media types of requests and responses, in order of preference."""
    return JSON_TYPE, YAML_TYPE, dialect.protobuf


def _streams(dialect: Dialect) -> tuple[str, ...]:
    """Media types of events."""
    return tuple(f"{name};stream=watch" for name in (JSON_TYPE, dialect.protobuf))


def _forms(dialect: Dialect) -> tuple[tuple[str, Form], ...]:
    return (JSON_TYPE, Form.JSON), (YAML_TYPE, Form.YAML), (dialect.protobuf, Form.PROTOBUF)


#: Maximum number of clauses of an Accept header, and of parameters per clause: sorting takes quadratic time.
_MAX_CLAUSES: Final = 64


@remember_short(512)
def parse_accept(header: str) -> tuple[Clause, ...]:
    """The clauses of an Accept header, most preferred first. Malformed clauses are skipped; a malformed quality is
    0."""
    out: list[Clause] = []
    for part in header.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]:
        name, *parameters = part.strip().split(";", _MAX_CLAUSES)[: _MAX_CLAUSES + 1]
        pieces = name.split("/")
        kind = pieces[0].strip()
        if len(pieces) == 1 and kind == "*":
            pieces.append("*")
        if len(pieces) != 2:
            continue
        quality, pairs = 1.0, {}
        for parameter in parameters:
            key, equals, value = parameter.partition("=")
            if not equals or not value or "=" in value:
                continue
            if key.strip() == "q":
                quality = _quality(value)
            else:
                pairs[key.strip()] = value.strip()
        out.append(Clause(kind, pieces[1].strip(), quality, tuple(pairs.items())))
    # The reference uses insertion sort with a non-total order, so the algorithm determines the result.
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


def _unlisted(produced: tuple[str, ...]) -> str:
    return UNROUTED[0]


def _listed(produced: tuple[str, ...]) -> str:
    return f"{UNROUTED[0]}\n\nAvailable representations: " + ", ".join(produced)


def check_route(accept: str, produced: tuple[str, ...], release: Release = SPECIFICATION) -> None:
    """Raise ApiError 406 unless a clause names a media type that the path can produce.

    The first check of every path, which only considers exact names and ``*/*``.
    """
    for part in (accept or "*/*").split(","):
        name = part.partition(";")[0].strip()
        if name == "*/*" or name in produced:
            return
    message = release.choose((("", _unlisted), ("1.26", _listed)))
    raise errors.ApiError(406, "NotAcceptable", message(produced), details={})


def check_listed(accept: str, produced: tuple[str, ...]) -> None:
    """As `check_route`, for the paths of all groups and of one, which are no routes in the reference: their error is
    another."""
    try:
        check_route(accept, produced)
    except errors.ApiError:
        raise errors.not_acceptable(produced) from None


@remember_short(1024)
def negotiate(
    accept: str,
    *,
    dialect: Dialect,
    table: bool = True,
    partial: bool = True,
    watch: bool = False,
    streams: bool = False,
    custom: bool = False,
    release: Release = SPECIFICATION,
) -> Negotiated:
    """Negotiate the representation for an Accept header ("" without one). Raises ApiError 406, in the words of
    `release`.

    `table` and `partial`: the endpoint offers these representations. `watch`: it streams events, `streams`: or its path
    can. `custom`: its objects have no protobuf encoding, but their metadata has one; its path is no route in the
    reference, so that the error for other media types is another.
    """
    if not custom:
        check_route(accept, (*media_types(dialect), *(_streams(dialect) if streams else ())), release)
    forms = _forms(dialect)
    negotiated = _best(accept, forms, dialect, table=table, partial=partial, whole=not custom)
    if negotiated is None:
        raise errors.not_acceptable(name for name, _ in forms)
    if watch and negotiated.form is Form.YAML:
        # The encoding exists, but not for events.
        raise errors.not_acceptable(f"{name};stream=watch" for name, form in forms if form is not Form.YAML)
    return _streaming(negotiated) if watch and negotiated.form is Form.PROTOBUF else negotiated


@remember_short(256)
def negotiate_aggregated(accept: str, *, dialect: Dialect) -> Negotiated | None:
    """The form of aggregated discovery that an Accept header prefers; None when it names none, so that the unaggregated
    document is the response."""
    groups = (dialect("apidiscovery.{abbr}.io"), STOCK_DISCOVERY_GROUP)
    for clause in parse_accept(accept):
        asked = dict(clause.parameters)
        group, version, as_ = asked.get("g", ""), asked.get("v", ""), asked.get("as", "")
        if group not in groups or version not in ("v2", "v2beta1") or as_ != "APIGroupDiscoveryList" or asked.get("sv"):
            continue
        for name, form in _forms(dialect):
            kind, _, subtype = name.partition("/")
            if (clause.type, clause.subtype) in ((kind, subtype), (kind, "*"), ("*", "*")):
                return Negotiated(
                    form=form,
                    content_type=f"{name};g={group};v={version};as={as_}",
                    as_=as_,
                    group=group,
                    version=version,
                    pretty=asked.get("pretty") == "1",
                )
    return None


def _streaming(negotiated: Negotiated) -> Negotiated:
    return Negotiated(
        form=negotiated.form,
        content_type=negotiated.content_type + ";stream=watch",
        as_=negotiated.as_,
        group=negotiated.group,
        version=negotiated.version,
        stream="watch",
        pretty=negotiated.pretty,
    )


@remember_short(1024)
def negotiate_error(accept: str, *, dialect: Dialect) -> Negotiated:
    """Negotiate the representation of a Status: the requested one if possible, else indented JSON. Never fails with
    406."""
    negotiated = _best(accept, _forms(dialect), dialect, table=False, partial=False)
    return negotiated or Negotiated(form=Form.JSON, content_type=JSON_TYPE, pretty=True)


def _best(
    accept: str,
    forms: tuple[tuple[str, Form], ...],
    dialect: Dialect,
    *,
    table: bool,
    partial: bool,
    whole: bool = True,
) -> Negotiated | None:
    """The most preferred representation that the clauses allow. `whole`: objects have a protobuf encoding."""
    if not accept:
        return Negotiated(form=forms[0][1], content_type=forms[0][0])
    for clause in parse_accept(accept):
        for name, form in forms:
            kind, _, subtype = name.partition("/")
            if (clause.type, clause.subtype) not in ((kind, subtype), (kind, "*"), ("*", "*")):
                continue
            offered = _negotiated_form(clause, name, form, dialect, table=table, partial=partial)
            if offered is not None and (whole or offered.as_ or form is not Form.PROTOBUF):
                return offered
    return None


def _negotiated_form(
    clause: Clause, name: str, form: Form, dialect: Dialect, *, table: bool, partial: bool
) -> Negotiated | None:
    """`form` with the parameters of a clause, None if they request an unsupported representation."""
    asked = dict(clause.parameters)
    stream = asked.get("stream", "")
    if stream and (stream != "watch" or form is Form.YAML):
        return None
    if asked.get("sv", "") not in ("", "v1"):
        return None
    as_, group, version = asked.get("as", ""), asked.get("g", ""), asked.get("v", "")
    if as_ or group or version:
        # Stock clients request tables of their own group; the response has the requested group.
        if group not in (dialect.meta_group, STOCK_META_GROUP) or version not in ("v1", "v1beta1"):
            return None
        if as_ == "Table":
            if not table or form is Form.PROTOBUF:
                return None
        elif as_ not in ("PartialObjectMetadata", "PartialObjectMetadataList") or not partial:
            return None
    return Negotiated(
        form=form,
        content_type=name,
        as_=as_,
        group=group,
        version=version,
        stream=stream,
        pretty=asked.get("pretty") == "1",
    )


def wants_pretty(parameter: str, user_agent: str) -> bool:
    """True if the response is indented. `parameter` is the value of ``?pretty``. Default: true for browsers and
    curl."""
    if parameter:
        return parameter in ("1", "t", "T", "true", "TRUE", "True")
    return user_agent.startswith(("curl", "Wget", "Mozilla/5.0"))


def parse_content_type(header: str) -> str:
    """The media type of a Content-Type header in lower case, "" if the header is malformed."""
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
    """The encoding of a request body; JSON if the header is missing (""). Raises ApiError 415.

    Stock clients send core kinds in protobuf to any server. The encoding is the same in both dialects, and the names
    inside are checked as usual, so that only the media type of the other dialect has to be accepted.
    """
    if not content_type:
        return Form.JSON
    name = parse_content_type(content_type)
    for media_type, form in (*_forms(dialect), (STOCK_PROTOBUF, Form.PROTOBUF)):
        if name == media_type:
            return form
    raise errors.unsupported_media_type(media_types(dialect))


def patch_type(content_type: str, *, custom: bool = False, apply: bool = True) -> str:
    """The media type of a patch. Raises ApiError 415. Custom kinds do not support strategic merge patch, and no list of
    media types. `apply`: the server applies configurations."""
    if custom:
        supported = (JSON_PATCH, MERGE_PATCH, *((APPLY_PATCH,) if apply else ()))
        name = content_type.partition(";")[0]
        if name not in supported:
            raise errors.unsupported_media_type(supported)
        return name
    for part in content_type.split(","):
        name = part.partition(";")[0].strip()
        if name in PATCH_TYPES and (apply or name != APPLY_PATCH):
            return name
    raise errors.ApiError(415, "UnsupportedMediaType", UNROUTED[1], details={})
