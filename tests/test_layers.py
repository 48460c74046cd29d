"""Import rules of packages: the table of docs/architecture.md as data.

A package imports what its line names, plus `dialect`, `errors` and `values`, and itself. A name that ends with
``.interfaces`` (or another module) means only that module. The most specific line counts: ``kinds.patch`` before
``kinds``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ANYTHING = "*"

#: package -> what it may import of orchd, separated by spaces; "-" is nothing at all, not even dialect, errors and
#: values.
LAYERS = {
    "dialect": "-",
    "errors": "-",
    "values": "-",
    "pemblocks": "-",
    "txkit": "-",
    # A package by itself.
    "cel": "-",
    # Messages about times quote as those of expressions do.
    "kinds": "cel.quoting",
    "kinds.ir": "",
    "kinds.builtin": "kinds.ir",
    # Go's texts of values: below all that writes messages.
    "kinds.gotext": "cel.durations kinds.builtin kinds.ir",
    "kinds.catalog": "kinds.ir kinds.builtin",
    # Environments of expressions in objects and configuration files.
    "kinds.expressions": "cel kinds.catalog kinds.ir kinds.jsonvalues",
    # Converts definitions to catalog entries.
    "kinds.crd": "kinds.ir kinds.catalog cel pemblocks",
    # Reads the URLs of webhooks with the parser of the expressions' library.
    # The rules for changed definitions depend on the conditions of their kinds.
    "kinds.objects": "kinds.crd.conditions cel.base64_errors cel.libraries.urls kinds.ir kinds.catalog kinds.conditions kinds.expressions kinds.gotext kinds.jsonvalues kinds.verbatim pemblocks",
    # Validates the schemas of definitions: reads the keywords that crd interprets.
    "kinds.objects.schema_check": "cel kinds.ir kinds.catalog kinds.conditions kinds.crd kinds.digits kinds.gotext kinds.jsonvalues kinds.release kinds.shorttexts",
    # Decodes bytes to an object in canonical shape; the shape is an algorithm over objects.
    "kinds.codec": "kinds.ir kinds.catalog kinds.objects kinds.gotext kinds.nested",
    "kinds.patch": "kinds.ir kinds.catalog kinds.objects kinds.gotext kinds.nested",
    "kinds.openapi": "kinds.ir kinds.catalog",
    "pki": "pemblocks",
    "store": "txkit",
    "cache": "store.interfaces kinds txkit",
    "client": "kinds pki txkit",
    "server": "-",
    # TLS versions and suites are named in pki: flags, listeners and certificates share them. Credentials are part of a
    # Request.
    "server.http": "server.pipeline kinds txkit pki.tls_names server.authn.interfaces",
    # Values of reads pass from the cache through the verbs to HTTP, so the verbs use their types. Evictions read
    # disruption budgets through a client.
    "server.pipeline": "kinds txkit server.authn.interfaces server.authz.interfaces server.admission.interfaces"
    " server.registry.interfaces server.registry.operations cache.entries cache.interfaces client.interfaces",
    # Impersonation and node names need authorization, through the contract. Both may call external services.
    "server.authn": "client.interfaces kinds pki txkit server.authz.interfaces server.outbound.webhooks server.outbound.reviews plugins",
    "server.authz": "client.interfaces kinds txkit server.outbound.webhooks server.outbound.reviews plugins",
    # Calls to external services.
    "server.outbound": "",
    "server.outbound.reviews": "kinds.gotext pki.clientconfig txkit server.outbound.webhooks",
    # Some plugins check further permissions, through the contract. Webhooks use credentials from a client
    # configuration.
    "server.admission": "cel client.interfaces kinds txkit pki.clientconfig server.authz.interfaces server.outbound.webhooks plugins"
    " server.registry.interfaces",
    "server.outbound.egress": "txkit server.outbound.metrics",
    "server.outbound.metrics": "txkit.metrics",
    "server.outbound.webhooks": "client.interfaces client.plain_http kinds.codec kinds.gotext pki.clientconfig pki.url_users txkit",
    # Large objects are validated in another thread.
    "server.registry": "cache store.interfaces store.prefixes kinds pki txkit.compute_thread txkit.metrics txkit.turns",
    "server.retrying_worker": "txkit",
    # Contents of a fresh cluster: data, and a client to write it.
    "server.bootstrap": "client.interfaces kinds",
    # Definitions of custom kinds. They are followed in the cache and not with a client, so that a kind is served in the
    # same turn in which its definition is; objects of an older schema are upgraded in their stored form.
    "server.customkinds": "client kinds txkit server.retrying_worker server.outbound.webhooks server.registry.interfaces"
    " server.registry.operations cache.entries cache.interfaces cache.stored_encoding",
    # Aggregated API groups.
    "server.aggregation": "client.interfaces kinds txkit server.retrying_worker server.pipeline",
    # The server's own components read its caches; custom kinds are read through a client.
    "server.informing": "client.interfaces client.informers cache.entries cache.interfaces kinds txkit",
    # Client certificates of this server, reloaded with their files.
    "server.key_pairs": "txkit",
    # Permission checks around the registry's admission.
    "server.permission_guards": "kinds.jsonvalues server.authz.escalation server.authz.parameters"
    " server.registry.interfaces server.registry.objectmeta",
    # Lifecycle state of a server; read by health checks, stages and admission.
    "server.state": "",
    # The web page: files, who the user is, and YAML for what it shows.
    "server.ui": "server.pipeline kinds.users kinds.bounds kinds.codec txkit.memory txkit.metrics",
    # Control loops of the server itself, which write through a client.
    "server.reconcilers": "client.interfaces kinds pki txkit store.interfaces server.bootstrap server.authn.frontproxy"
    " server.authn.x509 server.pipeline.fairness.schemas server.pipeline.fairness.stage server.registry.interfaces",
    # Spans around requests and their parts. Only the module for the tracing library imports that library.
    "server.tracing": "server.pipeline server.authn.interfaces server.authz.interfaces server.registry.interfaces kinds txkit",
    "server.local": "server.pipeline client kinds server.authn.interfaces txkit",
    "controllers": "client kinds pki txkit plugins",
    # A client of the API that plays nodes; works in loops as controllers do.
    "simulation": "client controllers.loop controllers.metrics kinds txkit",
    # Drop-in plugins are looked for where all drop-ins are.
    # URLs of extenders may have a user and a password.
    "scheduler": "client kinds txkit plugins pki.url_users",
    # Reads the URLs of issuers with the parser of the expressions' library; messages show no passwords of URLs.
    "config": "cel.libraries.urls kinds pki.tls_names pki.url_users",
    # Flags, then their values, then the settings that are built from them; the command line is above all of them.
    "config.rows": "config.flag config.values kinds.release",
    "config.sections": "kinds pki.tls_names config.capabilities config.choices config.flag_values config.nearest config.values",
    "plugins": "-",
    "testing": ANYTHING,
    # The composition root; only this and tap import every implementation.
    "assembly": ANYTHING,
    "tap": ANYTHING,
    # Controllers and scheduler as separate processes.
    "component_tap": ANYTHING,
    "daemon": "txkit",
    # Console programs; what they run is named by the twistd plugin.
    "programs": "",
    "__main__": "programs",
    # A program of builds: manual pages and shell completion.
    "manuals": "config certcommands storecommands ctl",
    # The command line of users; what it says about resources comes from the server's documents. From requests up to
    # commands.
    "ctl": "client kinds pki txkit",
    # Warnings of the server are printed as they come.
    "ctl.cluster": "client kinds pki txkit ctl.printing.output",
    # Tables are of a resource.
    "ctl.printing": "kinds ctl.cluster.discovery",
    "ctl.objects": "client kinds ctl.cluster ctl.printing",
    # Asks for what belongs to an object.
    "ctl.printing.describe": "kinds pki ctl.cluster ctl.printing ctl.objects",
    # Shapes of removed versions, for one command.
    "ctl.conversions": "kinds pki",
    "ctl.streams": "client kinds txkit ctl.cluster ctl.printing ctl.objects",
    "ctl.commands": "client kinds pki txkit ctl",
    "ctl.commands.store": "ctl storecommands",
    "ctl.commands.certs": "ctl certcommands",
    # A program of its own, which knows where the settings keep things.
    "storecommands": ANYTHING,
    "certcommands": ANYTHING,
    # What the two share.
    "filecommands": ANYTHING,
}
#: Inside a package: implementations of authentication and authorization do not import each other, nor verbs stages.
APART = (("server.pipeline.stages", "server.pipeline.verbs"), ("store.memory", "store.sqlite"))
#: Packages that no other shipped package may import.
CLOSED = ("testing", "tap", "component_tap", "assembly", "storecommands", "certcommands", "filecommands")
#: Packages that import no module of Twisted.
WITHOUT_TWISTED = ("kinds", "pki", "dialect", "errors", "values", "config")
#: Twisted modules allowed for option parsing, and for the plugin system.
TWISTED_ALLOWED = {"config.options": ("twisted.python",), "plugins": ("twisted.plugin",)}


def modules() -> Iterator[tuple[str, Path]]:
    """(name below orchd, file) of every module; a package has its folder's name."""
    for path in sorted((ROOT / "orchd").rglob("*.py")):
        parts = path.relative_to(ROOT / "orchd").with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def imports(path: Path, *, at_load: bool = False) -> tuple[tuple[str, int], ...]:
    """(absolute dotted name, line) of every import in a file; ``from a import b`` gives a.b. With `at_load` only those
    of statements of the module, without imports for types and inside functions."""
    imported = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_load else ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are written in full"
            imported += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return tuple(imported)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def layer(module: str) -> str:
    """The most specific line of the table for a module; "" without one."""
    return max((name for name in LAYERS if within(module, name)), key=len, default="")


def own(names: tuple[tuple[str, int], ...]) -> Iterator[tuple[str, int]]:
    """The imports of this product, without its name as prefix."""
    for name, line in names:
        if name.startswith("orchd."):
            yield name.removeprefix("orchd."), line


def allowed(home: str, target: str) -> bool:
    """True if a module of the layer `home` may import `target` (a module or a name in it)."""
    says = LAYERS[home]
    if says == ANYTHING or within(target, home):
        return True
    # Modules such as kinds/users.py belong to their package; sub-packages have lines of their own.
    parent = home.rpartition(".")[0]
    if parent in LAYERS and layer(target) == parent:
        return True
    free = () if says == "-" else ("dialect", "errors", "values")
    return any(within(target, name) for name in (*free, *says.replace("-", "").split()))


def test_imports_follow_the_table() -> None:
    """Every import between packages is allowed by the table."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {layer(module)} may not import {target}"
        for module, path in modules()
        if module
        for target, line in own(imports(path))
        if not allowed(layer(module), target)
    ]
    assert not wrong, "\n".join(wrong)


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Modules can be loaded in some order so that each finds what it imports complete."""
    paths = dict(modules())
    graph: TopologicalSorter[str] = TopologicalSorter()
    for module, path in paths.items():
        targets = (name for name, _ in own(imports(path, at_load=True)))
        graph.add(module, *(name if name in paths else name.rpartition(".")[0] for name in targets))
    try:
        order = list(graph.static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
    assert order and not paths.keys() - set(order)


def test_every_package_is_in_the_table() -> None:
    """Every package has a line in the table, and every line a package."""
    names = [name for name, _ in modules() if name]
    assert not [name for name in names if not layer(name)]
    assert not [name for name in LAYERS if not any(within(module, name) for module in names)]


def test_independent_parts_do_not_import_each_other() -> None:
    """Independent parts of a package do not import each other."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {target}"
        for one, other in (*APART, *((b, a) for a, b in APART))
        for module, path in modules()
        if within(module, one)
        for target, line in own(imports(path))
        if within(target, other)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", CLOSED)
def test_assembly_and_testing_are_not_imported(package: str) -> None:
    """Doubles, the daemon and the assembly are not imported by other shipped packages."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for module, path in modules()
        if not any(
            within(module, p)
            for p in (
                package,
                "tap",
                "component_tap",
                "testing",
                "storecommands",
                "certcommands",
                "filecommands",
                "manuals",
                "ctl.commands.store",
                "ctl.commands.certs",
            )
        )
        for target, line in own(imports(path))
        if within(target, package)
    ]
    assert not wrong, "\n".join(wrong)


def test_pure_packages_import_no_twisted() -> None:
    """`kinds`, `pki` and `config` can be used without a reactor and without Twisted."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for module, path in modules()
        if any(within(module, p) for p in WITHOUT_TWISTED)
        for name, line in imports(path)
        if within(name, "twisted") and not any(within(name, free) for free in TWISTED_ALLOWED.get(module, ()))
    ]
    assert not wrong, "\n".join(wrong)


#: Modules that run a process.
_PROGRAMS = ("tap", "component_tap", "assembly.processes.worker", "testing.cluster.main", "testing.envtest.apiserver")


def test_only_tap_imports_the_reactor() -> None:
    """The reactor is an argument everywhere, so that any reactor and any number of servers work."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for module, path in modules()
        if module not in _PROGRAMS
        for name, line in imports(path)
        if within(name, "twisted.internet.reactor")
    ]
    assert not wrong, "\n".join(wrong)


def test_init_modules_are_docstrings() -> None:
    """An `__init__.py` holds only a docstring; re-exports cause import cycles."""
    wrong = []
    for module, path in modules():
        # plugins extends its path, as Twisted asks; testing is imported by the tests of others, under one short name.
        if path.name == "__init__.py" and module not in ("plugins", "testing"):
            body = ast.parse(path.read_text(encoding="utf-8")).body
            if not (len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)):
                wrong.append(str(path.relative_to(ROOT)))
    assert not wrong, "\n".join(wrong)


def test_plugin_folder_is_shared() -> None:
    """Twisted's plugin folders have no `__init__.py`, or they would hide those of other distributions."""
    assert not list((ROOT / "twisted").rglob("__init__.py"))


def test_metric_families_are_built_by_instruments() -> None:
    """Only `orchd.txkit.metrics` names the families of the metrics library; others declare instruments."""
    assert [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "orchd").rglob("*.py"))
        if path.parent != ROOT / "orchd/txkit/metrics" and "MetricFamily" in path.read_text()
    ] == []


def test_outgoing_connections_send_at_once() -> None:
    """Only `orchd.txkit.tcp_client` names Twisted's endpoints for TCP, which do not turn Nagle's algorithm off."""
    assert [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "orchd").rglob("*.py"))
        if path.name != "tcp_client.py"
        and re.search(r"\b(HostnameEndpoint|TCP[46]ClientEndpoint|connectTCP)\b", path.read_text())
    ] == []


def test_only_the_log_module_imports_twisted_logger() -> None:
    """Log lines are emitted through `orchd.txkit.log`, which adds the request that they belong to."""
    assert [
        str(path)
        for path in sorted((ROOT / "orchd").rglob("*.py"))
        if path.name != "log.py" and re.search(r"^from twisted\.logger import .*\bLogger\b", path.read_text(), re.M)
    ] == []
