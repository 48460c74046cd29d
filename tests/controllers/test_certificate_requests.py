"""Certificate signing requests: approval, signing and cleanup."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from orchd.client.interfaces import ResourceRef
from orchd.controllers.certificates.cleaner import end_of
from orchd.controllers.certificates.requests import requests_ref
from orchd.controllers.objects import CONFIG_MAPS, SECRETS
from orchd.dialect import CLUSTER_INFO_KEY, ORCH
from orchd.errors import ApiError
from orchd.kinds.times import timestamp
from orchd.pki.certificates import chain_pem, new_authority
from orchd.pki.keys import private_pem
from orchd.testing.doubles.server import NOW, run
from tests.controllers.cluster_support import Cluster

REQUESTS = requests_ref(ORCH)
RBAC = ORCH("rbac.authorization.{abbr}.io")
BINDINGS = ResourceRef(RBAC, "v1", "clusterrolebindings")
NODE_CLIENT = ORCH("{long}.io/{short}-apiserver-client-{short}let")
NODE_SERVING = ORCH("{long}.io/{short}let-serving")
CLIENT = ORCH("{long}.io/{short}-apiserver-client")
NODE_USAGES = ["digital signature", "key encipherment", "client auth"]


def request(
    name: str = "system:node:n", group: str = "system:nodes", names: list[x509.GeneralName] | None = None
) -> str:
    subject = x509.Name([
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, group), x509.NameAttribute(NameOID.COMMON_NAME, name)
    ])  # fmt: skip
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    signed_request = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(signed_request.public_bytes(Encoding.PEM)).decode()


class Requests:
    """A cluster, and signing requests on it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def post(
        self,
        name: str,
        signer: str,
        usages: list[str],
        pem: str = "",
        user: str = "joe",
        group: str = "joes",
        **spec: Any,
    ) -> dict[str, Any]:
        client = self.cluster.server.client(user, group)
        wanted = {"request": pem or request(), "signerName": signer, "usages": usages, **spec}
        run(client.create(REQUESTS, "", {"metadata": {"name": name}, "spec": wanted}))
        self.cluster.settle()
        return self.look(name)

    def look(self, name: str) -> dict[str, Any]:
        request = self.cluster.get(REQUESTS, name, "")
        assert request is not None
        return request

    def approve(self, name: str, type_: str = "Approved") -> dict[str, Any]:
        request = self.look(name)
        condition = {"type": type_, "status": "True", "reason": "r", "message": "m"}
        run(
            self.cluster.client.update(
                REQUESTS, "", name, {**request, "status": {"conditions": [condition]}}, subresource="approval"
            )
        )
        self.cluster.settle()
        return self.look(name)

    def bind(self, role: str, group: str) -> None:
        subject = {"kind": "Group", "apiGroup": RBAC, "name": group}
        binding = {"metadata": {"name": group + role[-10:].strip(":")}, "subjects": [subject]}
        ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": ORCH(role)}
        self.cluster.create(BINDINGS, {**binding, "roleRef": ref}, "")
        self.cluster.settle()


@pytest.fixture
def requests(tmp_path: Path) -> Iterator[Requests]:
    """A cluster with the certificate controllers, where members of joes may create requests."""
    cluster = Cluster(tmp_path, ["csrapproving", "csrsigning", "csrcleaner", "bootstrapsigner", "tokencleaner"])
    requests = Requests(cluster)
    requests.bind("system:node-bootstrapper", "joes")
    requests.bind("system:node-bootstrapper", "system:nodes")
    yield requests
    cluster.stop()


def reasons(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(c["type"], c["reason"]) for c in found["status"].get("conditions") or ()]


def certificate(found: dict[str, Any]) -> x509.Certificate:
    return x509.load_pem_x509_certificate(base64.b64decode(found["status"]["certificate"]))


def test_node_request_is_approved_and_signed_once_authorized(requests: Requests) -> None:
    """A kubelet client certificate request is pending until its requestor is authorized, then approved and signed."""
    assert reasons(requests.post("a", NODE_CLIENT, NODE_USAGES)) == []
    requests.bind("system:certificates.{abbr}.io:certificatesigningrequests:nodeclient", "joes")
    requests.cluster.settle(60)
    request = requests.look("a")
    assert reasons(request) == [("Approved", "AutoApproved")]
    signed = certificate(request)
    assert [str(part.value) for part in signed.subject] == ["system:nodes", "system:node:n"]
    assert signed.extensions.get_extension_for_class(x509.KeyUsage).value.key_encipherment
    assert signed.not_valid_after_utc - signed.not_valid_before_utc == timedelta(days=365)


def test_node_renews_only_its_own_certificate(requests: Requests) -> None:
    """A node may renew its own certificate only."""
    requests.bind("system:certificates.{abbr}.io:certificatesigningrequests:selfnodeclient", "system:nodes")
    node = {"user": "system:node:n", "group": "system:nodes"}
    assert reasons(requests.post("own", NODE_CLIENT, NODE_USAGES, **node)) == [("Approved", "AutoApproved")]
    assert reasons(requests.post("other", NODE_CLIENT, NODE_USAGES, request("system:node:m"), **node)) == []


def test_other_requests_are_not_approved(requests: Requests) -> None:
    """Requests for other subjects or signers are not approved automatically."""
    requests.bind("system:certificates.{abbr}.io:certificatesigningrequests:nodeclient", "joes")
    assert reasons(requests.post("name", NODE_CLIENT, NODE_USAGES, request("x"))) == []
    assert reasons(requests.post("usage", NODE_CLIENT, [*NODE_USAGES, "any"])) == []
    assert reasons(requests.post("signer", CLIENT, NODE_USAGES)) == []


DNS, ADDRESS = x509.DNSName("n"), x509.RFC822Name("a@b")


@pytest.mark.parametrize(
    ("signer", "usages", "pem", "message"),
    [
        (NODE_CLIENT, NODE_USAGES, {}, ""),
        (NODE_CLIENT, ["digital signature", "client auth"], {}, ""),
        (NODE_CLIENT, NODE_USAGES, {"group": "x"}, "subject organization is not system:nodes"),
        (NODE_CLIENT, NODE_USAGES, {"name": "x"}, "subject common name does not begin with system:node:"),
        (NODE_CLIENT, NODE_USAGES, {"names": [DNS]}, "DNS subjectAltNames are not allowed"),
        (NODE_CLIENT, ["client auth"], {}, "usages did not match [client auth digital signature key encipherment]"),
        (NODE_SERVING, ["digital signature", "key encipherment", "server auth"], {"names": [DNS]}, ""),
        (
            NODE_SERVING,
            ["digital signature", "key encipherment", "server auth"],
            {},
            "DNS or IP subjectAltName is required",
        ),
        (
            NODE_SERVING,
            NODE_USAGES,
            {"names": [DNS]},
            "usages did not match [digital signature key encipherment server auth]",
        ),
        (NODE_SERVING, NODE_USAGES, {"names": [DNS, ADDRESS]}, "Email subjectAltNames are not allowed"),
        (CLIENT, ["client auth"], {"name": "x", "group": "y"}, ""),
        (CLIENT, ["digital signature"], {}, "missing required usage for client certificate: client auth"),
        (CLIENT, ["client auth", "server auth"], {}, "invalid usage for client certificate: server auth"),
    ],
)
def test_signers_reject_requests_they_are_not_for(
    requests: Requests, signer: str, usages: list[str], pem: dict[str, Any], message: str
) -> None:
    """A signer rejects requests that it must not sign, with the reason."""
    requests.post("r", signer, usages, request(**pem))
    found = requests.approve("r")
    if not message:
        assert certificate(found)
    else:
        assert not found["status"].get("certificate")
        failed = found["status"]["conditions"][-1]
        assert (failed["type"], failed["reason"], failed["message"]) == ("Failed", "SignerValidationFailure", message)


def test_denied_and_foreign_requests_are_not_signed(requests: Requests) -> None:
    """Denied requests, and those for other signers, are not signed."""
    requests.post("foreign", "example.org/mine", ["client auth"])
    assert not requests.approve("foreign")["status"].get("certificate")
    requests.post("denied", CLIENT, ["client auth"])
    assert not requests.approve("denied", "Denied")["status"].get("certificate")


@pytest.mark.parametrize(("asked", "seconds"), [(None, 365 * 86400), (600, 900), (7200, 7500), (10**9, 365 * 86400)])
def test_certificate_lifetime_is_bounded_by_the_flag(requests: Requests, asked: int | None, seconds: int) -> None:
    """The lifetime is the requested one up to the flag's; backdating does not shorten short ones."""
    spec: dict[str, Any] = {} if asked is None else {"expirationSeconds": asked}
    requests.post("r", CLIENT, ["client auth"], **spec)
    signed = certificate(requests.approve("r"))
    assert (signed.not_valid_after_utc - signed.not_valid_before_utc).total_seconds() == seconds


def test_old_requests_are_deleted(requests: Requests) -> None:
    """Approved and denied requests are deleted after an hour, pending ones after a day."""
    for name in ("signed", "denied", "pending"):
        requests.post(name, CLIENT, ["client auth"])
    requests.approve("signed")
    requests.approve("denied", "Denied")

    def names() -> list[str]:
        return requests.cluster.names(REQUESTS, "")

    requests.cluster.settle(3500)
    assert names() == ["denied", "pending", "signed"]
    requests.cluster.settle(1200)
    assert names() == ["pending"]
    requests.cluster.settle(80_000)
    assert names() == ["pending"]
    requests.cluster.settle(9_000)
    assert names() == []


def decided(**times: float) -> list[dict[str, Any]]:
    """Conditions that were set this many seconds after the start."""
    return [{"type": type_, "status": "True", "lastUpdateTime": timestamp(NOW + at)} for type_, at in times.items()]


@pytest.mark.parametrize(
    ("conditions", "lifetime", "end"),
    [
        ([], None, 86_400.0),
        (decided(Denied=60), None, 3660.0),
        (decided(Failed=60), None, 3660.0),
        (decided(Approved=10, Failed=60), None, 3660.0),
        (decided(Approved=10, Denied=5), None, 3605.0),
        # Approved but not issued: the signer may be slow.
        (decided(Approved=60), None, None),
        (decided(Approved=60), 86_400.0, 3660.0),
        (decided(Approved=60), 600.0, 600.0),
    ],
)
def test_cleanup_time_of_a_request(conditions: list[dict[str, Any]], lifetime: float | None, end: float | None) -> None:
    """A request is deleted an hour after it was completed, a day after its creation otherwise, or when its certificate
    expires."""
    status: dict[str, Any] = {"conditions": conditions}
    if lifetime is not None:
        authority = new_authority("x", now=datetime.fromtimestamp(NOW, UTC), lifetime=timedelta(seconds=lifetime))
        status["certificate"] = base64.b64encode(chain_pem(authority.certificate)).decode()
    found = end_of({"metadata": {"creationTimestamp": timestamp(NOW)}, "status": status})
    assert (None if found is None else found - NOW) == end


def token(id_: str, **data: str) -> dict[str, Any]:
    text = {"token-id": id_, "token-secret": "abcdefghij012345", **{k.replace("_", "-"): v for k, v in data.items()}}
    return {
        "metadata": {"name": f"bootstrap-token-{id_}"},
        "type": ORCH("bootstrap.{long}.io/token"),
        "stringData": text,
    }


def test_cluster_info_is_signed(requests: Requests) -> None:
    """Each signing token has a signature, which is renewed when the content changes and removed when the token
    expires."""
    cluster, public, system = requests.cluster, ORCH("{short}-public"), ORCH("{short}-system")
    content = CLUSTER_INFO_KEY
    cluster.create(
        CONFIG_MAPS, {"metadata": {"name": "cluster-info"}, "data": {content: "apiVersion: v1\nkind: Config\n"}}, public
    )
    cluster.create(SECRETS, token("ctrl01", usage_bootstrap_signing="true", expiration="2027-01-15T08:01:00Z"), system)
    cluster.create(SECRETS, token("ctrl02", usage_bootstrap_authentication="true"), system)
    cluster.settle()
    key = f"jws-{content}-ctrl01"

    def data() -> dict[str, str]:
        config_map = cluster.get(CONFIG_MAPS, "cluster-info", public)
        assert config_map is not None
        signed: dict[str, str] = config_map["data"]
        return signed

    # As recorded from the reference.
    assert data()[key] == "eyJhbGciOiJIUzI1NiIsImtpZCI6ImN0cmwwMSJ9..ekrbqCdL67PNYysAkCSVUHVW2gmJHbcMlDZ9ADoFdDY"
    assert len(data()) == 2
    cluster.patch(
        CONFIG_MAPS, "cluster-info", {"data": {content: "apiVersion: v1\nkind: Config\npreferences: {}\n"}}, public
    )
    assert data()[key] == "eyJhbGciOiJIUzI1NiIsImtpZCI6ImN0cmwwMSJ9..e_-0ha5ASHLa8pTJ4RLDZnsiUYtYJnKZWqAqWxtjOUw"
    cluster.settle(70)
    assert list(data()) == [content]
    assert cluster.get(SECRETS, "bootstrap-token-ctrl01", system) is None


@pytest.mark.parametrize(
    ("expiration", "left"),
    [("2027-01-15T07:59:59Z", False), ("soon", False), ("2099-01-01T00:00:00Z", True), ("", True)],
)
def test_expired_and_unreadable_tokens_are_deleted(requests: Requests, expiration: str, left: bool) -> None:
    """Tokens that have expired, or whose expiry is malformed, are deleted; other Secrets are not."""
    system = ORCH("{short}-system")
    assert NOW == 1_800_000_000
    data = {"expiration": expiration} if expiration else {}
    requests.cluster.create(SECRETS, token("abcdef", **data), system)
    requests.cluster.create(
        SECRETS, {"metadata": {"name": "other"}, "stringData": {"expiration": "2000-01-01T00:00:00Z"}}, system
    )
    requests.cluster.settle()
    assert (requests.cluster.get(SECRETS, "bootstrap-token-abcdef", system) is not None) is left
    assert requests.cluster.get(SECRETS, "other", system) is not None


def test_bootstrap_token_joins_a_node(tmp_path: Path) -> None:
    """A bootstrap token is enough to get a node's certificate, with which the node registers and reads only what it
    may."""
    cluster = Cluster(tmp_path, ["csrapproving", "csrsigning"], ["--authorization-mode=Node,RBAC"])
    requests = Requests(cluster)
    requests.bind("system:node-bootstrapper", "system:bootstrappers")
    requests.bind("system:certificates.{abbr}.io:certificatesigningrequests:nodeclient", "system:bootstrappers")
    request = requests.post(
        "join", NODE_CLIENT, NODE_USAGES, user="system:bootstrap:abcdef", group="system:bootstrappers"
    )
    signed = certificate(request)
    authority = cluster.server.server.files.certificates.ca_certificate.read_bytes()
    signed.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
    name, group = (str(part.value) for part in reversed(list(signed.subject)))
    node = cluster.server.client(name, group)
    nodes = ResourceRef("", "v1", "nodes")
    run(node.create(nodes, "", {"metadata": {"name": "n"}}))
    with pytest.raises(ApiError) as caught:
        run(node.list(SECRETS, "default"))
    assert caught.value.code == 403
    cluster.stop()


def test_each_signer_has_its_own_key_pair(tmp_path: Path) -> None:
    """Each signer has its own key files; requests for a signer without files are not signed."""
    flags = []
    for name in ("{short}let-client", "{short}-apiserver-client"):
        authority = new_authority(ORCH(name), now=datetime.fromtimestamp(NOW, UTC))
        for word, data in (("cert", chain_pem(authority.certificate)), ("key", private_pem(authority.key))):
            path = tmp_path / f"{ORCH(name)}.{word}"
            path.write_bytes(data)
            flags.append(f"--cluster-signing-{ORCH(name)}-{word}-file={path}")
    cluster = Cluster(tmp_path / "data", ["csrsigning"], flags)
    requests = Requests(cluster)
    requests.bind("system:node-bootstrapper", "joes")
    signed = {}
    serving = ["digital signature", "key encipherment", "server auth"]
    for name, signer, usages in (
        ("a", NODE_CLIENT, NODE_USAGES),
        ("b", CLIENT, ["client auth"]),
        ("c", NODE_SERVING, serving),
    ):
        requests.post(name, signer, usages, request(names=[DNS] if name == "c" else None))
        found = requests.approve(name)
        issuer = certificate(found).issuer.rfc4514_string() if found["status"].get("certificate") else ""
        signed[name] = issuer, reasons(found)
    approved = [("Approved", "r")]
    assert signed == {
        "a": (f"CN={ORCH('{short}let-client')}", approved),
        "b": (f"CN={ORCH('{short}-apiserver-client')}", approved),
        "c": ("", approved),
    }
    cluster.stop()
