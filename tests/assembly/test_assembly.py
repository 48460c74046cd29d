"""Parts of the assembly: health checks, sections of the admission configuration, choices of flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from orchd.assembly.admission import sections
from orchd.assembly.capabilities import capabilities
from orchd.assembly.checks import checks
from orchd.assembly.custom_kinds import enabled_catalog
from orchd.config import choices
from orchd.config import settings as configuration
from orchd.config.options import Options
from orchd.controllers.table import CONTROLLERS
from orchd.dialect import ORCH
from orchd.server.admission import builtin
from orchd.server.authz import modes
from orchd.server.escalation_guard import EscalationGuard
from orchd.server.state import ServerState
from orchd.testing.server import make_server, run


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
        made = checks(ORCH, progress, store=lambda: wrong[0], informers=lambda: wrong[1])
        assert [c.name for c in made if c.live and c.probe()] == ["etcd"]
        wrong[0] = ""
        progress.stopping = True
        assert "shutdown" in [c.name for c in made if c.ready and c.probe()]
        assert not [c.name for c in made if c.live and c.probe()]

    def test_health_check_names_are_unique(self) -> None:
        """A name appears once in each list of checks."""
        made = checks(ORCH, ServerState(lambda: 0.0, 0), store=lambda: "", informers=lambda: "")
        for listed in ([c.name for c in made if c.live], [c.name for c in made if c.ready]):
            assert len(listed) == len(set(listed))

    def test_stopping_server_is_not_ready_and_ends_watches(self, tmp_path: Path) -> None:
        """A started server is ready; a stopping one is not, and ends its watches."""
        server = make_server(tmp_path)
        assert run(server.request("GET", "/readyz?verbose")).body.endswith(b"readyz check passed\n")
        run(server.server.frontend.close())
        answer = run(server.request("GET", "/readyz"))
        assert answer.code == 500 and b"[-]shutdown failed" in answer.body
        assert run(server.request("GET", "/livez")).code == 200
        assert run(server.request("GET", "/readyz?exclude=shutdown")).code == 200
        server.stop()
        # Calls that are due in this turn of the reactor run; nothing is scheduled for later.
        server.clock.advance(0)
        assert not server.clock.getDelayedCalls()


class TestSections:
    def test_admission_configuration_inline_or_in_another_file(self, tmp_path: Path) -> None:
        """A plugin's section is inline or in the file that its path names."""
        (tmp_path / "other.yaml").write_text("limit: 3\n")
        text = "plugins:\n- name: A\n  configuration: {x: 1}\n- name: B\n  path: other.yaml\n- name: C\n"
        (tmp_path / "main.yaml").write_text(text)
        assert sections(str(tmp_path / "main.yaml")) == {"A": {"x": 1}, "B": {"limit": 3}, "C": {}}
        assert sections("") == {}

    @pytest.mark.parametrize("text", ["plugins:\n- configuration: {}\n", "[]", "a: b: c", "plugins:\n- name: A\n  path: none\n"])
    def test_invalid_admission_configuration_names_the_flag(self, tmp_path: Path, text: str) -> None:
        """An unusable file raises a ValueError that names the flag and the file."""
        (tmp_path / "main.yaml").write_text(text)
        with pytest.raises(ValueError, match=r"--admission-control-config-file: .*(yaml|none)"):
            sections(str(tmp_path / "main.yaml"))


def test_flags_offer_exactly_the_existing_parts() -> None:
    """The admission plugins, authorizers and controllers that flags offer are those that exist."""
    found = capabilities()
    assert "NamespaceLifecycle" in found.admission_plugins and {"RBAC", "Node"} <= found.authorizers
    assert found.controllers


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
    options.parseOptions([f"--data-dir={tmp_path}", "--controllers=-*", f"--runtime-config={flag}"])
    catalog = enabled_catalog(configuration.from_options(options))
    assert all(catalog.resource(*key) for key in there) and not any(catalog.resource(*key) for key in gone)
    for group in catalog.groups:
        assert group.versions and all(catalog.in_version(group.name, v) for v in group.versions)


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

        def __init__(self, group: str, plural: str) -> None:
            self.resource = type("R", (), {"group": group, "plural": plural, "namespaced": not plural.startswith("cluster")})

    guard: Any = EscalationGuard(Admission(), Check(), "rbac")  # type: ignore[arg-type]  # as much of both as is used
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
