"""``auth``, ``token`` and ``certificate``."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from orchd.client.requests import Call
from tests.ctl.ctl_runner import Ctl
from tests.ctl.meddling import precede


def test_can_i_exit_status_and_list(ctl: Ctl) -> None:
    """The exit status is 0 for yes and 1 for no; --list prints the rules."""
    assert ctl("auth", "can-i", "delete", "nodes").out == "yes\n"
    ctl.user = ("eve", "nobodies")
    ran = Ctl(ctl.server)
    ran.user = ctl.user
    with pytest.raises(AssertionError, match="ended with 1: no"):
        ran("auth", "can-i", "delete", "nodes")
    assert ctl("auth", "can-i", "get", "/version").out == "yes\n"
    listed = ctl("auth", "can-i", "--list")
    assert "selfsubjectaccessreviews" in listed.out and "may be incomplete" not in listed.error
    assert "can-i --list shows" in ctl("get", "nodes", status=1).error


def test_created_token_names_account_and_audience(ctl: Ctl) -> None:
    """A token names its service account and audience, and is valid for the requested time."""
    ctl("create", "serviceaccount", "robot")
    text = ctl("token", "create", "robot", "--duration=10m", "--audience=x").out.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    assert (claims["sub"], claims["aud"]) == ("system:serviceaccount:default:robot", ["x"])
    assert claims["exp"] - claims["iat"] == 600


def test_certificate_approval_is_decided_once(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Approve adds the condition once, and writes it again with --force; an approved request cannot be denied."""

    async def nothing(call: Call) -> None:
        """Nothing precedes."""

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name.from_rfc4514_string("CN=robot")
    pem = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    ctl("create", "-f", "-", send=json.dumps({
        "apiVersion": ctl.server.dialect("certificates.{abbr}.io/v1"), "kind": "CertificateSigningRequest",
        "metadata": {"name": "c"}, "spec": {
            "request": base64.b64encode(pem.public_bytes(serialization.Encoding.PEM)).decode(),
            "signerName": ctl.server.dialect("{long}.io/{short}-apiserver-client"), "usages": ["client auth"],
        },
    }))  # fmt: skip
    assert ctl("certificate", "approve", "c").out.endswith("/c approved\n")
    calls = precede(ctl, monkeypatch, nothing)
    for force in (False, True):
        ctl("certificate", "approve", "c", *(["--force"] if force else []))
        assert ("PUT" in [call.method for call in calls]) is force
    assert ctl("get", "csr/c", "-o", "jsonpath={.status.conditions[*].type}").out == "Approved"
    assert "approved already" in ctl("certificate", "deny", "c", status=1).error


def test_whoami_sends_no_unknown_field(ctl: Ctl) -> None:
    """The review of oneself has no spec, about which servers of later releases warn."""
    ran = ctl("--warnings-as-errors", "auth", "whoami")
    assert "Username" in ran.out.title() and "unknown field" not in ran.error


def test_own_rules_are_listed_by_resource_and_path(ctl: Ctl) -> None:
    """A line for each resource with its verbs, and one for each path."""
    ctl.user = ("nobody",)
    lines = [line.split() for line in ctl("auth", "can-i", "--list").lines]
    assert ["[/healthz]", "[]", "[get]"] in lines
    assert [line[-1] for line in lines if line[0].startswith("selfsubjectaccessreviews.")] == ["[create]"]


def test_whoami_shows_name_and_groups(ctl: Ctl) -> None:
    """As which user, in which groups, the server sees requests."""
    ctl.user = ("jane", "developers")
    heading, *rows = [
        [part.strip() for part in line.split("   ") if part.strip()] for line in ctl("auth", "whoami").lines
    ]
    assert heading == ["ATTRIBUTE", "VALUE"]
    assert dict(rows)["Username"] == "jane" and "developers" in dict(rows)["Groups"]


@pytest.mark.parametrize(
    ("words", "attributes"),
    [
        ("get pods", {"verb": "get", "resource": "pods", "namespace": "default"}), ("get pods -A", {"verb": "get", "resource": "pods"}),
        ("get nodes", {"verb": "get", "resource": "nodes"}), ("get deploy/a", {"verb": "get", "group": "apps", "resource": "deployments", "name": "a", "namespace": "default"}),
        ("get po a --subresource=log", {"verb": "get", "resource": "pods", "name": "a", "subresource": "log", "namespace": "default"}),
        ("* *", {"verb": "*", "group": "*", "resource": "*", "namespace": "default"}),
        ("get odd.example.org", {"verb": "get", "group": "example.org", "resource": "odd", "namespace": "default"}),
    ],
)  # fmt: skip
def test_questions_about_permissions(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, words: str, attributes: object) -> None:
    """What is asked of the server; a type that it does not have is told."""

    async def nothing(call: Call) -> None:
        """Nothing precedes."""

    calls = precede(ctl, monkeypatch, nothing)
    ran = ctl("auth", "can-i", *words.split())
    assert ran.out == "yes\n" and ("no resource type" in ran.error) is ("odd" in words)
    assert [call.body["spec"] for call in calls if call.method == "POST"] == [{"resourceAttributes": attributes}]


def test_answers_about_permissions(ctl: Ctl) -> None:
    """With --quiet nothing is printed; the list may have no headings."""
    assert ctl("auth", "can-i", "-q", "get", "pods").out == ""
    assert ctl("auth", "can-i", "--list").lines[0].split()[0] == "Resources"
    assert ctl("auth", "can-i", "--list", "--no-headers").lines[0].split()[0] != "Resources"
    for words in (("get",), ("get", "a", "b", "c")):
        assert "write can-i VERB TYPE" in ctl("auth", "can-i", *words, status=1).error
    assert "--list takes no verb and type" in ctl("auth", "can-i", "--list", "get", status=1).error


@pytest.mark.parametrize(
    ("flags", "spec"),
    [
        ("", {}), ("--duration=0s", {}), ("--duration=1h --audience=a --audience=b", {"expirationSeconds": 3600, "audiences": ["a", "b"]}),
        ("--bound-object-kind=Secret --bound-object-name=s", {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "s"}}),
        ("--bound-object-kind=Secret --bound-object-name=s --bound-object-uid=u", {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": "u"}}),
    ],
)  # fmt: skip
def test_requests_for_tokens(ctl: Ctl, monkeypatch: pytest.MonkeyPatch, flags: str, spec: object) -> None:
    """Each flag is a field of the request."""
    ctl("create", "serviceaccount", "robot")
    if "Secret" in flags:
        ctl("create", "secret", "generic", "s")

    async def nothing(call: Call) -> None:
        """Nothing precedes."""

    calls = precede(ctl, monkeypatch, nothing)
    ran = ctl("create", "token", "robot", *flags.split(), "-o", "name", status=1 if "uid=u" in flags else 0)
    assert ran.lines == ([] if "uid=u" in flags else ["token/robot"])
    assert [call.body["spec"] for call in calls if call.method == "POST"] == [spec]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--bound-object-kind=Pod", "go together: give both"), ("--bound-object-name=p", "go together: give both"),
        ("--bound-object-uid=u", "--bound-object-uid needs --bound-object-kind"), ("--duration=-1s", "--duration must not be negative"),
    ],
)  # fmt: skip
def test_tokens_that_are_not_requested(ctl: Ctl, flags: str, says: str) -> None:
    assert says in ctl("create", "token", "robot", *flags.split(), status=1).error
