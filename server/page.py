"""Serve the web page at ``/`` and its files at ``/page/NAME``.

The route ``/pipelines`` lists the pipelines that users can choose on the page.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

from fastapi import APIRouter, Request, Response
from haystack.core.pipeline.base import PipelineBase
from starlette.staticfiles import StaticFiles

from prefrag.components.generators.model_host import find_host
from prefrag.components.parts import read_attribute, walk_parts
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.state.state_builder import StateBuilder
from prefrag.server.http.security import is_loopback

# The folder with the files of the page.
FOLDER = Path(__file__).parent / "page"
# The content type of each file, by its suffix. They are written here, because operating systems give different types to
# the same suffix.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# The headers of each file of the page.
HEADERS = {
    # With this policy, browsers allow no inline scripts or styles, and nothing from other hosts. `data:` allows the
    # pictures of PDF pages, whose data is in the page itself. The trusted types keep scripts from turning text into
    # HTML.
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; object-src 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    # Browsers must check each time whether their copy is current.
    "Cache-Control": "no-cache",
}


def page_routes(pipelines: Callable[[], Mapping[str, Any]]) -> APIRouter:
    """Make the routes of the page.

    :param pipelines: Returns the served pipelines by name.
    """
    router = APIRouter()
    files = StaticFiles(directory=FOLDER)

    async def send_file(name: str, request: Request) -> Response:
        response = await files.get_response(name, request.scope)
        response.headers.update({**HEADERS, "Content-Type": _TYPES[Path(name).suffix]})
        return response

    @router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def index(request: Request) -> Response:
        return await send_file("index.html", request)

    @router.api_route("/page/{name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def page_file(name: str, request: Request) -> Response:
        return await send_file(name, request)

    @router.get("/pipelines", tags=["pipelines"], summary="The pipelines that are served, and what each can search")
    async def list_pipelines() -> dict[str, Any]:
        descriptions = []
        for name, pipeline in sorted(pipelines().items()):
            start = _find_start(pipeline)
            if start is not None:
                # In a thread, because the pipeline may ask Elasticsearch whether web search is allowed.
                descriptions.append(asyncio.to_thread(_describe, name, pipeline, start))
        return {"pipelines": await asyncio.gather(*descriptions)}

    return router


def _find_start(pipeline: PipelineBase) -> StateBuilder | None:
    """Find the `start` component of a pipeline. None if it has none.

    Pipelines without this component are not listed, because the page cannot show their results.
    """
    starts = [part for _, part in pipeline.walk() if isinstance(part, StateBuilder)]
    return starts[0] if starts else None


def _describe(name: str, pipeline: object, start: StateBuilder) -> dict[str, object]:
    """Describe a pipeline for the page: its sources, the defaults of its options, and its model."""
    # The sources that may not be searched now, and the reason.
    closed, reason = start.closed_sources()
    sources: list[dict[str, object]] = []
    for source in start.sources:
        is_closed = source in closed
        description = {"name": source, "external": source in start.external_sources, "open": not is_closed}
        if is_closed:
            description["reason"] = reason
        sources.append(description)
    return {
        "name": name,
        "sources": sources,
        "preferred": start.preferred,
        "top_k": start.top_k,
        "max_steps": start.max_steps,
        "model": _describe_model(pipeline),
    }


def _describe_model(pipeline: object) -> dict[str, object] | None:
    """Describe the model that answers, without the name of its machine. None if the extractive reader answers."""
    reasoners = [part for _, part in walk_parts(pipeline) if isinstance(part, Reasoner)]
    with_model = [reasoner for reasoner in reasoners if not reasoner.is_extractive]
    if not with_model:
        return None
    generator = with_model[0].chat_generator
    name = str(read_attribute(generator, "model_name") or read_attribute(generator, "model") or "")
    # Check whether the model runs on this machine. A host in PREFRAG_LOCAL_HOSTS is another machine.
    is_here = is_loopback(find_host(generator))
    # Some servers use the path of a file as the name of a model. The folders would reveal something about the machine.
    return {"name": PurePath(name).name, "here": is_here}
