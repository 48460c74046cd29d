"""AuthenticationConfiguration files: valid and invalid documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.config.documents.authentication import (
    AnonymousRequests,
    AuthenticationConfiguration,
    ClaimSource,
    JwtAuthenticator,
    parse_authentication,
)
from orchd.config.documents.decoding import DocumentError
from orchd.dialect import KUBERNETES, ORCH, Dialect

ISSUER = {"url": "https://a.example", "audiences": ["me"]}
UNDECLARED = "compilation failed: ERROR: <input>:1:1: undeclared reference to "
MAPPINGS = {"username": {"claim": "sub", "prefix": ""}}


def check_authority(bundle: bytes) -> None:
    if bundle != b"pem":
        raise ValueError("no certificate")


def parse_text(text: str, dialect: Dialect = ORCH) -> AuthenticationConfiguration:
    return parse_authentication(
        text.encode(), dialect, disallowed=("https://accounts.example",), check_authority=check_authority
    )


def document(*jwt: Any, dialect: Dialect = ORCH, version: str = "v1", **more: Any) -> str:
    head = {"apiVersion": dialect("apiserver.config.{abbr}.io/") + version, "kind": "AuthenticationConfiguration"}
    return json.dumps({**head, "jwt": list(jwt), **more})


def one(issuer: Any = ISSUER, mappings: Any = MAPPINGS, **more: Any) -> dict[str, Any]:
    return {"issuer": issuer, "claimMappings": mappings, **more}


def problem(text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_text(text)
    return str(caught.value)


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES])
@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_all_versions_have_the_same_fields(dialect: Dialect, version: str) -> None:
    """All versions have the same fields, in the dialect's group."""
    full = one(
        {**ISSUER, "discoveryURL": "https://b.example/x", "certificateAuthority": "pem", "audiences": ["x", "y"],
         "audienceMatchPolicy": "MatchAny"},
        {"username": {"claim": "sub", "prefix": "u:"}, "groups": {"claim": "g", "prefix": "g:"}, "uid": {"claim": "oid"}},
        claimValidationRules=[{"claim": "hd", "requiredValue": "example"}, {"claim": "empty"}],
    )  # fmt: skip
    text = document(
        full, dialect=dialect, version=version, anonymous={"enabled": True, "conditions": [{"path": "/livez"}]}
    )
    assert parse_text(text, dialect) == AuthenticationConfiguration(
        jwt=(
            JwtAuthenticator(
                url="https://a.example",
                discovery_url="https://b.example/x",
                authority="pem",
                audiences=("x", "y"),
                username=ClaimSource(claim="sub", prefix="u:"),
                groups=ClaimSource(claim="g", prefix="g:"),
                uid=ClaimSource(claim="oid"),
                required={"hd": "example", "empty": ""},
            ),
        ),
        anonymous=AnonymousRequests(enabled=True, paths=("/livez",)),
    )


def test_issuers_are_optional() -> None:
    """A file may have no issuers, and then does not configure anonymous requests either."""
    assert parse_text(document()) == AuthenticationConfiguration()


@pytest.mark.parametrize(("text", "why"), [
    ("", "Object 'Kind' is missing"),
    ("jwt: [", "yaml: "),
    (document().replace("AuthenticationConfiguration", "EncryptionConfiguration"), 'no kind "EncryptionConfiguration" is registered'),
    (document(version="v2"), 'no kind "AuthenticationConfiguration" is registered for version "apiserver.config.orch.io/v2"'),
    (document(one(bogus=1)), 'strict decoding error: unknown field "jwt[0].bogus"'),
    (document().replace("[]", '[], "jwt": []'), 'strict decoding error: duplicate field "jwt"'),
    (document(one({**ISSUER, "url": 3})), "json: cannot unmarshal number into Go struct field Issuer.jwt.issuer.url of type string"),
])  # fmt: skip
def test_decoding_is_strict(text: str, why: str) -> None:
    """Unknown, repeated and mistyped fields are rejected."""
    assert problem(text).startswith(why)


URL, AUDIENCES, POLICY = "jwt[0].issuer.url", "jwt[0].issuer.audiences", "jwt[0].issuer.audienceMatchPolicy"
NAME, RULES, EXTRA = "jwt[0].claimMappings.username", "jwt[0].claimValidationRules", "jwt[0].claimMappings.extra"


def invalid(at: str, value: str, why: str) -> str:
    return f"{at}: Invalid value: {json.dumps(value)}: {why}"


@pytest.mark.parametrize(("given", "why"), [
    (one({"audiences": ["a"]}), f"{URL}: Required value"),
    (one({**ISSUER, "url": "http://a"}), invalid(URL, "http://a", "URL scheme must be https")),
    (one({**ISSUER, "url": "https://a?x=1"}), invalid(URL, "https://a?x=1", "URL must not contain a query")),
    (one({**ISSUER, "url": "https://a#x"}), invalid(URL, "https://a#x", "URL must not contain a fragment")),
    (one({**ISSUER, "url": "https://u:p@a"}), invalid(URL, "https://u:p@a", "URL must not contain a username or password")),
    (one({**ISSUER, "url": "https:///x"}), invalid(URL, "https:///x", "URL must have a host")),
    (one({**ISSUER, "url": "https://a:x"}), f'{URL}: Invalid value: "https://a:x": parse "https://a:x": invalid port ":x" after host'),
    (one({**ISSUER, "url": "https:// a"}), f'{URL}: Invalid value: "https:// a": parse "https:// a": invalid character " " in host name'),
    (one({**ISSUER, "url": "https://a/%zz"}), f'{URL}: Invalid value: "https://a/%zz": parse "https://a/%zz": invalid URL escape "%zz"'),
    (one({**ISSUER, "url": "https://@a"}), invalid(URL, "https://@a", "URL must not contain a username or password")),
    (one({**ISSUER, "url": "https://accounts.example"}),
     invalid(URL, "https://accounts.example", "URL must not overlap with disallowed issuers: [https://accounts.example]")),
    (one({**ISSUER, "discoveryURL": "https://a.example/"}),
     invalid("jwt[0].issuer.discoveryURL", "https://a.example/", "discoveryURL must be different from URL")),
    (one({**ISSUER, "audiences": []}), f"{AUDIENCES}: Required value: at least one {AUDIENCES} is required"),
    (one({**ISSUER, "audiences": [""]}), f"{AUDIENCES}[0]: Required value"),
    (one({**ISSUER, "audiences": ["a", "b"]}), invalid(POLICY, "", "audienceMatchPolicy must be MatchAny for multiple audiences")),
    (one({**ISSUER, "audienceMatchPolicy": "All"}),
     invalid(POLICY, "All", "audienceMatchPolicy must be empty or MatchAny for single audience")),
    (one({**ISSUER, "certificateAuthority": "x"}),
     invalid("jwt[0].issuer.certificateAuthority", "<omitted>", "no certificate")),
    (one({**ISSUER, "egressSelectorType": "etcd"}),
     'jwt[0].issuer.egressSelectorType: Invalid value: "etcd": egress selector must be either controlplane or cluster'),
    (one(mappings={}), f"{NAME}: Required value: claim or expression is required"),
    (one(mappings={"username": {"claim": "sub"}}),
     f"{NAME}.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing"),
    (one(mappings={"username": {"claim": "sub", "expression": "x"}}), invalid(NAME, "", "claim and expression can't both be set")),
    (one(mappings={"username": {"expression": "claim.sub"}}), invalid(f"{NAME}.expression", "claim.sub", UNDECLARED + "'claim'")),
    (one(mappings={**MAPPINGS, "groups": {"expression": "user.g"}}),
     invalid("jwt[0].claimMappings.groups.expression", "user.g", UNDECLARED + "'user'")),
    (one(mappings={**MAPPINGS, "uid": {"expression": "u"}}),
     invalid("jwt[0].claimMappings.uid.expression", "u", UNDECLARED + "'u'")),
    (one(mappings={**MAPPINGS, "extra": [{"key": "example.org/a", "valueExpression": "x"}]}),
     invalid(f"{EXTRA}[0].valueExpression", "x", UNDECLARED + "'x'")),
    (one(mappings={**MAPPINGS, "extra": [{"key": "example.org/a"}]}), f"{EXTRA}[0].valueExpression: Required value"),
    (one(claimValidationRules=[{}]), f"{RULES}[0]: Required value: claim or expression is required"),
    (one(claimValidationRules=[{"expression": "claims.a"}]), invalid(f"{RULES}[0].expression", "claims.a", "must evaluate to bool")),
    (one(claimValidationRules=[{"claim": "a", "expression": "true"}]), invalid(f"{RULES}[0]", "a", "claim and expression can't both be set")),
    (one(claimValidationRules=[{"claim": "a", "message": "m"}]),
     invalid(f"{RULES}[0].message", "m", "may not be specified when claim is set")),
    (one(claimValidationRules=[{"claim": "a"}, {"claim": "a"}]), f'{RULES}[1].claim: Duplicate value: "a"'),
    (one(userValidationRules=[{}]), "jwt[0].userValidationRules[0].expression: Required value"),
    (one(userValidationRules=[{"expression": "user.name == ''"}]),
     invalid("jwt[0].userValidationRules[0].expression", "user.name == ''", "compilation failed: ERROR: <input>:1:5: undefined field 'name'")),
    (one(mappings={"username": {"expression": "claims.email"}}), invalid(f"{NAME}.expression", "claims.email", "claims.email_verified must be used")),
])  # fmt: skip
def test_invalid_issuers(given: dict[str, Any], why: str) -> None:
    """Each error names the field."""
    assert problem(document(given)).startswith(why)


def test_expressions_are_settings() -> None:
    """Expressions of mappings and rules are kept as texts; the verified address may be checked by a rule or an
    attribute."""
    extra = {"key": "example.org/a", "valueExpression": "claims.email_verified ? 'yes' : ''"}
    mappings = {
        "username": {"expression": "claims.?email.orValue('')"},
        "uid": {"expression": "claims.oid"},
        "extra": [extra],
    }
    rules = [
        {"expression": "claims.exp - claims.iat < 3600", "message": "too long"},
        {"claim": "hd", "requiredValue": "x"},
    ]
    users = [{"expression": "!user.username.startsWith('system:')", "message": "reserved"}]
    text = document(one(mappings=mappings, claimValidationRules=rules, userValidationRules=users))
    [authenticator] = parse_text(text).jwt
    assert authenticator.username == ClaimSource(expression="claims.?email.orValue('')")
    assert authenticator.uid == ClaimSource(expression="claims.oid")
    assert authenticator.extra == {"example.org/a": extra["valueExpression"]}
    assert authenticator.claim_rules == (("claims.exp - claims.iat < 3600", "too long"),)
    assert authenticator.required == {"hd": "x"}
    assert authenticator.user_rules == (("!user.username.startsWith('system:')", "reserved"),)


def test_issuers_and_discovery_urls_are_unique() -> None:
    """Issuers and discovery URLs must be unique; all errors are reported."""
    other = {**ISSUER, "discoveryURL": "https://d.example"}
    assert problem(document(one(other), one(other))) == (
        '[jwt[1].issuer.url: Duplicate value: "https://a.example", '
        'jwt[1].issuer.discoveryURL: Duplicate value: "https://d.example"]'
    )
    assert problem(document(*[one()] * 65)) == "jwt: Too many: 65: must have at most 64 items"


@pytest.mark.parametrize(("key", "why"), [
    ("", "Required value"),
    ("example.com/é", "Invalid value: \"é\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"),
    ("plain", 'Invalid value: "plain": must be a domain-prefixed path (such as "acme.io/foo")'),
    ("example.org/A", 'Invalid value: "example.org/A": must be lowercase'),
    ("a.orch.io/x", 'Invalid value: "a.orch.io/x": orch.io and their subdomains are reserved for Orch use'),
])  # fmt: skip
def test_extra_keys_need_a_foreign_domain(key: str, why: str) -> None:
    """Keys of extra values need a domain that is not the product's."""
    mappings = {**MAPPINGS, "extra": [{"key": key}]}
    assert f"{EXTRA}[0].key: {why}" in problem(document(one(mappings=mappings)))


def test_anonymous_conditions_need_anonymous_requests() -> None:
    """Conditions on anonymous requests require that these are enabled."""
    assert problem(document(anonymous={"enabled": False, "conditions": [{"path": "/x"}]})) == (
        'anonymous.conditions: Invalid value: [{"Path":"/x"}]: enabled should be set to true when conditions are defined'
    )
