"""The client configuration, read and changed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.config_files import replace_file
from orchd.ctl.cluster.configuration import GlobalFlags
from orchd.ctl.errors import CommandError
from orchd.dialect import DIALECTS
from orchd.pki.clientconfig import Impersonation
from tests.ctl.ctl_runner import Ctl


def configuration_file(path: Path, name: str, *, current: str = "") -> Path:
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", **({"current-context": current} if current else {}),
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example", "certificate-authority": "ca.pem"}}],
        "users": [{"name": name, "user": {"token": "secret"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": f"ns-{name}"}}],
    }))  # fmt: skip
    (path.parent / "ca.pem").write_text("")
    return path


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)
def test_configuration_files_are_merged(tmp_path: Path, dialect: object) -> None:
    """Several files of the environment variable are merged; the first current-context counts; paths are relative to
    their own file."""
    (tmp_path / "x").mkdir()
    one = configuration_file(tmp_path / "one", "one", current="one")
    two = configuration_file(tmp_path / "x" / "two", "two", current="two")
    environment = {dialect("{SHORT}CONFIG"): f"{one}:{two}:{tmp_path}/missing"}  # type: ignore[operator]  # a Dialect
    config = configuration.load(GlobalFlags(), environment)
    assert (config.server, config.namespace, config.token) == ("https://one.example", "ns-one", "secret")
    config = configuration.load(GlobalFlags(context="two", token="other", as_user="u"), environment)
    assert (config.server, config.token, config.authority_file) == (
        "https://two.example",
        "other",
        str(tmp_path / "x" / "ca.pem"),
    )
    assert config.impersonation is not None


def test_entries_change_in_their_own_file(ctl: Ctl, tmp_path: Path) -> None:
    """Of several files the one that has an entry is changed; new entries go into the first."""
    one = configuration_file(tmp_path / "one", "one", current="one")
    two = configuration_file(tmp_path / "two", "two")
    ctl.environment = {ctl.server.dialect("{SHORT}CONFIG"): f"{one}:{two}"}
    before = one.read_text()
    ctl("config", "set-cluster", "two", "--server=https://changed.example")
    assert one.read_text() == before
    assert yaml.safe_load(two.read_text())["clusters"][0]["cluster"]["server"] == "https://changed.example"
    ctl("config", "set-cluster", "three", "--server=https://three.example")
    assert [each["name"] for each in yaml.safe_load(one.read_text())["clusters"]] == ["one", "three"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [("./bin/plugin", "{folder}/bin/plugin"), ("/bin/plugin", "/bin/plugin"), ("plugin", "plugin")],
)
def test_programs_for_credentials_are_relative_to_their_file(tmp_path: Path, command: str, expected: str) -> None:
    """A name without a slash is looked up in PATH."""
    path = configuration_file(tmp_path / "one", "one", current="one")
    document = yaml.safe_load(path.read_text())
    version = "client.authentication.k8s.io/v1"
    document["users"][0]["user"] = {"exec": {"command": command, "apiVersion": version, "interactiveMode": "Never"}}
    path.write_text(yaml.safe_dump(document))
    config = configuration.load(GlobalFlags(config=str(path)), {})
    assert config.exec is not None and config.exec.command == expected.format(folder=tmp_path)


def test_configuration_in_the_home_folder(tmp_path: Path) -> None:
    """The default is the file in the home folder; without it the error says what to do."""
    with pytest.raises(CommandError, match="name one with --config"):
        configuration.load(GlobalFlags(), {"HOME": str(tmp_path)})
    dialect = next(iter(DIALECTS.values()))
    (tmp_path / f".{dialect.short}").mkdir()
    configuration_file(tmp_path / f".{dialect.short}" / "config", "one", current="one")
    assert configuration.load(GlobalFlags(), {"HOME": str(tmp_path)}).server == "https://one.example"
    with pytest.raises(CommandError, match="--as-group and --as-uid need --as"):
        configuration.load(GlobalFlags(server="https://a", as_groups=("g",)), {"HOME": str(tmp_path)})


def test_config_view_and_use_context(ctl: Ctl, tmp_path: Path) -> None:
    """View redacts secrets; use-context edits the file, keeps its mode, and rejects unknown names."""
    path = configuration_file(tmp_path / "config", "one", current="gone")
    path.chmod(0o600)
    assert "REDACTED" in ctl("config", "view", "--config", str(path)).out
    assert "secret" in ctl("config", "view", "--raw", "--config", str(path)).out
    assert "no context 'zz'" in ctl("config", "use-context", "zz", "--config", str(path), status=1).error
    ctl("config", "use-context", "one", "--config", str(path))
    assert ctl("config", "current-context", "--config", str(path)).out == "one\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert ctl("config", "get-contexts", "--config", str(path)).lines[1].split()[0] == "*"


def test_config_entries_are_edited(ctl: Ctl, tmp_path: Path) -> None:
    """Clusters, users and contexts are added, changed, renamed and removed; the other entries stay."""
    path = configuration_file(tmp_path / "config", "one", current="one")
    authority = tmp_path / "ca.pem"
    authority.write_text("-----BEGIN CERTIFICATE-----\n")

    def config(*words: str, **more: Any) -> Any:
        return ctl("config", *words, "--config", str(path), **more)

    assert config(
        "set-cluster", "two", "--server=https://two.example", f"--certificate-authority={authority}"
    ).lines == ['Cluster "two" set.']
    config("set-cluster", "two", f"--certificate-authority={authority}", "--embed-certs")
    config("set-credentials", "bob", "--token=t")
    assert config("set-context", "two", "--cluster=two", "--user=bob", "-n", "x").lines == ['Context "two" created.']
    assert config("set-context", "two", "-n", "y").lines == ['Context "two" modified.']
    document = yaml.safe_load(path.read_text())
    assert document["contexts"][1] == {"name": "two", "context": {"cluster": "two", "user": "bob", "namespace": "y"}}
    assert set(document["clusters"][1]["cluster"]) == {"server", "certificate-authority-data"}
    loaded = configuration.load(GlobalFlags(config=str(path), context="one", cluster="two", user="bob"), {})
    assert (loaded.server, loaded.token, loaded.namespace) == ("https://two.example", "t", "ns-one")
    assert config("get-clusters").lines == ["NAME", "one", "two"]
    assert config("rename-context", "one", "first").lines == ['Context "one" renamed to "first".']
    assert config("current-context").out == "first\n"
    assert "already" in config("rename-context", "first", "two", status=1).error
    config("delete-context", "two")
    config("delete-cluster", "two")
    config("unset", "users.bob")
    assert config("get-users").lines == ["NAME", "one"]
    assert "no cluster 'two': config get-clusters" in config("delete-cluster", "two", status=1).error
    assert "write current-context" in config("unset", "x", status=1).error
    assert "no PEM block" in config("set-cluster", "a", f"--certificate-authority={path}", status=1).error


def test_contexts_are_listed_by_name(ctl: Ctl, tmp_path: Path) -> None:
    """get-contexts takes names, and prints names alone or no headings."""
    path = configuration_file(tmp_path / "config", "one", current="one")
    ctl("config", "set-context", "two", "--cluster=one", "--user=one", "--config", str(path))
    assert ctl("config", "get-contexts", "-o", "name", "--config", str(path)).lines == ["one", "two"]
    assert ctl("config", "get-contexts", "two", "--no-headers", "--config", str(path)).out.split() == [
        "two",
        "one",
        "one",
    ]
    assert "no context 'no'" in ctl("config", "get-contexts", "no", "--config", str(path), status=1).error


def test_properties_are_set_and_unset(ctl: Ctl, tmp_path: Path) -> None:
    """Single fields are set and removed by their path, also those of names with dots; the file is made if it is
    missing."""
    path = tmp_path / "new" / "config"

    def config(*words: str, **more: Any) -> Any:
        return ctl("config", *words, "--config", str(path), **more)

    assert config("set", "clusters.a.b.server", "https://x").lines == ['Property "clusters.a.b.server" set.']
    assert path.stat().st_mode & 0o777 == 0o600
    config("set", "clusters.a.b.insecure-skip-tls-verify", "true")
    config("set", "users.u.client-key-data", "text", "--set-raw-bytes")
    config("set", "contexts.c.cluster", "a.b")
    config("set", "current-context", "c")
    document = yaml.safe_load(path.read_text())
    assert document["clusters"] == [
        {"name": "a.b", "cluster": {"server": "https://x", "insecure-skip-tls-verify": True}}
    ]
    assert document["users"] == [{"name": "u", "user": {"client-key-data": "dGV4dA=="}}]
    config("unset", "clusters.a.b.server")
    config("unset", "users.u")
    document = yaml.safe_load(path.read_text())
    assert (document["clusters"][0]["cluster"], document["users"]) == ({"insecure-skip-tls-verify": True}, [])
    assert "is true or false" in config("set", "clusters.a.insecure-skip-tls-verify", "x", status=1).error
    assert "is in base64" in config("set", "users.u.client-key-data", "!", status=1).error
    assert "which field? Those of users are" in config("set", "users.u", "x", status=1).error
    assert "write current-context" in config("set", "nope.x", "y", status=1).error
    assert "no cluster 'z'" in config("unset", "clusters.z.server", status=1).error


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("contexts: 5", "contexts: must be a list"),
        ("clusters: {a: 1}", "clusters: must be a list"),
        ("users: [text]", "users[0]: must be a mapping with a name"),
        ("contexts: [{name: 5}]", "contexts[0]: must be a mapping with a name"),
        ("contexts: [{name: a, context: 5}]", "contexts[0].context: must be a mapping"),
        ("current-context: 5", "current-context: must be text"),
        ("[]", "must be a mapping of kind Config"),
        ("a: [b", "not YAML"),
        ("\x00", "not YAML"),
    ],
)
def test_malformed_configurations_name_the_field(ctl: Ctl, tmp_path: Path, document: str, says: str) -> None:
    """A configuration of a wrong shape is refused with the field, whatever the command."""
    path = tmp_path / "config"
    path.write_text(document)
    for words in (("config", "view"), ("config", "get-contexts"), ("config", "set", "current-context", "a")):
        assert says in ctl(*words, "--config", str(path), status=1).error
    with pytest.raises(CommandError, match=re.escape(says)):
        configuration.load(GlobalFlags(config=str(path)), {})


def test_only_regular_files_are_written(tmp_path: Path) -> None:
    """A pipe or device is not replaced by a configuration file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(CommandError, match="not a regular file"):
        replace_file(pipe, {})
    assert pipe.is_fifo()


def test_exec_plugins_and_flattened_views(ctl: Ctl, tmp_path: Path) -> None:
    """set-credentials writes a plugin; view --flatten prints the text of files."""
    path = configuration_file(tmp_path / "config", "one", current="one")
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    ctl("config", "set-cluster", "one", f"--certificate-authority={tmp_path / 'ca.pem'}", "--config", str(path))
    version = "client.authentication.k8s.io/v1"
    ctl(
        "config",
        "set-credentials",
        "e",
        "--exec-command=p",
        f"--exec-api-version={version}",
        "--exec-arg=a",
        "--exec-env=K=V",
        "--config",
        str(path),
    )
    ctl("config", "set-credentials", "e", "--exec-env=L=W", "--exec-env=K-", "--config", str(path))
    user = yaml.safe_load(path.read_text())["users"][-1]["user"]
    assert user["exec"] == {
        "command": "p",
        "apiVersion": version,
        "args": ["a"],
        "env": [{"name": "L", "value": "W"}],
        "interactiveMode": "IfAvailable",
    }
    flat = yaml.safe_load(ctl("config", "view", "--flatten", "--raw", "--config", str(path)).out)
    assert set(flat["clusters"][0]["cluster"]) == {"server", "certificate-authority-data"}
    assert (
        "--exec-command"
        in ctl("config", "set-credentials", "e", "--auth-provider=oidc", "--config", str(path), status=1).error
    )
    assert (
        "two ways"
        in ctl("config", "set-credentials", "e", "--token=t", "--username=u", "--config", str(path), status=1).error
    )
    (tmp_path / "ca.pem").unlink()
    assert "check the path of cluster one" in ctl("config", "view", "--flatten", "--config", str(path), status=1).error


CREDENTIALS = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: k, cluster: {server: "https://first", certificate-authority-data: Y2E=}}]
users: [{name: u, user: {token: told}}]
contexts: [{name: c, context: {cluster: k, user: u}}]
"""


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"token": "t"}, {"token": "t", "username": "", "password": "", "authority": b"ca"}),
        ({"username": "x", "password": "y"}, {"token": "", "username": "x", "password": "y"}),
        ({"insecure": True}, {"insecure": True, "authority": b"", "authority_file": ""}),
        ({"server": "https://other"}, {"server": "https://other", "token": "told"}),
        (
            {"as_user": "v", "as_uid": "1", "as_groups": ("g",)},
            {"impersonation": Impersonation(user="v", uid="1", groups=("g",))},
        ),
        ({"server_name": "s"}, {"server_name": "s"}),
    ],
)
def test_flags_take_the_place_of_what_the_configuration_says(
    tmp_path: Path, flags: dict[str, Any], expected: dict[str, Any]
) -> None:
    """A flag for credentials removes those of the configuration; other values stay."""
    basic = CREDENTIALS.replace("token: told", "username: n, password: w")
    (tmp_path / "config").write_text(basic if "token" in flags else CREDENTIALS)
    config = configuration.load(GlobalFlags(config=str(tmp_path / "config"), **flags), {})
    assert {name: getattr(config, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"insecure": True, "authority": "f"}, "contradict each other"), ({"certificate": "f"}, "--client-certificate and --client-key belong together"),
        ({"key": "f"}, "belong together"), ({"token": "t", "username": "u"}, "two ways to authenticate"), ({"as_uid": "1"}, "need --as"),
        ({"authority": "/none/ca"}, "/none/ca: No such file or directory"), ({"context": "no"}, "'no'"), ({"user": "no"}, "'no'"), ({"cluster": "no"}, "'no'"),
    ],
)  # fmt: skip
def test_flags_that_do_not_fit_are_refused(tmp_path: Path, flags: dict[str, Any], says: str) -> None:
    """Flags that contradict each other, and names that the configuration does not have, are errors."""
    (tmp_path / "config").write_text(CREDENTIALS)
    with pytest.raises(CommandError, match=says):
        configuration.load(GlobalFlags(config=str(tmp_path / "config"), **flags), {})


def test_of_two_entries_with_one_name_the_first_counts(tmp_path: Path) -> None:
    """Entries of a later file are added only under names that no earlier one has."""
    (tmp_path / "a").write_text(CREDENTIALS)
    (tmp_path / "b").write_text(
        CREDENTIALS.replace("https://first", "https://second").replace("current-context: c", "current-context: d")
    )
    variable = next(iter(DIALECTS.values()))("{SHORT}CONFIG")
    document = configuration.read_document(GlobalFlags(), {variable: f"{tmp_path / 'a'}:{tmp_path / 'b'}"})
    assert [each["cluster"]["server"] for each in document["clusters"]] == ["https://first"]
    assert (len(document["users"]), document["current-context"]) == (1, "c")


@pytest.mark.parametrize(
    ("words", "member", "values"),
    [
        ("--insecure-skip-tls-verify=true config set-cluster one", "clusters", {"server": "https://one.example", "insecure-skip-tls-verify": True}),
        ("config set-cluster two --tls-server-name=n --proxy-url=http://p", "clusters", {"tls-server-name": "n", "proxy-url": "http://p"}),
        ("config set users.one.as-groups a,,b", "users", {"token": "secret", "as-groups": ["a", "b"]}),
        ("config set users.one.client-key-data dGV4dA==", "users", {"token": "secret", "client-key-data": "dGV4dA=="}),
        ("config set users.one.username bob", "users", {"token": "secret", "username": "bob"}),
        ("config set clusters.one.insecure-skip-tls-verify FALSE", "clusters",
         {"server": "https://one.example", "certificate-authority": "ca.pem", "insecure-skip-tls-verify": False}),
        ("--token=t config set-credentials one", "users", {"token": "t"}),
        ("config set-credentials one --username=u --password=p", "users", {"token": "secret", "username": "u", "password": "p"}),
        ("config set-credentials two --exec-command=c --exec-api-version=v", "users",
         {"exec": {"command": "c", "apiVersion": "v", "interactiveMode": "IfAvailable"}}),
    ],
)  # fmt: skip
def test_values_of_an_entry(ctl: Ctl, tmp_path: Path, words: str, member: str, values: dict[str, Any]) -> None:
    """What a command writes to an entry, and what it leaves."""
    path = configuration_file(tmp_path / "config", "one", current="one")
    ctl(*words.split(), "--config", str(path))
    [*_, entry] = yaml.safe_load(path.read_text())[member]
    assert entry[member[:-1]] == values


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("set-credentials e --exec-command=p", "needs --exec-command and --exec-api-version: give both"),
        ("set-credentials e --exec-api-version=v", "needs --exec-command and --exec-api-version: give both"),
        ("set-credentials e --exec-command=p --exec-api-version=v --exec-env=K", "--exec-env=K: write KEY=VALUE"),
        ("set-credentials e --exec-command=p --exec-api-version=v --exec-env==V", "--exec-env==V: write KEY=VALUE"),
        ("set-credentials e --exec-command=p --exec-api-version=v --exec-env=-", "--exec-env=-: write KEY=VALUE"),
        ("set-context", "which context? Give its name, or --current"),
        ("set-context one --current", "which context? Give its name, or --current"),
        ("view --minify --context=no", "no context 'no': config get-contexts lists them"),
        ("unset users.two.token", "no user 'two': config get-users lists them"),
    ],
)
def test_configurations_that_are_not_written(ctl: Ctl, tmp_path: Path, words: str, says: str) -> None:
    """The file stays as it is."""
    path = configuration_file(tmp_path / "config", "one", current="one")
    before = path.read_text()
    assert says in ctl("config", *words.split(), "--config", str(path), status=1).error
    assert path.read_text() == before


def test_views_of_what_a_context_uses(ctl: Ctl, tmp_path: Path) -> None:
    """view --minify leaves out what the context does not use; keys and tokens are not printed."""
    path = configuration_file(tmp_path / "config", "one", current="one")
    for line in ("set-cluster two --server=https://two.example", "set-credentials two --username=u --password=p"):
        ctl("config", *line.split(), "--config", str(path))
    ctl("config", "set-context", "two", "--cluster=two", "--user=two", "--config", str(path))
    ctl("config", "set", "users.two.client-key-data", "text", "--set-raw-bytes", "--config", str(path))
    for words, name in (((), "one"), (("--context=two",), "two")):
        out = ctl("config", "view", "--minify", "--config", str(path), *words).out
        document = yaml.safe_load(out)
        assert (document["current-context"], document["preferences"]) == (name, {})
        assert [[each["name"] for each in document[key]] for key in ("clusters", "users", "contexts")] == [[name]] * 3
    assert document["users"][0]["user"] == {"username": "u", "password": "REDACTED", "client-key-data": "DATA+OMITTED"}


def test_the_current_context_of_several_files(ctl: Ctl, tmp_path: Path) -> None:
    """The file that says which one is current is changed; who removes or renames it is told, or has it renamed."""
    one = configuration_file(tmp_path / "one", "one")
    two = configuration_file(tmp_path / "two", "two", current="two")
    ctl.environment = {ctl.server.dialect("{SHORT}CONFIG"): f"{one}:{two}"}
    ctl("config", "set", "current-context", "one")
    ctl("config", "use-context", "two")
    ctl("config", "rename-context", "one", "first")
    ctl("config", "rename-context", "two", "second")
    assert [yaml.safe_load(each.read_text()).get("current-context") for each in (one, two)] == [None, "second"]
    assert ctl("config", "set-context", "--current", "-n", "x").lines == ['Context "second" modified.']
    assert ctl("config", "delete-context", "first").error == ""
    ran = ctl("config", "delete-context", "second")
    assert ran.out == f"deleted context second from {two}\n"
    assert "Warning: this was the current context: choose another" in ran.error
    ctl("config", "unset", "current-context")
    assert "no current context" in ctl("config", "current-context", status=1).error
    assert "no current context" in ctl("config", "set-context", "--current", "-n", "x", status=1).error
    assert yaml.safe_load(two.read_text())["current-context"] == ""
