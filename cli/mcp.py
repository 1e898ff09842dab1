"""The command `prefrag mcp`. A desktop MCP client starts it, and talks to it over standard input and output."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from prefrag.cli.documents import CollectionOption
from prefrag.cli.errors import INTERRUPTED
from prefrag.cli.serve import DemoOption, PipelineOption, PipelinesDirOption, choose_what_to_serve
from prefrag.errors import Missing


def serve_tools(
    pipeline: PipelineOption = None,
    pipelines_dir: PipelinesDirOption = None,
    collection: CollectionOption = None,
    demo: DemoOption = False,
) -> None:
    """Offer the pipelines as tools to a desktop MCP client, which starts this command by itself."""
    with _keep_stdout() as protocol:
        # Heavy modules are imported where they are used, so that --help is instant.
        import asyncio

        from prefrag.server.chat.served_pipelines import skips_broken

        try:
            from prefrag.server.chat.mcp_tools import serve_stdio
        except ModuleNotFoundError as error:
            missing_package, _, _ = (error.name or "").partition(".")
            if missing_package != "mcp":
                raise
            raise Missing('This needs the extra mcp: pip install "prefrag[mcp]".') from error
        files = choose_what_to_serve(pipeline, pipelines_dir, demo, collection)
        if sys.stdin.isatty():
            typer.echo("Waiting for an MCP client on standard input; Ctrl-C quits.", err=True)
        # At Ctrl-C, end the process at once, because the thread that reads standard input cannot be interrupted.
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        asyncio.run(serve_stdio(files, skips_broken(), protocol))


@contextmanager
def _keep_stdout() -> Iterator[TextIO]:
    """Yield a file for the protocol that writes to standard output.

    Within the context, everything else that is printed goes to standard error.
    """
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as protocol:
        os.dup2(2, 1)
        try:
            yield protocol
        finally:
            sys.stdout.flush()
            os.dup2(protocol.fileno(), 1)
