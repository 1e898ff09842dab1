"""`prefrag pipelines`."""

from __future__ import annotations

from typing import Annotated

import typer


def list_pipelines(
    draw: Annotated[
        str | None, typer.Option(help="Draw this pipeline, a name or a YAML file, as a Mermaid flowchart.")
    ] = None,
) -> None:
    """List the names of the pipelines, or draw one."""
    # Everything heavy is imported where it is used, so that help comes at once.
    from prefrag.pipelines.drawing import mermaid
    from prefrag.pipelines.loading import load, names

    typer.echo("\n".join(names()) if draw is None else mermaid(load(draw)))
