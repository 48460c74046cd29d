"""Parts of the assembly: health checks, sections of the admission configuration, choices of flags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.assembly.admission import sections
from orchd.assembly.capabilities import capabilities
from orchd.assembly.checks import checks
from orchd.assembly.custom_kinds import enabled_catalog
from orchd.config import choices
from orchd.config.options import Options, from_options
from orchd.controllers.table import CONTROLLERS
from orchd.dialect import ORCH
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.admission import builtin
from orchd.server.authz import modes
from orchd.server.permission_guards import GuardedAdmission, escalation_checks
from orchd.server.state import ServerState
from orchd.testing.doubles.server import make_server, run


class TestHealth:
    def test_incomplete_start_fails_readyz_at_once_and_livez_after_the_grace_period(self) -> None:
        """During an incomplete start /readyz fails at once, /livez only after the grace period."""
        clock = Clock()
        progress = ServerState(clock.seconds, 10)
        assert progress.probe("x")() and not progress.lenient("x")()
        clock.advance(11)
        assert progress.lenient("x")()
        progress.done("x")
        assert not progress.probe("x")() and not progress.lenient("x")()

    def test_failing_component_fails_only_its_own_check(self) -> None:
        """A failing store or informer fails its own check and no other; the shutdown check fails while the server
        stops."""
        progress = ServerState(lambda: 0.0, 10)
        wrong = ["disk full", ""]
        checks_by_name = checks(
            ObjectSettings(dialect=ORCH), progress, store=lambda: wrong[0], informers=lambda: wrong[1]
        )
        assert [c.name for c in checks_by_name if c.live and c.probe()] == ["etcd"]
        wrong[0] = ""
        progress.stopping = True
        assert "shutdown" in [c.name for c in checks_by_name if c.ready and c.probe()]
        assert not [c.name for c in checks_by_name if c.live and c.probe()]

    def test_health_check_names_are_unique(self) -> None:
        """A name appears once in each list of checks."""
        health_checks = checks(
            ObjectSettings(dialect=ORCH), ServerState(lambda: 0.0, 0), store=lambda: "", informers=lambda: ""
        )
        for listed in ([c.name for c in health_checks if c.live], [c.name for c in health_checks if c.ready]):
            assert len(listed) == len(set(listed))

    def test_stopping_server_is_not_ready_and_ends_watches(self, tmp_path: Path) -> None:
        """A started server is ready; a stopping one is not, and ends its watches."""
        server = make_server(tmp_path)
        assert run(server.request("GET", "/readyz?verbose")).body.endswith(b"readyz check passed\n")
        run(server.server.frontend.close())
        response = run(server.request("GET", "/readyz"))
        assert response.code == 500 and b"[-]shutdown failed" in response.body
        assert run(server.request("GET", "/livez")).code == 200
        assert run(server.request("GET", "/readyz?exclude=shutdown")).code == 200
        server.stop()
        # Calls that are due in this turn of the reactor run; nothing is scheduled for later.
        server.clock.advance(0)
        assert not server.clock.getDelayedCalls()


def admission_file(folder: Path, plugin: str, configuration: Mapping[str, Any]) -> str:
    """The flag with a file that configures one plugin."""
    head = {"apiVersion": ORCH("apiserver.config.{abbr}.io/v1"), "kind": "AdmissionConfiguration"}
    file = folder / "admission.yaml"
    file.write_text(json.dumps({**head, "plugins": [{"name": plugin, "configuration": configuration}]}))
    return f"--admission-control-config-file={file}"


def section(version: str, kind: str, **members: Any) -> dict[str, Any]:
    return {"apiVersion": ORCH(version), "kind": kind, **members}


SECURITY = ("pod-security.admission.config.{abbr}.io/v1", "PodSecurityConfiguration")
TOLERATIONS = ("podtolerationrestriction.admission.{abbr}.io/v1alpha1", "Configuration")
LIMITS = ("eventratelimit.admission.{abbr}.io/v1alpha1", "Configuration")
HOOKS = ("apiserver.config.{abbr}.io/v1", "WebhookAdmissionConfiguration")
QUOTA = ("apiserver.config.{abbr}.io/v1", "ResourceQuotaConfiguration")


@pytest.mark.parametrize(
    ("plugin", "configuration", "message"),
    [
        (
            "PodSecurity",
            section(*SECURITY, defaults={"enforce": "basic"}),
            'defaults.enforce: Invalid value: "basic": must be one of',
        ),
        (
            "PodSecurity",
            section(*SECURITY, defaults={"warn-version": "1.2"}),
            'defaults.warn-version: Invalid value: "1.2": must be',
        ),
        (
            "PodSecurity",
            section(*SECURITY, exemptions={"namespaces": ["a", "B"]}),
            'exemptions.namespaces[1]: Invalid value: "B"',
        ),
        (
            "PodSecurity",
            section(*SECURITY, exemptions={"usernames": ["a", "a"]}),
            'exemptions.usernames[1]: Duplicate value: "a"',
        ),
        (
            "PodSecurity",
            section(*SECURITY, exemptions={"usernames": [""]}),
            'exemptions.usernames[0]: Invalid value: ""',
        ),
        (
            "PodSecurity",
            section(*SECURITY, exemptions={"runtimeClasses": ["_"]}),
            'exemptions.runtimeClasses[0]: Invalid value: "_"',
        ),
        (
            "PodTolerationRestriction",
            section(*TOLERATIONS, default=[{"key": "a", "operator": "Is"}]),
            "default[0].operator: Unsupported value",
        ),
        ("EventRateLimit", section(*LIMITS, limits=[]), "limits: Required value: must not be empty"),
        (
            "EventRateLimit",
            section(*LIMITS, limits=[{"type": "X", "qps": 1, "burst": 1}]),
            'limits[0].type: Unsupported value: "X"',
        ),
        (
            "EventRateLimit",
            section(*LIMITS, limits=[{"type": "User", "qps": 0, "burst": 1}]),
            "limits[0].qps: Invalid value: 0: must be positive",
        ),
        (
            "MutatingAdmissionWebhook",
            section(*HOOKS, orchConfigFile="a"),
            'orchConfigFile: Invalid value: "a": must be an absolute file path',
        ),
        ("ValidatingAdmissionWebhook", section(*HOOKS, orchConfigFile="/none"), "orchConfigFile: /none: "),
        (
            "ResourceQuota",
            section(*QUOTA, limitedResources=[{"resource": ""}]),
            "limitedResources[0].resource: Required value",
        ),
        (
            "PodNodeSelector",
            {"podNodeSelectorPluginConfig": {"ns": "a"}},
            "podNodeSelectorPluginConfig.ns: invalid selector: [a]",
        ),
        ("ImagePolicyWebhook", {"imagePolicy": {"orchConfigFile": "/none"}}, "/none: "),
        ("LimitRange", {}, "unknown admission plugin 'LimitRange'; the nearest is 'LimitRanger'"),
    ],
)
def test_invalid_configuration_of_a_plugin_names_file_and_field(
    tmp_path: Path, plugin: str, configuration: dict[str, Any], message: str
) -> None:
    """A value that a plugin cannot use fails the start with the flag, the file, the section, the plugin and the
    field."""
    flag = admission_file(tmp_path, plugin, configuration)
    on = () if plugin == "LimitRange" else (f"--enable-admission-plugins={plugin}",)
    with pytest.raises(ValueError, match="admission") as caught:
        make_server(tmp_path / "data", flag, *on)
    named = "" if plugin == "LimitRange" else f"{plugin}: "
    assert str(caught.value).startswith(f"{flag.replace('=', ': ')}: plugins[0].configuration: {named}{message}")


@pytest.mark.parametrize("text", ["plugins: []", "[]", "a: b: c"])
def test_invalid_admission_configuration_names_flag_and_file(tmp_path: Path, text: str) -> None:
    """An unusable file raises a ValueError that names the flag and the file."""
    (tmp_path / "main.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"^--admission-control-config-file: \S*main.yaml: "):
        sections(str(tmp_path / "main.yaml"), ORCH)


def test_flags_offer_exactly_the_existing_parts() -> None:
    """The admission plugins, authorizers and controllers that flags offer are those that exist."""
    names = capabilities()
    assert "NamespaceLifecycle" in names.admission_plugins and {"RBAC", "Node"} <= names.authorizers
    assert names.controllers


@pytest.mark.parametrize(
    ("flag", "there", "gone"),
    [
        ("apps/v1=false", [], [("apps", "v1", "deployments")]),
        ("api/beta=false", [("apps", "v1", "deployments")], [("policy", "v1beta1", "poddisruptionbudgets")]),
        ("apps/v1/deployments=false", [("apps", "v1", "daemonsets")], [("apps", "v1", "deployments")]),
    ],
)
def test_runtime_config(tmp_path: Path, flag: str, there: Any, gone: Any) -> None:
    """--runtime-config decides which versions and resources are served."""
    options = Options()
    off = "--enable-priority-and-fairness=false"
    options.parseOptions([f"--data-dir={tmp_path}", "--controllers=-*", off, f"--runtime-config={flag}"])
    catalog = enabled_catalog(from_options(options))
    assert all(catalog.resource(*key) for key in there) and not any(catalog.resource(*key) for key in gone)
    for group in catalog.groups:
        assert group.versions and all(catalog.in_version(group.name, v) for v in group.versions)


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        (["--runtime-config=v1=false"], "v1"),
        (["--runtime-config=apiregistration.orch.io/v1=false"], "apiregistration.orch.io/v1"),
        (
            ["--runtime-config=rbac.authorization.orch.io/v1=false", "--authorization-mode=RBAC"],
            "rbac.authorization.orch.io/v1",
        ),
        (["--runtime-config=rbac.authorization.orch.io/v1=false", "--authorization-mode=AlwaysAllow"], ""),
        (["--runtime-config=api/beta=false", "--enable-priority-and-fairness=false"], ""),
        (["--runtime-config=scheduling.orch.io/v1=false", "--disable-admission-plugins=Priority"], ""),
    ],
)
def test_kinds_that_every_cluster_needs(tmp_path: Path, flags: list[str], missing: str) -> None:
    """A server starts without kinds that it only fills at first, and says which kind it cannot start without."""
    if missing:
        with pytest.raises(ValueError, match=f"^--runtime-config: API group/version {missing} must be enabled, for "):
            make_server(tmp_path, *flags)
    else:
        server = make_server(tmp_path, *flags)
        assert run(server.request("GET", "/readyz")).code == 200
        server.stop()


def test_role_writes_pass_the_escalation_check() -> None:
    """Writes of roles and bindings are checked for escalation after admission, with their namespace; other writes are
    not."""
    asked: list[Any] = []

    class Check:
        async def role(self, user: Any, plural: str, obj: Any, old: Any) -> None:
            asked.append((plural, obj))

        async def binding(self, user: Any, plural: str, obj: Any, old: Any) -> None:
            asked.append((plural, obj))

    class Admission:
        def review(self, context: Any, operation: str, old: Any, *, name: str = "") -> Any:
            return self

        async def mutate(self, obj: Any) -> Any:
            return None if obj is None else {**obj, "admitted": True}

    class Context:
        user = None
        namespace = "home"
        subresource = ""

        def __init__(self, group: str, plural: str) -> None:
            self.resource = type(
                "R", (), {"group": group, "plural": plural, "namespaced": not plural.startswith("cluster")}
            )

    checks = escalation_checks(Check(), "rbac")  # type: ignore[arg-type]  # as much of it as is used
    guard: Any = GuardedAdmission(Admission(), mutated=checks, validated={})  # type: ignore[arg-type]
    assert run(guard.review(Context("rbac", "roles"), "CREATE", None).mutate({})) == {"admitted": True}
    run(guard.review(Context("rbac", "clusterrolebindings"), "UPDATE", {}).mutate({}))
    run(guard.review(Context("rbac", "roles"), "DELETE", {}).mutate(None))
    run(guard.review(Context("", "roles"), "CREATE", None).mutate({}))
    assert asked == [
        ("roles", {"admitted": True, "metadata": {"namespace": "home"}}),
        ("clusterrolebindings", {"admitted": True, "metadata": {}}),
    ]


def test_flag_tables_match_the_built_modules() -> None:
    """The flag tables, which cannot import the modules that they name, agree with these modules."""
    assert choices.ADMISSION_PLUGINS == builtin.NAMES and set(builtin.NAMES) >= choices.DEFAULT_ADMISSION_PLUGINS
    assert set(choices.CONTROLLERS_BUILT) == {row.name for row in CONTROLLERS}
    assert set(choices.AUTHORIZERS) == set(modes.MODES)
