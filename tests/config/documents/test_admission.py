"""AdmissionConfiguration files: the sections of plugins, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from orchd.config.choices import ADMISSION_PLUGINS
from orchd.config.documents.admission import DOCUMENTS, parse_admission
from orchd.config.documents.decoding import DocumentError
from orchd.dialect import KUBERNETES, ORCH, Dialect
from orchd.server.admission import builtin

HEAD = {"apiVersion": ORCH("apiserver.config.{abbr}.io/v1"), "kind": "AdmissionConfiguration"}
SECURITY = {"apiVersion": ORCH("pod-security.admission.config.{abbr}.io/v1beta1"), "kind": "PodSecurityConfiguration"}
LIMITS = {"apiVersion": ORCH("eventratelimit.admission.{abbr}.io/v1alpha1"), "kind": "Configuration"}


def parse(text: str, dialect: Dialect = ORCH, files: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    def read(path: str) -> bytes:
        try:
            return files[path].encode()
        except KeyError:
            raise FileNotFoundError("no such file") from None

    return {name: section.values for name, section in parse_admission(text.encode(), dialect, read).items()}


def document(*plugins: Any, **more: Any) -> str:
    return json.dumps({**HEAD, "plugins": list(plugins), **more})


def plugin(name: str, **configuration: Any) -> dict[str, Any]:
    return {"name": name, "configuration": configuration}


def test_sections_are_inside_or_in_another_file() -> None:
    """A section is inside the file or in the file that its path names; the one inside takes precedence."""
    text = document(
        plugin("PodNodeSelector", podNodeSelectorPluginConfig={"a": "b=c"}),
        {"name": "TeamLabel", "path": "team.yaml"},
        {"name": "PodSecurity", "path": "none", "configuration": SECURITY},
        {"name": "LimitRanger"},
    )
    assert parse(text, files={"team.yaml": "limit: 3\n"}) == {
        "PodNodeSelector": {"podNodeSelectorPluginConfig": {"a": "b=c"}},
        "TeamLabel": {"limit": 3},
        "PodSecurity": {"defaults": {}, "exemptions": {}},
        "LimitRanger": None,
    }


@pytest.mark.parametrize("dialect", [ORCH, KUBERNETES])
@pytest.mark.parametrize(
    ("name", "version", "kind"),
    [
        ("EventRateLimit", "eventratelimit.admission.{abbr}.io/v1alpha1", "Configuration"),
        ("MutatingAdmissionWebhook", "apiserver.config.{abbr}.io/v1", "WebhookAdmissionConfiguration"),
        ("ValidatingAdmissionWebhook", "apiserver.config.{abbr}.io/v1alpha1", "WebhookAdmission"),
        ("PodSecurity", "pod-security.admission.config.{abbr}.io/v1", "PodSecurityConfiguration"),
        ("PodSecurity", "pod-security.admission.config.{abbr}.io/v1alpha1", "PodSecurityConfiguration"),
        ("PodTolerationRestriction", "podtolerationrestriction.admission.{abbr}.io/v1alpha1", "Configuration"),
        ("ResourceQuota", "apiserver.config.{abbr}.io/v1", "ResourceQuotaConfiguration"),
        ("ResourceQuota", "resourcequota.admission.{abbr}.io/v1beta1", "Configuration"),
        ("ResourceQuota", "resourcequota.admission.{abbr}.io/v1alpha1", "Configuration"),
    ],
)
@pytest.mark.parametrize("outer", ["apiserver.config.{abbr}.io/v1", "apiserver.{abbr}.io/v1alpha1"])
def test_versions_of_sections(dialect: Dialect, name: str, version: str, kind: str, outer: str) -> None:
    """The file and each section are accepted in each of their versions, and a section in no other."""
    section = {"apiVersion": dialect(version), "kind": kind}
    whole = {"apiVersion": dialect(outer), "kind": "AdmissionConfiguration"}
    assert name in parse(json.dumps({**whole, "plugins": [plugin(name, **section)]}), dialect)
    with pytest.raises(
        DocumentError, match=r'^plugins\[0\].configuration: no kind "\w+" is registered for version "apps/v1"; expected'
    ):
        parse(json.dumps({**whole, "plugins": [plugin(name, **section | {"apiVersion": "apps/v1"})]}), dialect)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "Object 'Kind' is missing; expected AdmissionConfiguration of apiserver.config.orch.io/v1 or apiserver.orch.io/v1alpha1",
        ),
        (
            json.dumps({**HEAD, "kind": "Admission"}),
            'no kind "Admission" is registered for version "apiserver.config.orch.io/v1"; expected',
        ),
        (
            json.dumps({**HEAD, "apiVersion": "v1"}),
            'no kind "AdmissionConfiguration" is registered for version "v1"; expected',
        ),
        (document(plugin=[]), 'strict decoding error: unknown field "plugin"'),
        (document({"name": "PodSecurity", "config": {}}), 'strict decoding error: unknown field "plugins[0].config"'),
        (document({"path": "x"}), "plugins[0].name: Required value"),
        (document({"name": "PodSecurity"}, {"name": "PodSecurity"}), "plugins[1].name: Duplicate value: 'PodSecurity'"),
        (document(plugin("LimitRanger")), "plugins[0].configuration: plugin LimitRanger has no configuration"),
        (
            document(plugin("PodSecurity")),
            "plugins[0].configuration: Object 'Kind' is missing; expected PodSecurityConfiguration of",
        ),
        (
            document(plugin("PodSecurity", **SECURITY, defaults={"enforc": "baseline"})),
            'plugins[0].configuration: strict decoding error: unknown field "defaults.enforc"',
        ),
        (
            document(plugin("PodSecurity", **SECURITY)).replace(
                '"kind": "PodS', '"defaults": {"warn": "a", "warn": "b"}, "kind": "PodS'
            ),
            'plugins[0].configuration: strict decoding error: duplicate field "defaults.warn"',
        ),
        (
            document(plugin("EventRateLimit", **LIMITS, limits=[{"type": "Server", "qps": "1"}])),
            "plugins[0].configuration: json: cannot unmarshal string into Go struct field Limit.limits.qps of type int32",
        ),
        (
            document(plugin("ImagePolicyWebhook", imagePolicy={"configFile": "x"})),
            'plugins[0].configuration: strict decoding error: unknown field "imagePolicy.configFile"',
        ),
        (
            document(plugin("PodNodeSelector", kind="X", podNodeSelectorPluginConfig={})),
            'plugins[0].configuration: strict decoding error: unknown field "kind"',
        ),
        (
            document(plugin("TeamLabel", a=1)).replace('"a": 1', '"a": 1, "a": 2'),
            'plugins[0].configuration: strict decoding error: duplicate field "a"',
        ),
        (
            document({"name": "PodSecurity", "configuration": 3}),
            "plugins[0].configuration: must be an object, not number",
        ),
        (document({"name": "PodSecurity", "path": "none"}), "plugins[0].path: none: no such file"),
        (document({"name": "TeamLabel", "path": "broken"}), "plugins[0].path: broken: yaml: "),
        (
            document({"name": "TeamLabel", "path": "repeated"}),
            "plugins[0].path: repeated: strict decoding error: yaml: unmarshal errors:",
        ),
        (document({"name": "PodSecurity", "path": "repeated"}), "plugins[0].path: repeated: Object 'Kind' is missing"),
    ],
)
def test_invalid_text_names_the_field(text: str, message: str) -> None:
    """Unknown, repeated and mistyped members, and other kinds, are refused in the file and in each section, with the
    place."""
    with pytest.raises(DocumentError) as caught:
        parse(text, files={"broken": "a: [", "repeated": "a: 1\na: 2\n"})
    assert str(caught.value).startswith(message)


def test_documents_are_of_built_in_plugins() -> None:
    """Each document configures a plugin that exists, and the plugins that flags know are those that exist."""
    assert DOCUMENTS.keys() <= set(builtin.NAMES)
    assert set(ADMISSION_PLUGINS) >= set(builtin.NAMES)
