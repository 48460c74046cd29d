"""GET and LIST: which version of the data answers, for every combination of parameters.

The table is the specification's ("Resource versions"): unset is consistent, "0" is whatever the cache has, N is not
older than N, and Exact (or a limit with N) is exactly N.
"""

from __future__ import annotations

from orchd import errors
from orchd.cache.interfaces import Entry, ICache, Page
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds.objects.listing import ListOptions, Selection, parse_version
from orchd.server.registry import continuation

_TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted "
    "between the time the first chunk was returned and now may show up in the list."
)
_TOO_OLD = "The resourceVersion for the provided list is too old."


async def read_entry(cache: ICache, path: str, resource_version: str) -> Entry | None:
    """The entry at `path` as of the asked-for version; None when there is none."""
    wanted = parse_version(resource_version)
    if not resource_version:
        await cache.fresh()
    elif wanted:
        await cache.at_least(wanted)
    else:
        await cache.ready()
    found: Entry | None = cache.get(path)
    return found


async def read_page(
    dialect: Dialect, cache: ICache, prefix: str, chosen: Selection, options: ListOptions
) -> tuple[Page, str]:
    """A page and the token of the next one ("" at the end)."""
    wanted = parse_version(options.resource_version)
    revision, start, limit = 0, "", max(options.limit, 0)
    if options.continue_:
        revision, key = continuation.decode(dialect.meta_group, options.continue_)
        if wanted:
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        start = prefix + key
        await cache.fresh()
        if revision > cache.revision:
            raise _future()
        revision = max(revision, 0)
    elif options.match == "Exact" or (wanted and limit and not options.match):
        await cache.fresh()
        if wanted > cache.revision:
            raise _future()
        revision = wanted
    elif wanted:
        await cache.at_least(wanted)
    elif options.resource_version == "0":
        await cache.ready()
        limit = 0
    else:
        await cache.fresh()
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
        raise errors.expired(_TOO_OLD) from None
    if not page.next_path:
        return page, ""
    last = continuation.after(page.entries[-1].path[len(prefix) :])
    return page, continuation.encode(dialect.meta_group, page.revision, last)


def _future() -> ApiError:
    return ApiError(500, "", "etcdserver: mvcc: required revision is a future revision")


def _expired_token(token: str) -> ApiError:
    """410 whose list metadata carries a token for going on inconsistently."""
    error = errors.expired(_TOO_OLD_TOKEN)
    error.list_metadata = {"continue": token}
    return error
