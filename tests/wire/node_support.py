"""Nodes that join a server over the network with a bootstrap token, as kubelets do."""

from __future__ import annotations

import base64
import hmac
import http.client
import json
import ssl
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from orchd.dialect import CLUSTER_INFO_KEY, Dialect
from orchd.pki.keys import private_pem
from orchd.testing import Cluster
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess, is_reusable

ID, SECRET = "abcdef", "0123456789abcdef"
GROUP = "system:bootstrappers:nodes"


#: A server to join.
Server = DaemonProcess | Cluster


def authority_of(server: Server) -> bytes:
    """The certificate authority of a server, PEM."""
    return (Path(server.ca_file) if isinstance(server, Cluster) else server.data / "pki" / "ca.crt").read_bytes()


class NodeSide:
    """The node's client, for one thread at a time. `authority` None trusts any server."""

    def __init__(
        self, server: Server, authority: bytes | None = None, token: str = "", pair: Path | None = None
    ) -> None:
        self._address = urlsplit(server.url).netloc
        self._headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        if authority is None:
            self._context = ssl._create_unverified_context()
        else:
            self._context = ssl.create_default_context(cadata=authority.decode())
        if pair is not None:
            self._context.load_cert_chain(pair)
        self._connection: http.client.HTTPSConnection | None = None

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection, self._connection = self._connection, None
        if connection is None or not is_reusable(connection):
            connection = http.client.HTTPSConnection(self._address, timeout=PATIENCE, context=self._context)
        connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        response = connection.getresponse()
        answer = response.status, json.loads(response.read())
        self._connection = connection
        return answer


def prepare_cluster(server: Server) -> None:
    """What an administrator sets up once: a token, cluster-info, and permissions."""
    dialect = server.dialect
    rbac = dialect("rbac.authorization.{abbr}.io")
    public, system = dialect("{short}-public"), dialect.system_namespace

    def create(path: str, obj: dict[str, Any]) -> None:
        code, response = server.request("POST", path, obj)
        assert code == 201, response

    data = {
        "token-id": ID, "token-secret": SECRET, "usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
        "auth-extra-groups": GROUP,
    }  # fmt: skip
    secret = {
        "metadata": {"name": f"bootstrap-token-{ID}"},
        "type": dialect("bootstrap.{long}.io/token"),
        "stringData": data,
    }
    create(f"/api/v1/namespaces/{system}/secrets", secret)
    authority = base64.b64encode(authority_of(server)).decode()
    cluster = {"certificate-authority-data": authority, "server": server.url}
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]}
    create(
        f"/api/v1/namespaces/{public}/configmaps",
        {"metadata": {"name": "cluster-info"}, "data": {CLUSTER_INFO_KEY: yaml.safe_dump(config)}},
    )
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["cluster-info"], "verbs": ["get"]}
    create(f"/apis/{rbac}/v1/namespaces/{public}/roles", {"metadata": {"name": "reader"}, "rules": [rule]})
    anyone = [{"kind": "User", "apiGroup": rbac, "name": "system:anonymous"}]
    reader = {"apiGroup": rbac, "kind": "Role", "name": "reader"}
    create(
        f"/apis/{rbac}/v1/namespaces/{public}/rolebindings",
        {"metadata": {"name": "reader"}, "subjects": anyone, "roleRef": reader},
    )
    nodes = [{"kind": "Group", "apiGroup": rbac, "name": GROUP}]
    for name, role in (
        ("ask", "system:node-bootstrapper"),
        ("get", "system:certificates.{abbr}.io:certificatesigningrequests:nodeclient"),
    ):
        ref = {"apiGroup": rbac, "kind": "ClusterRole", "name": dialect(role)}
        create(f"/apis/{rbac}/v1/clusterrolebindings", {"metadata": {"name": name}, "subjects": nodes, "roleRef": ref})


def until(node: NodeSide, path: str, *keys: str) -> Any:
    """The value at `keys` of the object at `path`, once it exists."""
    end = time.monotonic() + PATIENCE
    while True:
        code, document = node.ask("GET", path)
        assert code == 200, document
        for key in keys:
            document = (document or {}).get(key)
        if document:
            return document
        assert time.monotonic() < end, f"nothing at {path}"
        time.sleep(0.1)


def trusted_authority(server: Server, dialect: Dialect) -> bytes:
    """The cluster's CA, trusted because it is signed with the token's secret."""
    path = f"/api/v1/namespaces/{dialect('{short}-public')}/configmaps/cluster-info"
    signature = until(NodeSide(server), path, "data", f"jws-{CLUSTER_INFO_KEY}-{ID}")
    content: str = until(NodeSide(server), path, "data", CLUSTER_INFO_KEY)
    header, _, digest = signature.split(".")
    signed = f"{header}.{base64.urlsafe_b64encode(content.encode()).rstrip(b'=').decode()}"
    wanted = base64.urlsafe_b64encode(hmac.digest(SECRET.encode(), signed.encode(), "sha256")).rstrip(b"=").decode()
    assert digest == wanted
    return base64.b64decode(yaml.safe_load(content)["clusters"][0]["cluster"]["certificate-authority-data"])


def join(server: Server, authority: bytes, name: str, folder: Path) -> NodeSide:
    """A node that has obtained its certificate with the token alone, without manual approval."""
    dialect = server.dialect
    guest = NodeSide(server, authority, f"{ID}.{SECRET}")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{name}"),
    ])  # fmt: skip
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject)
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    spec = {
        "request": base64.b64encode(request).decode(),
        "signerName": dialect("{long}.io/{short}-apiserver-client-{short}let"),
        "usages": ["digital signature", "key encipherment", "client auth"],
    }
    path = f"/apis/{dialect('certificates.{abbr}.io')}/v1/certificatesigningrequests"
    code, response = guest.ask("POST", path, {"metadata": {"name": f"join-{name}"}, "spec": spec})
    assert code == 201, response
    certificate = base64.b64decode(until(guest, f"{path}/join-{name}", "status", "certificate"))
    pair = folder / f"{name}.pem"
    pair.write_bytes(certificate + private_pem(key))
    return NodeSide(server, authority, pair=pair)
