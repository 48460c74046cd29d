"""Environments of releases of the reference: which libraries and rules each of them has.

A function that a release does not know is an undeclared reference there.
"""

from __future__ import annotations

from functools import lru_cache, partial

from orchd.cel import wellknown
from orchd.cel.environment import Environment, Struct
from orchd.cel.libraries import (
    authorizer,
    bindings,
    comprehensions,
    encoders,
    formats,
    lists,
    math,
    mutation,
    network,
    optionals,
    patterns,
    quantities,
    sets,
    standard,
    strings,
    urls,
    versions,
)
from orchd.cel.types import DYN, Type

#: (since, until or None, library), in the order in which overloads are tried.
_LIBRARIES = (
    ((1, 0), None, standard.TOTAL_MILLISECONDS),
    ((1, 0), None, standard.LIBRARY),
    ((1, 28), None, standard.NUMERIC_ORDER),
    ((1, 0), None, urls.LIBRARY),
    ((1, 0), None, patterns.LIBRARY),
    ((1, 0), None, lists.AGGREGATES),
    ((1, 27), None, authorizer.LIBRARY),
    ((1, 28), None, optionals.LIBRARY),
    ((1, 28), None, optionals.LISTS),
    ((1, 28), None, quantities.LIBRARY),
    ((1, 0), (1, 29), strings.FIRST),
    ((1, 29), None, strings.LIBRARY),
    ((1, 29), None, sets.LIBRARY),
    ((1, 30), None, network.LIBRARY),
    ((1, 30), None, network.CIDRS),
    ((1, 31), None, formats.LIBRARY),
    ((1, 31), None, authorizer.SELECTORS),
    ((1, 32), None, comprehensions.LIBRARY),
    ((1, 33), None, versions.LIBRARY),
    ((1, 34), None, lists.LIBRARY),
)
#: The type of fields that a patch does not have: nothing may be assigned to it.
_NOTHING = Type("unspecified", "")
_PATCH = Struct(fields=mutation.FIELDS, make=mutation.make_patch, other_fields=_NOTHING)


@lru_cache(maxsize=64)
def environment_of_release(release: tuple[int, int], vendor: str, *, mutates: bool = False) -> Environment:
    """Return the environment of a release such as (1, 35), without variables.

    ``vendor`` is the first part of the names of types of libraries: ``VENDOR.Quantity``. ``mutates`` adds the types of
    mutations: ``JSONPatch`` and ``Object``.
    """
    libraries = [
        library for since, until, library in _LIBRARIES if since <= release and (until is None or release < until)
    ]
    if mutates:
        libraries.append(mutation.LIBRARY)
    return Environment(
        libraries=tuple(libraries),
        vendor=vendor,
        structs={**wellknown.STRUCTS, **({mutation.PATCH: _PATCH} if mutates else {})},
        named=wellknown.TYPES,
        constants=wellknown.CONSTANTS,
        open_structs=_object if mutates else None,
        homogeneous=True,
        validated=release >= (1, 29),
        optionals=release >= (1, 28),
        keyword_fields=release >= (1, 31),
    )


@lru_cache(maxsize=1)
def language_environment() -> Environment:
    """Return the environment of the language itself with every library, in its newest version, without variables."""
    return Environment(
        libraries=(
            standard.LIBRARY,
            standard.NUMERIC_ORDER,
            strings.LATEST,
            sets.LIBRARY,
            lists.LIBRARY,
            math.LIBRARY,
            encoders.LIBRARY,
            bindings.LIBRARY,
            bindings.BLOCKS,
            network.LATEST,
            network.CIDRS,
            optionals.LIBRARY,
            optionals.LISTS,
            comprehensions.LIBRARY,
        ),
        structs=wellknown.STRUCTS,
        named=wellknown.TYPES,
        constants=wellknown.CONSTANTS,
        escaped_names=True,
        exact=True,
    )


def _object(name: str) -> Struct | None:
    """Return the type of an object of mutations: its name is the path to the object, and it may have any field."""
    if name != mutation.OBJECT and not name.startswith(f"{mutation.OBJECT}."):
        return None

    return Struct(fields={}, make=partial(mutation.Object, name), other_fields=DYN)
