"""Drop-ins: objects of modules in a package that others add modules to."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import Interface

from orchd.txkit.log import Logger

_log = Logger()
#: Names of modules that were reported already: each sort of drop-in is looked for by itself.
_reported: set[str] = set()


def drop_ins(interface: type[Interface], package: ModuleType) -> Iterator[Any]:
    """The module attributes in `package` that provide IPlugin and `interface`, by the names of modules. A module that
    cannot be imported is left out and logged, once in a process.

    Like `twisted.plugin.getPlugins`, without its cache: that is a file beside the modules, which a server often may not
    write, and it logs a traceback for each module and interface.
    """
    for name in sorted(module.name for module in iter_modules(package.__path__, f"{package.__name__}.")):
        seen = set[int]()
        for value in vars(_imported(name)).values():
            if id(value) not in seen and IPlugin.providedBy(value) and interface.providedBy(value):
                seen.add(id(value))
                yield value


def _imported(name: str) -> ModuleType:
    """A module; an empty one if it cannot be imported."""
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        # Any exception of a drop-in. Critical events are written at once: a start that ends for lack of the drop-in has
        # no other log.
        reason = f"{type(error).__name__}: {error}".rstrip(": ").replace("\n", " ")
        if name not in _reported:
            _reported.add(name)
            _log.critical("drop-in {name} cannot be imported and is missing: {reason}", name=name, reason=reason)
        return ModuleType(name)
