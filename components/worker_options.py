"""The command options that choose where items run; kept here so that --help does not load a pipeline."""

from typing import Annotated

import typer

Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes that run --concurrency questions each; by default this one alone."),
]
RayCluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run the --workers on the Ray cluster there (extra `ray`).")
]
