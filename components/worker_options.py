"""The options of commands that choose where items run; here, so that the help needs no pipeline."""

from typing import Annotated

import typer

Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes that run --concurrency questions each; by default this one alone."),
]
RayCluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="The --workers run on the Ray cluster there (extra `ray`).")
]
