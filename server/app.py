"""The web application that ``prefrag serve`` runs: Hayhooks with our pipelines, protected by API keys and limits.

Hayhooks, Haystack's server, turns each pipeline into HTTP routes. :func:`create_app` adds the rest:

- Middlewares that check keys, limits and the shape of requests.
- Routes for documents, feedback, the web page, MCP, metrics and probes.
- A lifespan that loads the pipelines when the server starts, and stops running work when it ends.
"""

import asyncio
import importlib.util
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from inspect import signature
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from hayhooks.server.app import create_app as create_hayhooks
from hayhooks.server.exceptions import PipelineModeError
from hayhooks.server.logger import log
from hayhooks.server.pipelines.registry import registry
from hayhooks.server.utils.deploy_utils import commit_prepared_pipeline
from hayhooks.server.utils.models import PreparedPipeline
from hayhooks.settings import settings as hayhooks_settings
from pydantic import BaseModel, ConfigDict
from starlette.middleware import Middleware

from prefrag.audit_log import check_audit_log
from prefrag.collections.changes.shared_uploads import settle_shared_changes
from prefrag.collections.changes.uploaded_files import settle_all_changes
from prefrag.components.generators.ability_probe import try_models
from prefrag.components.parts import STORES
from prefrag.components.state.web_switch import web_is_off
from prefrag.components.text.one_line import one_line
from prefrag.indexing.report import IndexReport
from prefrag.server.access.keys import AT_TERMINAL, ApiKeys, Keyring, current_access
from prefrag.server.access.lifetime import CancelWhenGone, RunLimit
from prefrag.server.access.page_token import PageToken
from prefrag.server.access.shares import RequestRate
from prefrag.server.chat import served_pipelines
from prefrag.server.chat.open_webui import OpenWebUIRoutes
from prefrag.server.chat.openai_protocol import OpenAIErrors, StreamEnd
from prefrag.server.chat.wrapper import Refusal
from prefrag.server.http.json_bodies import BodyLimit, refuse_wrong_shape
from prefrag.server.http.log import configure_log
from prefrag.server.http.metrics import CONTENT_TYPE, write_metrics
from prefrag.server.http.readiness import EVERYTHING, find_outages, leaving
from prefrag.server.http.security import OpenRoutes, is_open
from prefrag.server.judge_trials import trying_judges
from prefrag.server.library import feedback
from prefrag.server.library.collection_routes import make_routes
from prefrag.server.library.collections import exclude_web_substitutes, listed_collections
from prefrag.server.library.followed_folder import FollowedFolder
from prefrag.server.library.indexing_process import IndexingProcesses
from prefrag.server.page import page_routes
from prefrag.settings import settings

# How many seconds a stopping server waits for cancelled requests, and then again for uploads.
_LAST_SECONDS = 5.0


def create_app() -> FastAPI:
    """Build the application. uvicorn calls this function in each worker process.

    :returns: The application. Its pipelines are loaded when it starts, not here.
    """
    keyring = Keyring()
    page_token = PageToken()
    open_deploy = settings.open_deploy
    pipelines = _Pipelines(served_pipelines.choose_pipelines(), served_pipelines.skips_broken())
    deployed_later = _set_up_process(pipelines.files)

    indexing = IndexingProcesses()
    work = _Work(indexing, FollowedFolder.offered(indexing))
    app = _create_hayhooks()
    app.title = "prefrag"
    app.description = "Answers multi-hop questions. Your own documents are searched first."
    _add_middlewares(app, keyring, page_token, work, open_deploy)
    app.add_exception_handler(Refusal, _refuse)
    app.add_exception_handler(RequestValidationError, refuse_wrong_shape)
    # All routes of pipelines use this class, also those of pipelines that are deployed later.
    app.router.route_class = StrictRoute
    _describe_open_routes_only(app)
    mcp_sessions = _add_mcp(app)
    hayhooks_lifespan = app.router.lifespan_context
    app.include_router(page_routes(pipelines.served))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        """Load the pipelines, let the application run, and stop all work at its end."""
        try:
            async with hayhooks_lifespan(app), mcp_sessions, trying_judges(pipelines.served, work.in_flight):
                await pipelines.deploy(app)
                await _settle_changes()
                if open_deploy:
                    log.warning("The deploy routes are open: whoever may call them can run any code on this server.")
                page_token.show()
                if work.followed:
                    work.followed.start()
                # In a thread, because this calls the model four times. Questions can be answered meanwhile.
                loaded = list(pipelines.served().values())
                threading.Thread(target=try_models, args=(loaded,), daemon=True).start()
                yield
        finally:
            await work.stop()
            # Clear global variables. Otherwise a second application in this process could not use the same names.
            registry.clear()
            exclude_web_substitutes(())
            deployed_later.cleanup()

    app.router.lifespan_context = lifespan
    app.include_router(make_routes(indexing, work.at_work, lambda: keyring.is_shared, pipelines.served, work.followed))
    app.include_router(feedback.router)
    _add_status_routes(app, keyring, pipelines)
    return app


def _set_up_process(files: Mapping[str, Path]) -> tempfile.TemporaryDirectory[str]:
    """Check the settings, and set up Hayhooks and the log. All of this is global in the process.

    :param files: The YAML files of the pipelines by their names.
    :returns: The folder for pipelines that are deployed later. The caller deletes it.
    """
    # This raises an error if PREFRAG_COLLECTIONS has a name that no index can have.
    listed_collections()
    exclude_web_substitutes(files.values())
    # If Hayhooks had a folder with pipelines, it would load them and only log failures. So it gets an empty folder.
    # Only pipelines that are deployed later are stored there.
    deployed_later = tempfile.TemporaryDirectory(prefix="prefrag-served-")
    _configure_hayhooks(deployed_later.name)
    configure_log()
    warning = check_audit_log()
    if warning:
        log.warning(warning)
    served_pipelines.keep_modules_apart()
    return deployed_later


class _Pipelines:
    """The pipelines that the server is to serve, and those of them that are missing or do not answer.

    :param files: The YAML files by the names of the pipelines.
    :param lenient: Whether pipelines that cannot be loaded are left out.
    """

    def __init__(self, files: Mapping[str, Path], lenient: bool):
        self.files = files
        self._lenient = lenient
        # The pipelines that could not be loaded, if the server may leave them out.
        self._left_out: set[str] = set()
        # The pipelines whose index or model server did not answer the last check.
        self._down: set[str] = set()

    @staticmethod
    def served() -> dict[str, object]:
        """Return the pipelines that are served now, by name."""
        return _haystack_pipelines({name: registry.get(name) for name in registry.get_names()})

    async def deploy(self, app: FastAPI) -> None:
        """Load the pipelines and add their routes. Log which of them failed or do not answer."""
        failed = await _deploy(app, self.files, self._lenient)
        consequence = "Not ready"
        if self._lenient:
            self._left_out.update(failed)
            consequence = "Left out"
        for name, reason in sorted(failed.items()):
            log.error("{}: {}. {}", consequence, name, one_line(reason))
        await self._find_unreachable()

    async def _find_unreachable(self) -> dict[str, str]:
        """Return advice for each pipeline whose index or model server does not answer. Log what has changed."""
        checked_parts = STORES if settings.ready == "index" else EVERYTHING
        outages = await find_outages(self.served(), checked_parts)
        for name in sorted(outages.keys() - self._down):
            log.error("Not ready: {}. {}", name, one_line(outages[name].details))
        for name in sorted(self._down - outages.keys()):
            log.info("Ready again: {}.", name)
        self._down.clear()
        self._down.update(outages)
        return {name: outage.advice for name, outage in outages.items()}

    async def describe_readiness(self) -> JSONResponse:
        """Say whether every pipeline is loaded and answers. The status is 503 if not."""
        missing = sorted(self.files.keys() - set(registry.get_names()))
        # This route requires no key. So its reply has no addresses and no paths, only the log has them.
        not_loaded = [name for name in missing if name not in self._left_out]
        unreachable = await self._find_unreachable()
        nothing_left = bool(self._left_out) and not registry.get_names()
        parts = {
            "not_loaded": not_loaded,
            "unreachable": unreachable,
            "left_out": [name for name in missing if name in self._left_out],
        }
        shown_parts = {key: value for key, value in parts.items() if value}
        if not_loaded or unreachable or nothing_left:
            return JSONResponse({"status": "not ready", **shown_parts}, 503)
        return JSONResponse({"status": "ready", **shown_parts}, 200)


class _Work:
    """The work that a stopping server has to end.

    :param indexing: The processes that index uploaded files.
    :param followed: The folder of `prefrag FOLDER`. None if the server was started with `prefrag serve`.
    """

    def __init__(self, indexing: IndexingProcesses, followed: FollowedFolder | None):
        self.followed = followed
        self._indexing = indexing
        # The tasks of running requests.
        self.in_flight: set[asyncio.Task[None]] = set()
        # The tasks of running uploads.
        self.at_work: set[asyncio.Task[IndexReport]] = set()

    async def stop(self) -> None:
        """Stop all work, and wait some seconds for its end."""
        if self.followed:
            self.followed.stop()
        # Wait for the requests that were cancelled, because each still sends an error to its client.
        if self.in_flight:
            await asyncio.wait(self.in_flight, timeout=_LAST_SECONDS)
        self._indexing.stop()
        if self.at_work:
            # Give uploads time to clean up. They delete the files that have not been indexed yet.
            await asyncio.wait(self.at_work, timeout=_LAST_SECONDS)


def _add_middlewares(app: FastAPI, keyring: Keyring, page_token: PageToken, work: _Work, open_deploy: bool) -> None:
    """Add our middlewares."""
    # Put our middlewares inside those of Hayhooks. Then our refusals also get the CORS headers and the request id that
    # Hayhooks adds. `add_middleware` would put ours outside. The first of this list is the outermost of ours.
    app.user_middleware += [
        Middleware(OpenWebUIRoutes),
        Middleware(OpenAIErrors),
        Middleware(OpenRoutes, open_deploy=open_deploy),
        Middleware(ApiKeys, keyring=keyring, page_token=page_token),
        Middleware(RequestRate),
        Middleware(BodyLimit),
        Middleware(CancelWhenGone, in_flight=work.in_flight),
        Middleware(RunLimit, keyring=keyring),
        Middleware(StreamEnd),
    ]


async def _settle_changes() -> None:
    """Clean up after changes of collections that were interrupted when a server stopped."""
    await asyncio.to_thread(settle_all_changes)
    if settings.state == "elasticsearch":
        # In a thread, because this first waits to find out which other servers are still alive.
        threading.Thread(target=settle_shared_changes, daemon=True).start()


def _add_status_routes(app: FastAPI, keyring: Keyring, pipelines: _Pipelines) -> None:
    """Add the routes that say whether the server works, what it has done, and what a key may do."""

    @app.get("/ready", tags=["status"], summary="Whether every pipeline is loaded and its index and servers answer")
    async def ready() -> JSONResponse:
        if leaving.is_set():
            return JSONResponse({"status": "stopping"}, 503)
        return await pipelines.describe_readiness()

    @app.get("/live", tags=["status"], summary="Whether the process answers")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/metrics", tags=["status"], summary="Metrics for Prometheus")
    async def metrics() -> Response:
        return Response(await asyncio.to_thread(write_metrics), media_type=CONTENT_TYPE)

    @app.get("/access", tags=["status"], summary="What the key of this request may do")
    async def access() -> dict[str, Any]:
        allowed = current_access.get()
        return {
            "key": allowed.key or None,
            "web": not web_is_off(),
            "writes": allowed.writes,
            "needs_key": keyring.is_required,
            "started": allowed == AT_TERMINAL,
        }


def _configure_hayhooks(pipelines_dir: str) -> None:
    """Change the settings of Hayhooks, which it reads when its application is made."""
    hayhooks_settings.pipelines_dir = pipelines_dir
    hayhooks_settings.cors_allow_origins = list(settings.cors_origins)
    # Each result contains a trace of its steps, so the traces of Hayhooks are not needed.
    hayhooks_settings.tracing_enabled = False
    hayhooks_settings.tracing_include_haystack_spans = False
    hayhooks_settings.tracing_buffer_capacity = 1
    hayhooks_settings.monitoring_enabled = False


def _create_hayhooks() -> FastAPI:
    """Make the application of Hayhooks, and let it send traces only if the settings allow this."""
    # Unless `auto_trace` is on, hide these variables from Hayhooks. They may be meant for other programs.
    hidden = {}
    if not settings.auto_trace:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} & os.environ.keys()
        hidden = {name: os.environ.pop(name) for name in variables}
    app: FastAPI = create_hayhooks()
    os.environ.update(hidden)
    # The constructor of FastAPI has the parameters `logs` and `exclude`. Hayhooks calls the constructor without them,
    # so set them afterwards.
    telemetry = vars(app).get("_telemetry")
    if telemetry:
        telemetry |= {"logs": settings.trace_content, "exclude": lambda _: not settings.auto_trace}
    return app


class StrictRoute(APIRoute):
    """A route that refuses a request with unknown fields.

    Otherwise a misspelt option would be ignored. For example, with ``source`` instead of ``sources``, a question could
    be sent to the web. Hayhooks makes the classes of requests, and it has no setting to refuse unknown fields.

    :param path: The path of the route.
    :param endpoint: The function that handles a request.
    :param options: The other arguments of FastAPI's route.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any):
        original = signature(endpoint)
        parameters = [
            parameter.replace(annotation=_forbid_extra(parameter.annotation))
            for parameter in original.parameters.values()
        ]
        endpoint.__signature__ = original.replace(parameters=parameters)  # type: ignore[attr-defined]
        super().__init__(path, endpoint, **options)


def _forbid_extra(kind: object) -> object:
    """Return a subclass of a pydantic model that refuses unknown fields. Return any other annotation as it is."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return type(kind.__name__, (kind,), {"model_config": ConfigDict(extra="forbid"), "__module__": kind.__module__})
    return kind


def _add_mcp(app: FastAPI) -> AbstractAsyncContextManager[None]:
    """Add the route of MCP, if the package is installed. Return the context in which the route works."""
    if importlib.util.find_spec("mcp") is None:
        log.info('MCP is not served, because the package mcp is not installed: pip install "prefrag[mcp]"')
        return nullcontext()
    from prefrag.server.chat import mcp_tools

    return mcp_tools.add_route(app)


async def _deploy(app: FastAPI, files: Mapping[str, Path], lenient: bool) -> dict[str, str]:
    """Load the pipelines and add their routes. Return the reason for each pipeline that failed, by its name.

    If ``lenient`` is true, pipelines whose document store does not answer fail too.
    """
    prepared: dict[str, PreparedPipeline] = {}
    failed: dict[str, str] = {}

    @contextmanager
    def record_failure(name: str) -> Iterator[None]:
        try:
            yield
        except PipelineModeError:
            raise
        except Exception as error:
            # Hayhooks' error says which step failed. The cause of that error says why.
            failed[name] = str(error.__cause__ or error) or type(error).__name__

    # Do not load pipelines in parallel. Wrappers that import modules at the same time can disturb each other.
    for name, path in files.items():
        with record_failure(name):
            prepared[name] = served_pipelines.prepare_pipeline(name, path)
    if lenient:
        # Leave out pipelines whose document store does not answer. Do not check model servers, which may come back.
        loaded = _haystack_pipelines({name: deployed.wrapper for name, deployed in prepared.items()})
        outages = await find_outages(loaded, STORES)
        failed |= {name: outage.details for name, outage in outages.items()}

    working = {name: pipeline for name, pipeline in prepared.items() if name not in failed}
    for name, pipeline in working.items():
        with record_failure(name):
            commit_prepared_pipeline(pipeline, app=app)
            task_model = served_pipelines.prepare_task_model(pipeline)
            if task_model is not None and task_model.name not in files:
                commit_prepared_pipeline(task_model)
    return failed


def _haystack_pipelines(wrappers: Mapping[str, object]) -> dict[str, object]:
    """Return the pipeline of each wrapper that has a Haystack pipeline, by the name of the wrapper."""
    pipelines = {name: getattr(wrapper, "pipeline", None) for name, wrapper in wrappers.items()}
    return {name: pipeline for name, pipeline in pipelines.items() if hasattr(pipeline, "walk")}


def _describe_open_routes_only(app: FastAPI) -> None:
    """Remove the routes that are not served from the description of the API."""
    describe = app.openapi

    def openapi() -> dict[str, object]:
        schema = describe()
        open_paths = {}
        for path, routes in schema["paths"].items():
            # The braces around a parameter are no part of a path.
            if is_open(path.replace("{", "").replace("}", "")):
                open_paths[path] = routes
        schema["paths"] = open_paths
        return schema

    app.openapi = openapi  # type: ignore[method-assign]


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    """Answer a request whose run has failed. The reply has the message and what the run had found."""
    assert isinstance(error, Refusal)
    result = {} if error.result is None else {"result": error.result}
    return JSONResponse({"detail": error.detail, **result}, error.status_code, error.headers)
