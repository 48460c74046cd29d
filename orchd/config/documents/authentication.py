"""AuthenticationConfiguration: issuers of JSON web tokens, and conditions of anonymous requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from orchd.cel.libraries.urls import URL, lenient_url_failure
from orchd.config.documents import types
from orchd.config.documents.decoding import decode_document
from orchd.config.documents.findings import raise_findings
from orchd.dialect import Dialect
from orchd.kinds.expressions.access import compile_claims, compile_claims_rule, compile_user_rule, uses_claim
from orchd.kinds.gotext.values import GoText
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.core.field_rules import is_domain_path
from orchd.kinds.objects.validate.expressions import report_error
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report

Json = Mapping[str, Any]
_MOST_ISSUERS: Final = 64
_EGRESS: Final = ("controlplane", "cluster")
_MATCH_ANY: Final = "MatchAny"
_UNVERIFIED: Final = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or "
    "claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSource:
    """The claim of an attribute, and what precedes its values; or the expression that makes them of claims. Without
    either there is no such attribute."""

    claim: str = ""
    prefix: str = ""
    expression: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtAuthenticator:
    """One issuer. `authority` verifies its server (PEM; "" means the system's CAs); a token is for one of `audiences`.
    `egress` is the egress type of connections to it, "" for direct ones."""

    url: str
    discovery_url: str
    authority: str
    audiences: tuple[str, ...]
    username: ClaimSource
    groups: ClaimSource
    uid: ClaimSource = ClaimSource()
    #: Expressions by the key of an extra attribute.
    extra: Mapping[str, str] = field(default_factory=dict)
    #: Expressions about claims, and about the user, each with the message for those for which it is false.
    claim_rules: tuple[tuple[str, str], ...] = ()
    user_rules: tuple[tuple[str, str], ...] = ()
    required: Mapping[str, str] = field(default_factory=dict)
    egress: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymousRequests:
    """Whether anonymous requests are served; with `paths`, only for these."""

    enabled: bool
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationConfiguration:
    """`anonymous` None leaves the choice to --anonymous-auth."""

    jwt: tuple[JwtAuthenticator, ...] = ()
    anonymous: AnonymousRequests | None = None


def parse_authentication(
    data: bytes, dialect: Dialect, *, disallowed: Collection[str], check_authority: Callable[[bytes], object]
) -> AuthenticationConfiguration:
    """The configuration in the text of a file. `disallowed` are issuers of other methods; `check_authority` raises
    ValueError for a PEM bundle that cannot be used. Raises DocumentError."""
    document = decode_document(data, types.AUTHENTICATION, dialect)
    report = Report(ObjectSettings(dialect=dialect))
    issuers = document.get("jwt") or ()
    at = root("jwt")
    if len(issuers) > _MOST_ISSUERS:
        report.too_many(at, len(issuers), _MOST_ISSUERS)
    else:
        _check_issuers(issuers, at, report, disallowed, check_authority)
        _check_anonymous(document.get("anonymous"), report)
    raise_findings(report)
    return AuthenticationConfiguration(
        jwt=tuple(map(_authenticator, issuers)), anonymous=_anonymous(document.get("anonymous"))
    )


def _authenticator(section: Json) -> JwtAuthenticator:
    issuer, mappings = section["issuer"], section["claimMappings"]
    return JwtAuthenticator(
        url=issuer["url"],
        discovery_url=issuer.get("discoveryURL") or "",
        authority=issuer.get("certificateAuthority", ""),
        audiences=tuple(issuer["audiences"]),
        username=_source(mappings["username"]),
        groups=_source(mappings["groups"]),
        uid=_source(mappings["uid"]),
        extra={each["key"]: each["valueExpression"] for each in mappings.get("extra") or ()},
        claim_rules=_rules(section.get("claimValidationRules") or ()),
        user_rules=_rules(section.get("userValidationRules") or ()),
        egress=issuer.get("egressSelectorType", ""),
        required={
            rule["claim"]: rule.get("requiredValue", "")
            for rule in section.get("claimValidationRules") or ()
            if rule.get("claim")
        },
    )


def _source(section: Json) -> ClaimSource:
    return ClaimSource(
        claim=section.get("claim", ""), prefix=section.get("prefix") or "", expression=section.get("expression", "")
    )


def _rules(rules: Sequence[Json]) -> tuple[tuple[str, str], ...]:
    """The rules that are expressions, with their messages."""
    return tuple((rule["expression"], rule.get("message", "")) for rule in rules if rule.get("expression"))


def _anonymous(section: Json | None) -> AnonymousRequests | None:
    if section is None:
        return None
    return AnonymousRequests(
        enabled=section["enabled"], paths=tuple(each["path"] for each in section.get("conditions") or ())
    )


def _check_issuers(
    issuers: Sequence[Json],
    at: Path,
    report: Report,
    disallowed: Collection[str],
    check_authority: Callable[[bytes], object],
) -> None:
    urls: set[str] = set()
    discovery: set[str] = set()
    for index, authenticator in enumerate(issuers):
        here = at[index]
        issuer = authenticator["issuer"]
        _check_issuer(issuer, here / "issuer", report, disallowed, check_authority)
        _check_claim_rules(authenticator.get("claimValidationRules") or (), here / "claimValidationRules", report)
        _check_mappings(authenticator["claimMappings"], here / "claimMappings", report)
        _check_email(authenticator, here / "claimMappings", report)
        _check_user_rules(authenticator.get("userValidationRules") or (), here / "userValidationRules", report)
        for name, seen in (("url", urls), ("discoveryURL", discovery)):
            url = issuer.get(name) or ""
            if url in seen:
                report.duplicate(here / "issuer" / name, url)
            if url or name == "url":
                seen.add(url)


def _check_issuer(
    issuer: Json, at: Path, report: Report, disallowed: Collection[str], check_authority: Callable[[bytes], object]
) -> None:
    url, other = issuer["url"], issuer.get("discoveryURL") or ""
    if url:
        _check_url(url, at / "url", report, disallowed)
    else:
        report.required(at / "url")
    if other:
        if url and url.rstrip("/") == other.rstrip("/"):
            report.invalid(at / "discoveryURL", other, "discoveryURL must be different from URL")
        _check_url(other, at / "discoveryURL", report, ())
    _check_audiences(issuer, at, report)
    authority = issuer.get("certificateAuthority", "")
    if authority:
        try:
            check_authority(authority.encode())
        except ValueError as error:
            report.invalid(at / "certificateAuthority", "<omitted>", str(error))
    egress = issuer.get("egressSelectorType", "")
    if egress and egress not in _EGRESS:
        report.invalid(at / "egressSelectorType", egress, f"egress selector must be either {' or '.join(_EGRESS)}")


def _check_url(url: str, at: Path, report: Report, disallowed: Collection[str]) -> None:
    if url in disallowed:
        listed = " ".join(sorted(disallowed))
        report.invalid(at, url, f"URL must not overlap with disallowed issuers: [{listed}]")
    failure = lenient_url_failure(url, literals=True)
    if failure is not None:
        report.invalid(at, url, failure)
        return
    whole, _, fragment = url.partition("#")
    parsed = URL(whole)
    problems = (
        (parsed.scheme != "https", "URL scheme must be https"),
        (bool(parsed.user), "URL must not contain a username or password"),
        (bool(parsed.query), "URL must not contain a query"),
        (bool(fragment), "URL must not contain a fragment"),
        (parsed.scheme == "https" and not parsed.host, "URL must have a host"),
    )
    for wrong, why in problems:
        if wrong:
            report.invalid(at, url, why)


def _check_audiences(issuer: Json, at: Path, report: Report) -> None:
    audiences, policy = issuer.get("audiences") or [], issuer.get("audienceMatchPolicy", "")
    if not audiences:
        report.required(at / "audiences", f"at least one {at / 'audiences'} is required")
        return
    for index, audience in enumerate(audiences):
        if not audience:
            report.required((at / "audiences")[index])
        if audience in audiences[:index]:
            report.duplicate((at / "audiences")[index], audience)
    if policy != _MATCH_ANY and (policy or len(audiences) > 1):
        many = len(audiences) > 1
        why = "MatchAny for multiple audiences" if many else "empty or MatchAny for single audience"
        report.invalid(at / "audienceMatchPolicy", policy, f"audienceMatchPolicy must be {why}")


def _check_claim_rules(rules: Sequence[Json], at: Path, report: Report) -> None:
    claims: set[str] = set()
    expressions: set[str] = set()
    for index, rule in enumerate(rules):
        here = at[index]
        claim, expression = rule.get("claim", ""), rule.get("expression", "")
        if claim and expression:
            report.invalid(here, claim, "claim and expression can't both be set")
        elif claim:
            if rule.get("message"):
                report.invalid(here / "message", rule["message"], "may not be specified when claim is set")
            if claim in claims:
                report.duplicate(here / "claim", claim)
            claims.add(claim)
        elif expression:
            if rule.get("requiredValue"):
                report.invalid(
                    here / "requiredValue", rule["requiredValue"], "may not be specified when expression is set"
                )
            if expression in expressions:
                report.duplicate(here / "expression", expression)
            else:
                expressions.add(expression)
                compiled = compile_claims_rule(expression, report.dialect)
                report_error(compiled, expression, here / "expression", report)
        else:
            report.required(here, "claim or expression is required")


def _check_mappings(mappings: Json, at: Path, report: Report) -> None:
    _check_source(mappings["username"], at / "username", report, needed=True)
    _check_source(mappings["groups"], at / "groups", report, needed=False)
    uid = mappings["uid"]
    if uid.get("claim") and uid.get("expression"):
        report.invalid(at / "uid", "", "claim and expression can't both be set")
    elif uid.get("expression"):
        _check_expression(uid["expression"], at / "uid" / "expression", report)
    keys: set[str] = set()
    for index, mapping in enumerate(mappings.get("extra") or ()):
        here = (at / "extra")[index]
        key = mapping["key"]
        _check_extra_key(key, here / "key", report)
        if key in keys:
            report.duplicate(here / "key", key)
            continue
        keys.add(key)
        if mapping["valueExpression"]:
            _check_expression(mapping["valueExpression"], here / "valueExpression", report)
        else:
            report.required(here / "valueExpression")


def _check_expression(text: str, at: Path, report: Report) -> None:
    report_error(compile_claims(text, report.dialect), text, at, report)


def _check_email(authenticator: Json, at: Path, report: Report) -> None:
    """A username from the claim email requires a verified address."""
    mappings = authenticator["claimMappings"]
    name = mappings["username"].get("expression", "")
    if not name or not uses_claim(compile_claims(name, report.dialect), "email"):
        return
    texts = [name, *(each["valueExpression"] for each in mappings.get("extra") or ())]
    rules = [rule.get("expression", "") for rule in authenticator.get("claimValidationRules") or ()]
    compiled = [compile_claims(text, report.dialect) for text in texts if text]
    compiled += [compile_claims_rule(text, report.dialect) for text in rules if text]
    if not any(uses_claim(each, "email_verified") for each in compiled):
        report.invalid(at / "username" / "expression", name, _UNVERIFIED)


def _check_extra_key(key: str, at: Path, report: Report) -> None:
    is_domain_path(key, at, report)
    if key != key.lower():
        report.invalid(at, key, "must be lowercase")
    host = key.partition("/")[0] if "/" in key else ""
    reserved = list(dict.fromkeys((report.dialect("{abbr}.io"), report.dialect("{long}.io"))))
    if any(host == domain or host.endswith(f".{domain}") for domain in reserved):
        name = report.dialect.name.capitalize()
        report.invalid(at, key, f"{', '.join(reserved)} and their subdomains are reserved for {name} use")


def _check_source(source: Json, at: Path, report: Report, *, needed: bool) -> None:
    claim, prefix, expression = source.get("claim", ""), source.get("prefix"), source.get("expression", "")
    if claim and expression:
        report.invalid(at, "", "claim and expression can't both be set")
    elif expression:
        if prefix is not None:
            report.invalid(at / "prefix", prefix, "may not be specified when expression is set")
        _check_expression(expression, at / "expression", report)
    elif claim:
        if prefix is None:
            why = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
            report.required(at / "prefix", why)
    elif needed:
        report.required(at, "claim or expression is required")


def _check_user_rules(rules: Sequence[Json], at: Path, report: Report) -> None:
    seen: set[str] = set()
    for index, rule in enumerate(rules):
        here, expression = at[index] / "expression", rule["expression"]
        if not expression:
            report.required(here)
        elif expression in seen:
            report.duplicate(here, expression)
        else:
            seen.add(expression)
            report_error(compile_user_rule(expression, report.dialect), expression, here, report)


def _check_anonymous(section: Json | None, report: Report) -> None:
    conditions = [] if section is None else section.get("conditions") or []
    if section is not None and conditions and not section["enabled"]:
        rendered = GoText(orjson.dumps([{"Path": each["path"]} for each in conditions]).decode())
        why = "enabled should be set to true when conditions are defined"
        report.invalid(root("anonymous") / "conditions", rendered, why)
