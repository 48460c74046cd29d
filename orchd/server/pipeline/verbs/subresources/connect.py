"""pods/log, exec, attach and portforward: streams to and from the kubelet of the pod's node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from orchd import errors
from orchd.errors import ApiError, Cause
from orchd.kinds import fields
from orchd.kinds.digits import integer
from orchd.kinds.jsonvalues import Object
from orchd.kinds.release import Release
from orchd.kinds.simulated import is_simulated
from orchd.kinds.times import TimeError, canonical_time
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.server.pipeline.verbs.context import ResourceTarget, VerbContext
from orchd.server.pipeline.verbs.dispatch import Verb
from orchd.server.pipeline.verbs.options import WriteOptions, number
from orchd.server.pipeline.verbs.subresources.foreign import ForeignBodyContext, bare_error
from orchd.server.pipeline.verbs.subresources.locations import PREFERRED, Location, container_of, node_location
from orchd.server.pipeline.verbs.subresources.upgrade import UpgradeError, wants_upgrade
from orchd.server.pipeline.verbs.subresources.upstream import IUpstream, Reply, UnreachableError, text

#: Maximum size in bytes of a forwarded kubelet error text.
_COMPLAINT = 50_000
_FALSE = ("0", "false")


def flag(request: Request, name: str) -> bool:
    """A boolean option of these endpoints: every value but ``0`` and ``false`` is true."""
    return name in request.query and request.param(name).lower() not in _FALSE


async def upgrade(upstream: IUpstream, request: Request, location: Location, target: str) -> Response:
    """Join the client's connection with one to a backend. Raises ApiError."""
    try:
        return await upstream.hand_through(request, location, target)
    except UnreachableError as error:
        raise bare_error(f"error dialing backend: {error}") from None
    except UpgradeError as error:
        raise bare_error(str(error)) from None


async def read(context: VerbContext, plural: str, namespace: str, name: str) -> Object:
    """Read an object of the core group. Raises ApiError 404."""
    resource = context.catalog().resource("", "v1", plural)
    assert resource is not None
    entry = await context.registry.get(resource, namespace, name)
    obj: Object = orjson.loads(entry.json)
    return obj


async def agent_of(context: VerbContext, pod: Object, preferred: Sequence[str], lacking: str) -> Location:
    """The address of the node agent of a pod's node. Raises ApiError 404 if the node does not exist (the reference's
    message names a pod), and 400 for a simulated node; `lacking` ends that message ("no logs")."""
    name = pod["spec"]["nodeName"]
    try:
        node = await read(context, "nodes", "", name)
    except ApiError as error:
        if error.code != 404:
            raise
        raise errors.not_found("", "pods", name) from None
    if is_simulated(node):
        raise errors.bad_request(
            f"node {name} is simulated: nothing runs in pod {pod['metadata']['name']}, so there is {lacking}"
        )
    return node_location(context.dialect, node, preferred)


class Logs:
    """GET of pods/log."""

    def __init__(self, upstream: IUpstream, *, preferred: Sequence[str] = PREFERRED) -> None:
        self._upstream = upstream
        self._preferred = preferred
        self.verbs: Mapping[str, Verb] = {"get": self.get}

    async def get(self, context: VerbContext, request: Request, target: ResourceTarget) -> Response:
        """200 with the log as text; 204 for an unscheduled pod. Raises ApiError, also 406 for an Accept header without
        a form of objects."""
        context.present.view(request, target.resource, table=False)
        params = log_parameters(request, target.name, context.settings.release)
        pod = await read(context, "pods", target.namespace, target.name)
        container = container_of(pod, request.param("container"))
        if not fields.spec(pod).get("nodeName"):
            return Response(code=204, content_type="", headers=[NO_STORE])
        agent = await agent_of(context, pod, self._preferred, "no log")
        path = "/".join(quote(word, safe="") for word in (target.namespace, target.name, container))
        agent_path = f"/containerLogs/{path}" + (f"?{urlencode(params)}" if params else "")
        try:
            reply = await self._upstream.fetch("GET", agent, agent_path, (), request)
        except UnreachableError as error:
            raise bare_error(f'Get "{agent.origin}{agent_path}": {error}') from None
        if not 200 <= reply.code <= 206:
            raise await _complaint(reply, target.name)
        reply.stream.last_words = _last_words
        return Response(content_type="text/plain", headers=[NO_STORE], stream=reply.stream)


def _last_words(error: ApiError) -> bytes:
    """The last line of a log that the client may not read any more."""
    return f"\nthe log ends here: {error.message}\n".encode()


async def _complaint(reply: Reply, pod: str) -> ApiError:
    """The error text that the kubelet returned instead of a log."""
    message = await text(reply, _COMPLAINT)
    if reply.code == 500:
        return errors.internal(message)
    if reply.code == 400:
        return errors.bad_request(message)
    reason, message = {
        401: ("Unauthorized", "the server has asked for the client to provide credentials"),
        403: ("Forbidden", message),
        404: ("NotFound", "the server could not find the requested resource"),
        503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    }.get(
        reply.code, ("", f"the server responded with the status code {reply.code} but did not return more information")
    )
    details = {"name": pod, "kind": "pods/log"}
    return ApiError(reply.code, reason, f"{message} ( pods/log {pod})", details=details)


#: Options of logs behind a gate that is not built, from a release on: to give one is an error.
_GATED_LOG_OPTIONS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (("", ()), ("1.32", ("stream",)))


def log_parameters(request: Request, pod: str, release: Release) -> dict[str, Any]:
    """PodLogOptions as kubelet parameters. Raises ApiError 400 or 422."""
    params: dict[str, Any] = {name: "true" for name in ("follow", "previous", "timestamps") if flag(request, name)}
    for name in ("sinceSeconds", "tailLines", "limitBytes"):
        if request.query.get(name):
            params[name] = number(request, name)
    if request.param("sinceTime"):
        try:
            params["sinceTime"] = canonical_time(request.param("sinceTime"))
        except TimeError as error:
            raise errors.bad_request(str(error)) from None
    causes = []
    for name, least, why in (
        ("tailLines", 0, "must be greater than or equal to 0"),
        ("limitBytes", 1, "must be greater than 0"),
    ):
        if name in params and params[name] < least:
            causes.append(Cause("FieldValueInvalid", f"Invalid value: {params[name]}: {why}", name))
    if "sinceSeconds" in params and "sinceTime" in params:
        why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(Cause("FieldValueForbidden", f"Forbidden: {why}", "[]"))
    elif params.get("sinceSeconds", 1) < 1:
        value = params["sinceSeconds"]
        causes.append(Cause("FieldValueInvalid", f"Invalid value: {value}: must be greater than 0", "sinceSeconds"))
    for name in release.choose(_GATED_LOG_OPTIONS):
        if name in request.query:
            causes.append(Cause("FieldValueForbidden", "Forbidden: may not be specified", name))
    if causes:
        raise errors.invalid("", "PodLogOptions", pod, causes)
    return params


class Streams:
    """exec, attach and portforward: joins the client's connection with one to the kubelet."""

    def __init__(
        self, foreign: ForeignBodyContext, upstream: IUpstream, *, preferred: Sequence[str] = PREFERRED
    ) -> None:
        self._foreign = foreign
        self._upstream = upstream
        self._preferred = preferred

    def verbs(self, what: str) -> Mapping[str, Verb]:
        """GET and POST of exec, attach or portforward."""

        async def connect(context: VerbContext, request: Request, target: ResourceTarget) -> Response:
            return await self._connect(context, request, target, what)

        return {"get": connect, "create": connect}

    async def _connect(self, context: VerbContext, request: Request, target: ResourceTarget, what: str) -> Response:
        options = _OPTIONS[what](request)
        write_context = context.write_context(request, target, WriteOptions())
        review = self._foreign.admission.review(write_context, "CONNECT", None, name=target.name)
        await review.mutate(options)
        await review.validate(options)
        pod = await read(context, "pods", target.namespace, target.name)
        words = [target.namespace, target.name]
        if what != "portforward":
            words.append(container_of(pod, request.param("container")))
        if not fields.spec(pod).get("nodeName"):
            raise errors.bad_request(f"pod {target.name} does not have a host assigned")
        agent = await agent_of(context, pod, self._preferred, f"nothing to {_PURPOSES[what]}")
        if not wants_upgrade(request) or request.hijack is None:
            raise errors.bad_request("Upgrade request required")
        path = "/".join(quote(word, safe="") for word in words)
        agent_path = f"/{_AGENT_PATHS[what]}/{path}"
        params = _parameters(options)
        if params:
            agent_path += "?" + urlencode(params)
        return await upgrade(self._upstream, request, agent, agent_path)


_PURPOSES = {"exec": "execute in", "attach": "attach to", "portforward": "forward ports to"}
_AGENT_PATHS = {"exec": "exec", "attach": "attach", "portforward": "portForward"}
#: Option names of the API and of the kubelet.
_STREAMS = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))


def _stream_options(kind: str, request: Request) -> Object:
    options: Object = {"kind": kind, "apiVersion": "v1"}
    options.update((name, True) for name, _ in _STREAMS if flag(request, name))
    if request.param("container"):
        options["container"] = request.param("container")
    return options


def _exec_options(request: Request) -> Object:
    return {**_stream_options("PodExecOptions", request), "command": list(request.query.get("command", ()))}


def _attach_options(request: Request) -> Object:
    return _stream_options("PodAttachOptions", request)


def _forward_options(request: Request) -> Object:
    ports = []
    for text_ in ",".join(request.query.get("ports", ())).split(","):
        if text_:
            try:
                port = integer(text_)
            except ValueError:
                raise errors.bad_request(f'strconv.ParseInt: parsing "{text_}": invalid syntax') from None
            if not 0 <= port < 1 << 31:
                raise errors.bad_request(f'strconv.ParseInt: parsing "{text_}": value out of range')
            ports.append(port)
    return {"kind": "PodPortForwardOptions", "apiVersion": "v1", "ports": ports}


_OPTIONS = {"exec": _exec_options, "attach": _attach_options, "portforward": _forward_options}


def _parameters(options: Object) -> list[tuple[str, str]]:
    """Options as kubelet parameters."""
    out = [(there, "1") for here, there in _STREAMS if options.get(here)]
    out += [("command", word) for word in options.get("command") or ()]
    out += [("port", str(port)) for port in options.get("ports") or ()]
    return out
