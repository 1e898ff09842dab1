"""The command options that choose in which processes questions run.

The options are in a module of their own, so that ``--help`` does not load a pipeline.
"""

from typing import Annotated

import typer

# The option `--workers`: the number of processes. None stands for the process of the command itself.
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes, each with --concurrency questions at once; by default, only one."),
]
# The option with the address of a Ray cluster. None runs the processes on this machine.
RayCluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run the --workers on the Ray cluster at ADDRESS (extra `ray`).")
]
