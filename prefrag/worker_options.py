"""The command options that choose where questions run, kept here so that --help does not load a pipeline."""

from typing import Annotated

import typer

Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes, each with --concurrency questions at once; by default, only one."),
]
RayCluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run the --workers on the Ray cluster at ADDRESS (extra `ray`).")
]
