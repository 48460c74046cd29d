"""GET and LIST: chooses the version of the data for every combination of parameters.

The table is the specification's ("Resource versions"): unset is consistent, "0" is the cache's current state, N is not
older than N, and Exact (or a limit with N) is exactly N.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from orchd import errors
from orchd.cache.entries import Entry, Page
from orchd.cache.interfaces import ICache
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.catalog import Resource
from orchd.kinds.objects.list_options import has_watch_cache, parse_version
from orchd.kinds.objects.list_query import ListQuery
from orchd.kinds.release import Release
from orchd.server.registry import continuation
from orchd.server.registry.interfaces import ListPage

_TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)
_TOO_OLD = "The resourceVersion for the provided list is too old."


async def read_entry(cache: ICache, resource: Resource, path: str, resource_version: str) -> Entry | None:
    """The entry at `path` at the requested version; None when it does not exist."""
    if not resource_version or not has_watch_cache(resource):
        await cache.fresh()
        if resource_version:
            _not_older(cache, _stored_version(resource_version))
    else:
        version = parse_version(resource_version)
        if version:
            await cache.at_least(version)
        else:
            await cache.ready()
    entry: Entry | None = cache.get(path)
    if entry is None:
        cache.check_readable(path)
    return entry


async def _refuse_future(cache: ICache, resource: Resource, revision: int) -> None:
    """A revision that does not exist yet is an error of the reference's store."""
    if revision > cache.revision:
        raise ApiError(500, "", "etcdserver: mvcc: required revision is a future revision")


async def _await_future(cache: ICache, resource: Resource, revision: int) -> None:
    """A revision that does not exist yet is waited for where the reference has a watch cache. Raises ApiError 504."""
    if revision > cache.revision and has_watch_cache(resource):
        await cache.at_least(revision)
    _not_older(cache, revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRules:
    """Rules of lists that differ between releases. `version` parses the resourceVersion of a list from the watch cache,
    `reach` makes sure that an exact revision exists; `quote` quotes the version of a continue token in its error, and
    `package` is that of its type. `whole`: a continued list at version 0 has no further pages. The first two raise
    ApiError."""

    version: Callable[[str], int]
    reach: Callable[[ICache, Resource, int], Awaitable[None]]
    quote: Callable[[str], str]
    package: str
    whole: bool

    @classmethod
    def of(cls, release: Release) -> ReadRules:
        """The rules of a release."""
        return release.choose(
            (
                (
                    "",
                    cls(version=parse_version, reach=_refuse_future, quote=errors.quoted, package="etcd3", whole=False),
                ),
                ("1.31", cls(version=_stored_version, reach=_await_future, quote=str, package="storage", whole=True)),
            )
        )


async def read_page(dialect: Dialect, cache: ICache, query: ListQuery, rules: ReadRules) -> ListPage:
    """The stored objects of a query, or a page of them. Raises ApiError.

    The reference serves some lists from its store and others from its cache, with different rules. A list of one object
    by name has no pages, and its Exact match does not need compacted history."""
    options, prefix, chosen = query.options, query.prefix, query.selection
    version, continued = options.resource_version, bool(options.continue_)
    revision, start, limit = 0, "", max(options.limit, 0)
    paged = limit > 0 and version != "0"
    single = bool(query.path) and not continued
    if has_watch_cache(query.resource) and version and not continued and not paged and options.match != "Exact":
        at_least = rules.version(version)
        if at_least:
            await cache.at_least(at_least)
        else:
            await cache.ready()
        limit = 0
    else:
        at_least = _stored_version(version)
        if continued:
            revision, key = continuation.decode(dialect.meta_group, options.continue_, rules.quote, rules.package)
            if at_least:
                raise errors.bad_request("specifying resource version is not allowed when using continue")
            start = prefix + key
            revision = max(revision, 0)
        elif options.match == "Exact" or (at_least and limit and not options.match and not single):
            revision = at_least
        await cache.fresh()
        await rules.reach(cache, query.resource, revision)
        _not_older(cache, at_least)
        if single or (continued and version == "0" and rules.whole and has_watch_cache(query.resource)):
            limit = 0
    try:
        page: Page = cache.page(
            prefix=prefix,
            match=chosen.match,
            limit=limit,
            start=start,
            revision=revision,
            labels=chosen.labels,
            fields=chosen.fields,
        )
    except ApiError as error:
        if error.code != 410:
            raise
        if options.continue_:
            token = continuation.inconsistent(dialect.meta_group, start[len(prefix) :])
            raise _expired_token(token) from None
        if single:
            raise ApiError(500, "", "etcdserver: mvcc: required revision has been compacted") from None
        raise errors.expired(_TOO_OLD) from None
    cache.check_readable(prefix, start=start, end=page.next_path)
    if not page.next_path:
        return ListPage(entries=page.entries, revision=page.revision)
    last = continuation.after(page.entries[-1].path[len(prefix) :])
    return ListPage(
        entries=page.entries,
        revision=page.revision,
        token=continuation.encode(dialect.meta_group, page.revision, last),
        remaining=page.remaining if chosen.everything else None,
    )


def _stored_version(text: str) -> int:
    """Parse a resourceVersion that the reference's store evaluates. Raises ApiError 400."""
    try:
        return parse_version(text)
    except ApiError as error:
        raise errors.bad_request(f"invalid resource version: {error.message}") from None


def _not_older(cache: ICache, revision: int) -> None:
    """Reject a version that the store has not reached. Raises ApiError 504."""
    if revision > cache.revision:
        raise errors.resource_version_too_large(revision, cache.revision, retry_after=0)


def _expired_token(token: str) -> ApiError:
    """410 whose list metadata has a token to continue at the current version."""
    error = errors.expired(_TOO_OLD_TOKEN)
    error.list_metadata = {"continue": token}
    return error
