"""Client configuration files (kubeconfig) are read and written as stock clients do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.dialect import KUBERNETES, ORCH
from orchd.pki.clientconfig import (
    ClientConfig,
    ClientConfigError,
    Impersonation,
    check_names,
    in_cluster,
    load,
    only_credentials,
    parse,
    users,
)


def test_client_configuration_round_trips() -> None:
    """A rendered configuration is read back."""
    config = ClientConfig(
        server="https://h:1",
        authority=b"ca",
        certificate=b"crt",
        key=b"key",
        token="t",
        namespace="n",
        cluster="c",
        user="u",
    )
    assert parse(config.render()) == config


def test_relative_paths_start_at_the_file(tmp_path: Path) -> None:
    """Relative paths are relative to the file."""
    (tmp_path / "ca.crt").write_bytes(b"authority")
    path = tmp_path / "config"
    path.write_text(
        "{kind: Config, apiVersion: v1, current-context: x, contexts: [{name: x, context: {cluster: c}}],"
        " clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}]}"
    )
    assert load(path).authority == b"authority"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not YAML"),
        ("[]", "not a mapping"),
        ("{kind: Pod}", "not of kind Config"),
        ("{current-context: a}", "no context 'a'"),
        ("{current-context: a, contexts: [{name: a, context: {cluster: b}}]}", "no cluster 'b'"),
        ("{current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [{name: b}]}", "has no server"),
    ],
)
def test_unusable_configuration_names_what_is_missing(text: str, message: str) -> None:
    """The error names what is missing."""
    with pytest.raises(ClientConfigError, match=message):
        parse(text)


def document(user: dict[str, Any], cluster: dict[str, Any] | None = None) -> str:
    """A file with one user and one cluster."""
    return yaml.safe_dump(
        {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://h:1", **(cluster or {})}}],
            "users": [{"name": "u", "user": user}],
        }
    )


def test_cluster_fields_are_read() -> None:
    """All fields of a cluster are read."""
    config = parse(
        document({}, {"tls-server-name": "s", "insecure-skip-tls-verify": True, "proxy-url": "http://p:3128"})
    )
    assert (config.server_name, config.insecure, config.proxy, config.namespace) == ("s", True, "http://p:3128", "n")


def test_server_override() -> None:
    """A server given by flag replaces the file's, which then need not have one."""
    assert parse(document({}), server="https://other").server == "https://other"
    assert parse(document({}, {"server": ""}), server="https://other").server == "https://other"


def test_users_of_urls_are_no_part_of_the_server() -> None:
    """User and password of a URL, which are decoded, are sent instead of tokens, as by the reference."""
    config = ClientConfig(server="https://h:1", token="t")
    parsed = parse(config.render(), server="https://a:p%40%3Ass@[::1]:7/x?y")
    assert (parsed.server, parsed.username, parsed.password, parsed.token) == ("https://[::1]:7/x?y", "a", "p@:ss", "")
    assert parse(config.render(), server="https://g").token == "t"
    assert parse(config.render(), server="https://[g").server == "https://[g"


def test_certificate_files_are_reread(tmp_path: Path) -> None:
    """Certificates that were read from files are read again when these change; inline ones stay."""
    for name in ("ca", "crt", "key"):
        (tmp_path / name).write_text(f"{name} 1")
    path = tmp_path / "config"
    path.write_text(
        document(
            {"client-certificate": "crt", "client-key-data": "a2V5"}, {"certificate-authority": str(tmp_path / "ca")}
        )
    )
    config = load(path)
    assert (config.certificate, config.key, config.authority) == (b"crt 1", b"key", b"ca 1")
    (tmp_path / "crt").write_text("crt 2")
    (tmp_path / "ca").write_text("ca 2")
    again = config.reread()
    assert (again.certificate, again.key, again.authority) == (b"crt 2", b"key", b"ca 2")
    assert len(config.files) == 2


def test_impersonation_fields_are_read() -> None:
    """The user, uid, groups and extra fields to act as."""
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"scopes": ["x", "y"]}}
    assert parse(document(user)).impersonation == Impersonation(
        user="jane", uid="7", groups=("a", "b"), extra=(("scopes", ("x", "y")),)
    )


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/get", "interactiveMode": "Never"}


def test_exec_plugin_fields_are_read(tmp_path: Path) -> None:
    """All fields of an exec plugin are read; a relative command with a slash is relative to the file."""
    plugin = {
        **EXEC,
        "args": ["a", 1],
        "env": [{"name": "N", "value": "V"}],
        "installHint": "get it",
        "provideClusterInfo": True,
    }
    cluster = {"extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "z"}}]}
    path = tmp_path / "config"
    path.write_text(document({"exec": plugin}, cluster))
    exec_fields = load(path).exec
    assert exec_fields is not None
    assert exec_fields.dialect == KUBERNETES
    assert (exec_fields.command, exec_fields.args, exec_fields.env) == (
        str(tmp_path / "bin/get"),
        ("a", "1"),
        (("N", "V"),),
    )
    assert (exec_fields.install_hint, exec_fields.interactive_mode, exec_fields.provide_cluster_info) == (
        "get it",
        "Never",
        True,
    )
    assert exec_fields.cluster_extension == '{"audience": "z"}'
    bare = parse(document({"exec": {**EXEC, "command": "get"}}), folder=tmp_path).exec
    assert bare is not None and bare.command == "get"
    own = parse(document({"exec": {**EXEC, "apiVersion": "client.authentication.orch.io/v1beta1"}})).exec
    assert own is not None and own.dialect == ORCH


def test_interactive_mode_of_the_older_version() -> None:
    """interactiveMode defaults to IfAvailable in v1beta1 and is required in v1."""
    older = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "get"}
    plugin = parse(document({"exec": older})).exec
    assert plugin is not None and plugin.interactive_mode == "IfAvailable"
    with pytest.raises(ClientConfigError, match="interactiveMode must be specified"):
        parse(document({"exec": {**older, "apiVersion": EXEC["apiVersion"]}}))


@pytest.mark.parametrize(("user", "message"), [({"exec": EXEC}, "exec is not"), ({"as": "a"}, "impersonation is not")])
def test_exec_and_impersonation_may_be_refused(user: dict[str, Any], message: str) -> None:
    """A caller that runs no programs and does not impersonate rejects a configuration that asks for it, as do
    credentials."""
    with pytest.raises(ClientConfigError, match=f"{message} supported here"):
        only_credentials(parse(document(user)))
    with pytest.raises(ClientConfigError, match=f"{message} supported here"):
        users(document(user))


def test_credentials_of_all_users(tmp_path: Path) -> None:
    """Users have their own credentials, a token file's content is the token, and the current user is the fallback."""
    (tmp_path / "token").write_text("abc\n")
    credentials = users(document({"tokenFile": "token"}), folder=tmp_path)
    assert credentials["u"].token == "abc" and credentials["*"] is credentials["u"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "not a mapping"),
        ("[", "not YAML"),
        ("{user: []}", 'unknown field "user"'),
        ("{users: [1]}", "users[0]: not a mapping"),
        ("{users: [{name: a, token: b}]}", 'unknown field "users[0].token"'),
        ("{users: [{name: a, user: b}]}", "users[0].user: not a mapping"),
        (document({"tokn": "a"}), 'unknown field "users[0].user.tokn"'),
        (document({}, {"certificate-autority": "a"}), 'unknown field "clusters[0].cluster.certificate-autority"'),
        ("{contexts: [{context: {users: a}}]}", 'unknown field "contexts[0].context.users"'),
        ("{users: [{user: {token: a, token: b}}]}", "duplicate key 'token'"),
    ],
)
def test_members_of_own_files_are_checked(text: str, message: str) -> None:
    """An unknown or repeated member is refused with its path; what tools keep in extensions is not looked at."""
    check_names(document({"token": "a", "extensions": [{"name": "x", "extension": {"y": 1}}]}))
    with pytest.raises(ClientConfigError) as caught:
        check_names(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        ({"auth-provider": {"name": "oidc"}}, {}, "auth-provider is not supported"),
        ({"token": "t", "username": "u"}, {}, "more than one authentication method"),
        ({"as-groups": ["g"]}, {}, "without impersonating a user"),
        ({"as": "a", "as-groups": "g"}, {}, "as-groups must be a list"),
        ({"client-certificate-data": "YQ=="}, {}, "client-key-data or client-key must be specified"),
        ({"client-certificate-data": "YQ==", "client-certificate": "f"}, {}, "both specified"),
        ({"client-certificate-data": "!"}, {}, "not base64"),
        ({"exec": "x"}, {}, "exec must be a mapping"),
        ({"exec": {**EXEC, "command": ""}}, {}, "command must be specified"),
        ({"exec": {**EXEC, "apiVersion": ""}}, {}, "apiVersion must be specified"),
        ({"exec": {**EXEC, "apiVersion": "a/v1"}}, {}, "invalid apiVersion 'a/v1'"),
        ({"exec": {**EXEC, "interactiveMode": "Sometimes"}}, {}, "invalid interactiveMode 'Sometimes'"),
        ({"exec": {**EXEC, "env": [{"value": "v"}]}}, {}, "env variable name must be specified"),
        ({}, {"proxy-url": "socks5://p"}, "invalid 'proxy-url'"),
        ({}, {"proxy-url": "http://"}, "invalid 'proxy-url'"),
        ({}, {"insecure-skip-tls-verify": True, "certificate-authority-data": "YQ=="}, "with the insecure flag"),
    ],
)
def test_unsupported_fields_are_refused(user: dict[str, Any], cluster: dict[str, Any], message: str) -> None:
    """The error names the unsupported field."""
    with pytest.raises(ClientConfigError, match=message):
        parse(document(user, cluster))


def test_in_cluster_configuration(tmp_path: Path) -> None:
    """A pod's configuration comes from its environment and its service account's files."""
    folder = tmp_path / "var/run/secrets/kubernetes.io/serviceaccount"
    folder.mkdir(parents=True)
    (folder / "token").write_text("tok\n")
    (folder / "ca.crt").write_text("authority")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    config = in_cluster(KUBERNETES, environment, tmp_path)
    assert (config.server, config.token, config.authority) == ("https://[fd00::1]:443", "tok", b"authority")
    assert config.token_file == str(folder / "token")
    with pytest.raises(ClientConfigError, match="ORCH_SERVICE_HOST and ORCH_SERVICE_PORT must be defined"):
        in_cluster(ORCH, environment, tmp_path)
