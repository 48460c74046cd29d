"""/healthz, /livez and /readyz: named checks, each by itself or all together (specification, "Health endpoints")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.verbs.dispatch import text_not_found

#: "" when healthy, else the reason (for the log and the verbose output).
Probe = Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One named check. `live` and `ready` select the endpoints that include it."""

    name: str
    probe: Probe
    live: bool = True
    ready: bool = True


_PLAIN = "text/plain; charset=utf-8"


class Health:
    """The three endpoints over one ordered list of checks; /healthz is the former name of /livez."""

    def __init__(
        self,
        checks: Sequence[Check],
        notes: Callable[[], Sequence[str]] = lambda: (),
        observe: Callable[[str, str, bool], None] = lambda check, endpoint, healthy: None,
    ) -> None:
        """`notes` are lines that /readyz?verbose shows without failing for them. `observe` is told the result of each
        check of a request for all."""
        self._notes, self._observe = notes, observe
        self._lists = {
            "healthz": [c for c in checks if c.live],
            "livez": [c for c in checks if c.live],
            "readyz": [c for c in checks if c.ready],
        }

    def paths(self) -> list[str]:
        """Every path served here, for the path list of ``/``."""
        return [p for name, checks in self._lists.items() for p in (f"/{name}", *(f"/{name}/{c.name}" for c in checks))]

    def handles(self, path: str) -> bool:
        return path.strip("/").partition("/")[0] in self._lists

    def respond(self, request: Request) -> Response:
        """The response for a path for which `handles` is true."""
        name, slash, rest = request.path[1:].partition("/")
        checks = self._lists[name]
        if not slash:
            return self._all(name, checks, request)
        for check in checks:
            if check.name == rest:
                why = check.probe()
                if why:
                    return _text(500, f"internal server error: {why}\n", sniff=True)
                return _text(200, "ok", sniff=False)
        return text_not_found()

    def _all(self, name: str, checks: Sequence[Check], request: Request) -> Response:
        excluded = set(request.query.get("exclude", ()))
        lines, failed = [], False
        for check in checks:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok")
                continue
            why = check.probe()
            self._observe(check.name, name, not why)
            failed = failed or bool(why)
            lines.append(f"[-]{check.name} failed: reason withheld" if why else f"[+]{check.name} ok")
        unknown = sorted(excluded - {c.name for c in checks})
        if unknown:
            listed = ",".join(f'"{u}"' for u in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}")
        if name == "readyz":
            lines += [f"warn: {note}" for note in self._notes()]
        text = "\n".join(lines) + "\n"
        if failed:
            return _text(500, f"{text}{name} check failed\n", sniff=True)
        if "verbose" in request.query:
            return _text(200, f"{text}{name} check passed\n", sniff=True)
        return _text(200, "ok", sniff=True)


def _text(code: int, text: str, *, sniff: bool) -> Response:
    headers = [NO_STORE]
    if sniff:
        headers.append(("X-Content-Type-Options", "nosniff"))
    return Response(code=code, content_type=_PLAIN, headers=headers, body=text.encode())
