"""What a browser reaches: the page, its requests, and a guard in front of both.

The module is light to import: the page is there at once, while everything else is loaded behind it.
Every request needs the token in its path, a Host of this machine and, when there is one, an Origin
of this page: another site that the browser shows can neither send requests nor read answers.
"""

import asyncio
import hmac
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from importlib import import_module, resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from dnatrace.errors import InputError
from dnatrace.files import parse_json

HOST = "127.0.0.1"
_STATIC, _CHARTS = "dnatrace.app", "dnatrace.report"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_SHARED = ("scales.js", "charts.js", "report.css")  # shared with the report
_LOOK_SECONDS = 0.03  # between checks for new events in a study
_ALIVE_SECONDS = 10.0  # after which a silent stream says that it is alive
_MOST_BYTES = 1_000_000  # of a request
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Guard:
    """Lets through requests that have the token and come from this page; refuses all others."""

    def __init__(self, app: Any, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Check a request and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            await PlainTextResponse(refused, 403, headers=_HEADERS)(scope, receive, send)
            return
        await self._app(scope, receive, _with_headers(send))

    def _refused(self, scope: Message) -> str | None:
        """Return why a request is refused; None when it is not."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        if headers.get("host", "") not in self._hosts:
            return "The page is served to this machine alone."
        origin = headers.get("origin")
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            return "Another site may not ask."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "Another site may not ask."
        given = scope["path"].strip("/").partition("/")[0]
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return "The address lacks its token: open the one that `dnatrace app` printed."
        return None


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message["headers"] = [*message.get("headers", []), *ours]
        await send(message)

    return wrapped


class Door:
    """The requests of a page, and the desk that answers them as soon as it is ready."""

    def __init__(self, store: Path, workers: int | None = None) -> None:
        self._store, self._workers = store, workers
        self._desk: Any = None
        self._problem: Exception | None = None
        self._there = threading.Event()
        threading.Thread(target=self._furnish, name="furnish", daemon=True).start()

    def _furnish(self) -> None:
        """Load the desk; the page is shown in the meantime."""
        try:
            module = import_module("dnatrace.app.desk")
            self._desk = module.Desk(self._store, self._workers)
        except Exception as error:
            self._problem = error
        self._there.set()

    @property
    def desk(self) -> Any:
        """The desk, as soon as it is ready."""
        self._there.wait()
        if self._problem is not None:
            raise self._problem
        return self._desk

    def close(self) -> None:
        """End everything the desk has started."""
        self._there.wait()
        if self._desk is not None:
            self._desk.close()

    def application(self, token: str, port: int) -> Any:
        """Return the server's application, behind its guard."""
        at = f"/{token}"
        post, get = ["POST"], ["GET"]
        routes = [
            Route(f"{at}/", _index, methods=get),
            Route(f"{at}/assets/{{name}}", _asset, methods=get),
            Route(f"{at}/offered", self._get(lambda desk: desk.offered()), methods=get),
            Route(f"{at}/health", self._get(lambda desk: desk.health()), methods=get),
            Route(f"{at}/check", self._post("check"), methods=post),
            Route(f"{at}/words", self._post("in_other_words"), methods=post),
            Route(f"{at}/neighbourhood", self._post("neighbourhood"), methods=post),
            Route(f"{at}/rounds", self._post("rounds"), methods=post),
            Route(f"{at}/studies", self._post("begin"), methods=post),
            Route(f"{at}/studies/{{name}}/stop", self._named("stop"), methods=post),
            Route(f"{at}/studies/{{name}}/events", self._events, methods=get),
            Route(f"{at}/studies/{{name}}/{{file}}", self._file, methods=get),
        ]
        handlers: Any = {InputError: _explain, Exception: _fail}
        return Guard(Starlette(routes=routes, exception_handlers=handlers), token, port)

    def _get(self, answer: Callable[[Any], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            del request
            return JSONResponse(await run_in_threadpool(lambda: answer(self.desk)))

        return endpoint

    def _post(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            given = await _body(request)
            return JSONResponse(await run_in_threadpool(lambda: getattr(self.desk, name)(given)))

        return endpoint

    def _named(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            what = request.path_params["name"]
            return JSONResponse(await run_in_threadpool(lambda: getattr(self.desk, name)(what)))

        return endpoint

    async def _file(self, request: Request) -> Response:
        """Return a study as a file."""
        name, file = request.path_params["name"], request.path_params["file"]
        kinds = {
            "report.html": ("text/html", "report"),
            "days.csv": ("text/csv", "days_csv"),
            "runs.csv": ("text/csv", "runs_csv"),
        }
        if file not in kinds:
            raise HTTPException(404)
        kind, method = kinds[file]
        text = await run_in_threadpool(lambda: getattr(self.desk, method)(name))
        shown = {"content-disposition": f'attachment; filename="dnatrace-{file}"'}
        return Response(text, media_type=kind, headers=shown)

    async def _events(self, request: Request) -> Response:
        """Return a stream: the state of a study, then its events until it is over."""
        studies = (await run_in_threadpool(lambda: self.desk)).studies
        study = studies.get(request.path_params["name"])
        return StreamingResponse(_stream(studies, study), media_type="text/event-stream")


async def _stream(studies: Any, study: Any) -> AsyncIterator[str]:
    snapshot, place = await run_in_threadpool(studies.look, study)
    yield f"data: {json.dumps(snapshot, allow_nan=False)}\n\n"
    quiet = 0.0
    while True:
        over = study.state.is_over
        news = study.events[place:]  # counted afterwards, as more may have come since
        place += len(news)
        if news:
            yield "".join(f"data: {event}\n\n" for event in news)
            quiet = 0.0
        if over and not news:
            yield 'data: {"kind": "end"}\n\n'
            return
        await asyncio.sleep(_LOOK_SECONDS)
        quiet += _LOOK_SECONDS
        if quiet > _ALIVE_SECONDS:
            yield ": still here\n\n"
            quiet = 0.0


async def _body(request: Request) -> Any:
    """Return the JSON of a request."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InputError("a question is JSON")
    body = await _read(request)
    try:
        return parse_json(body)
    except ValueError as error:
        raise InputError("the question is not valid JSON") from error


async def _read(request: Request) -> bytes:
    """Return the body of a request, whether or not it says beforehand how long it is."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise InputError("a question is shorter than this")
    return body


async def _index(request: Request) -> Response:
    del request
    return _packaged("index.html")


async def _asset(request: Request) -> Response:
    return _packaged(request.path_params["name"])


def _packaged(name: str) -> Response:
    """Return a file of the page, or one that it shares with the report."""
    package, folder = (_CHARTS, "templates") if name in _SHARED else (_STATIC, "static")
    known = [path.name for path in resources.files(package).joinpath(folder).iterdir()]
    kind = _TYPES.get(Path(name).suffix)
    if name not in known or kind is None:
        raise HTTPException(404)
    text = resources.files(package).joinpath(folder, name).read_bytes()
    return Response(text, media_type=kind)


async def _explain(request: Request, error: Exception) -> Response:
    """Say what is wrong with a request."""
    del request
    return JSONResponse({"error": str(error)}, 400)


async def _fail(request: Request, error: Exception) -> Response:
    """Say that something went wrong here."""
    del request
    return JSONResponse({"error": f"{type(error).__name__}: {error}"}, 500)
