"""Commands, flags and manifests in the documentation are valid."""

from __future__ import annotations

import re
import shlex
import textwrap
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from orchd import storecommands
from orchd.config.table import COMPONENTS, component_table, table
from orchd.dialect import DIALECTS
from orchd.pki.certificates import chain_pem, new_authority
from orchd.pki.keys import private_pem
from orchd.testing.doubles.server import make_server, run

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PAGES = [
    *DOCS, *sorted(ROOT.glob("conf/*.flags")), *sorted(ROOT.glob("systemd/*")),
    ROOT / "debian/README.Debian", ROOT / "Dockerfile", ROOT / "compose.yaml",
]  # fmt: skip
TARGETS = {
    target
    for line in re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for target in line.split()
}
_EXTRAS = (ROOT / "setup.cfg").read_text(encoding="utf-8").split("[options.extras_require]")[1].split("\n[")[0]
EXTRAS = set(re.findall(r"^([a-z]+) =$", _EXTRAS, re.MULTILINE))


def spelled(names: set[str]) -> set[str]:
    """Names of flags in every dialect."""
    return {dialect(name) for name in names for dialect in DIALECTS.values()}


SERVER = spelled({flag.name for flag in table()})
COMPONENT = {
    f"{word}-{name}": spelled({flag.name for flag in component_table(name)})
    for name in COMPONENTS
    for word in ("orch", "kube")
}
#: Program -> flags that it takes.
#: Flags of single commands of orchd-store.
STORE = set(storecommands.PROGRAM.flags.values())
PROGRAMS = {"orchd": SERVER, "orchd-store": SERVER | STORE, "orchd-certs": SERVER, **COMPONENT}
#: Options of the pytest plugin.
PLUGIN = set(
    re.findall(
        r'^    "(orchd-[a-z-]+)": ', (ROOT / "orchd/testing/pytest_plugin.py").read_text(encoding="utf-8"), re.MULTILINE
    )
)
#: Flags of twistd, which come before the program's.
TWISTD = {"pidfile", "help", "version"}
#: Flags of other programs in the text, by page. Those of orchctl are tested by running the page
#: (tests/wire/test_orchctl.py).
OTHERS = {
    "decisions.md": {"help", "name"},
    "performance.md": {"json"},
    "store.md": {"auto-compaction-retention", "max-request-bytes", "max-txn-ops"},
}


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(page: Path) -> list[list[str]]:
    """The words of possible commands: indented and commented lines, and code in the text."""
    text = re.sub(r"\\\n[# ]*", " ", page.read_text(encoding="utf-8"))
    lines = [line.lstrip("# ") for line in text.splitlines() if re.match(r"(    |#\s+|#?$)", line)]
    command_lines = []
    for line in [*lines, *re.findall(r"`([^`\n]+)`", text)]:
        for part in re.split(r"; | && ", line):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue
            while words and re.match(r"[A-Z_]+=", words[0]):
                words = words[1:]
            if words:
                command_lines.append(words)
    return command_lines


def flags_of(words: list[str]) -> set[str]:
    return {found[1] for word in words if (found := re.match(r"--([a-z][a-z0-9-]*)", word))}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_exist(page: Path) -> None:
    """Make targets, flags of the server's programs and extras of the distribution in commands of a page exist."""
    wrong = []
    for words in commands(page):
        first, rest = Path(words[0]).name, words[1:]
        if first == "make" and rest and re.fullmatch(r"[a-z]+", rest[0]):
            if rest[0] not in TARGETS:
                wrong.append(f"make {rest[0]}")
            given = [
                each for word in rest[1:] if word.startswith("FLAGS=") for each in word.removeprefix("FLAGS=").split()
            ]
            wrong += flags_of(given) - SERVER
        elif first == "twistd":
            program = next((word for word in rest if word in PROGRAMS), "orchd")
            wrong += flags_of(rest) - PROGRAMS[program] - TWISTD
        elif first in PROGRAMS:
            wrong += flags_of(rest) - PROGRAMS[first] - TWISTD
        elif first in ("pip", "pipx"):
            named = {
                extra for word in rest for extras in re.findall(r"\[([a-z,]+)\]", word) for extra in extras.split(",")
            }
            wrong += named - EXTRAS
    assert not wrong


@pytest.mark.parametrize("page", [page for page in DOCS if page.name not in ("flags.md", "orchctl.md")], ids=page_id)
def test_flags_exist(page: Path) -> None:
    """Flags in the text are the server's, a component's, the pytest plugin's, or a known flag of another program."""
    known = SERVER.union(*COMPONENT.values(), STORE, PLUGIN, OTHERS.get(page.name, set()))
    flag_names = set(re.findall(r"`--([a-z][a-z0-9-]+)[=`\[ ]", page.read_text(encoding="utf-8")))
    assert not sorted(flag_names - known)


@pytest.mark.parametrize("page", DOCS, ids=page_id)
def test_manifests_are_yaml(page: Path) -> None:
    """Manifests and configuration files of a page are valid YAML."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    blocks += [
        textwrap.dedent(block)
        for block in re.findall(r"(?:^    .*\n|^\n)+", text, re.MULTILINE)
        if "apiVersion:" in block
    ]
    for block in blocks:
        for document in yaml.safe_load_all(block):
            assert isinstance(document, dict | list), block
            assert not isinstance(document, dict) or ("apiVersion" in document) == ("kind" in document), block


def documented(page: str, kind: str) -> str:
    """The configuration file of a kind on a page."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks: list[str] = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n|^\n)+", text, re.MULTILINE)]
    (documented_block,) = [block for block in blocks if f"\nkind: {kind}\n" in block]
    return documented_block


def test_documented_configuration_is_accepted(tmp_path: Path) -> None:
    """A server starts with the audit policy, the egress selector and the encryption of the pages."""
    authority = new_authority("proxy", now=datetime.now(UTC))
    for name in ("proxy-ca.crt", "proxy-client.crt"):
        (tmp_path / name).write_bytes(chain_pem(authority.certificate))
    (tmp_path / "proxy-client.key").write_bytes(private_pem(authority.key))
    egress = documented("operations.md", "EgressSelectorConfiguration").replace("/etc/orchd", str(tmp_path))
    encryption = documented("store.md", "EncryptionConfiguration")
    for number, hint in enumerate(re.findall(r"<.*?>", encryption)):
        encryption = encryption.replace(hint, b64encode(bytes([number]) * 32).decode())
    flags = []
    for flag, text in (
        ("audit-policy-file", documented("operations.md", "Policy")),
        ("egress-selector-config-file", egress),
        ("encryption-provider-config", encryption),
    ):
        file = tmp_path / f"{flag}.yaml"
        file.write_text(text)
        flags.append(f"--{flag}={file}")
    server = make_server(tmp_path / "data", *flags, f"--audit-log-path={tmp_path / 'audit.log'}")
    secrets = "/api/v1/namespaces/default/secrets"
    assert run(server.request("POST", secrets, body={"metadata": {"name": "a"}, "stringData": {"b": "c"}})).code == 201
    server.stop()
    assert '"verb":"create"' in (tmp_path / "audit.log").read_text()
