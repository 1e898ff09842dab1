"""The served application: Hayhooks with the pipelines of ``hayhooks/``, behind keys and limits."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from hayhooks.server.app import create_app as create_hayhooks
from hayhooks.server.logger import formatter, log
from hayhooks.server.pipelines import models
from hayhooks.server.pipelines.registry import registry
from hayhooks.settings import StartupDeployStrategy, settings
from pydantic import ConfigDict, create_model
from starlette.middleware import Middleware

from service.folders import served
from service.openai_protocol import ErrorForm, StreamEnd
from service.security import ApiKeys, BodyLimit, CancelWhenGone, OpenRoutes, api_keys, deploy_is_open, is_open
from service.wrapper import BrokenOff

CORS_VARIABLE = "PREFRAG_CORS_ORIGINS"


def create_app() -> FastAPI:
    """Build the application; uvicorn calls this in each of its worker processes.

    :returns: The application. Its pipelines are loaded and warmed up when it starts.
    :raises ValueError: When a setting in the environment cannot be used.
    :raises FileNotFoundError: When a pipeline that is to be served does not exist.
    """
    keys, open_deploy = api_keys(), deploy_is_open()
    folders = served()
    # Hayhooks serves all that lies in one folder.
    chosen = tempfile.TemporaryDirectory(prefix="prefrag-served-")
    for folder in folders:
        # Copied, because Hayhooks refuses to write through a link where the routes that deploy are open.
        copy = shutil.copytree if folder.is_dir() else shutil.copy
        copy(folder, Path(chosen.name) / folder.name)
    _configure_hayhooks(chosen.name)
    _configure_log()
    _refuse_unknown_fields()

    app = create_hayhooks()
    app.title, app.description = "prefrag", "Answers multi-hop questions, your own documents first."
    # Innermost, so that what they refuse still carries the headers of CORS and the id of the request.
    app.user_middleware += [
        Middleware(ErrorForm),
        Middleware(OpenRoutes, open_deploy=open_deploy),
        Middleware(ApiKeys, keys=keys),
        Middleware(BodyLimit),
        Middleware(CancelWhenGone),
        Middleware(StreamEnd),
    ]
    app.add_exception_handler(BrokenOff, _broken_off)
    _describe_open_routes_only(app)
    hayhooks_lifespan = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        try:
            async with hayhooks_lifespan(app):
                if missing := _not_loaded(folders):
                    log.error("Not ready: {} did not load, see above.", ", ".join(missing))
                if open_deploy:
                    log.warning("The routes that deploy are open: whoever may call them can run any code here.")
                yield
        finally:
            # The registry is global to the process and would refuse the same names to another application.
            registry.clear()
            chosen.cleanup()

    app.router.lifespan_context = lifespan

    @app.get("/ready", tags=["status"], summary="Whether every pipeline has loaded")
    async def ready() -> JSONResponse:
        missing = _not_loaded(folders)
        if missing:
            return JSONResponse({"status": "not ready", "not_loaded": missing}, 503)
        return JSONResponse({"status": "ready"})

    @app.get("/live", tags=["status"], summary="Whether the process answers")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    return app


def _configure_hayhooks(pipelines_dir: str) -> None:
    settings.pipelines_dir = pipelines_dir
    # In parallel, one wrapper's imports can disturb another's, which is then left out.
    settings.startup_deploy_strategy = StartupDeployStrategy.SEQUENTIAL
    settings.cors_allow_origins = [
        origin.strip() for origin in os.environ.get(CORS_VARIABLE, "").split(",") if origin.strip()
    ]
    # Nobody reads the traces that Hayhooks would keep: a run brings its own.
    settings.tracing_enabled = False
    settings.tracing_include_haystack_spans = False
    settings.tracing_buffer_capacity = 1
    settings.monitoring_enabled = False


def _refuse_unknown_fields() -> None:
    """Make the request models that Hayhooks builds refuse what they do not know.

    A wish that is misspelt, such as ``source`` for ``sources``, would otherwise be left out without a word, and the
    question sent to the web. Hayhooks has no setting for it.
    """
    models.create_model = partial(create_model, __config__=ConfigDict(extra="forbid"))


def _configure_log() -> None:
    """Log as Hayhooks does, but neither the questions nor the values of variables in tracebacks."""

    def without_request(record: Any) -> None:
        record["extra"].pop("params", None)

    level = os.environ.get("HAYHOOKS_LOG_LEVEL") or "INFO"
    log.configure(patcher=without_request)
    log.remove()
    log.add(sys.stderr, level=level.upper(), format=formatter, diagnose=False)


def _not_loaded(folders: list[Path]) -> list[str]:
    """:returns: The pipelines that were left out at the start, which Hayhooks only logs."""
    expected = {path.stem if path.is_file() else path.name for path in folders}
    return sorted(expected - set(registry.get_names()))


def _describe_open_routes_only(app: FastAPI) -> None:
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        schema = describe()
        schema["paths"] = {
            path: routes for path, routes in schema["paths"].items() if is_open(path.replace("{", "").replace("}", ""))
        }
        return schema

    app.openapi = openapi  # type: ignore[method-assign]


async def _broken_off(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, BrokenOff)
    return JSONResponse({"detail": error.detail, "result": error.result}, error.status_code)
