"""Run the same work on many items: in this process, in several processes, or on a Ray cluster."""

from prefrag.pipelines.runners.in_process import InProcess
from prefrag.pipelines.runners.processes import Processes
from prefrag.pipelines.runners.runner import Runner


def make_runner(concurrency: int = 1, workers: int | None = None, ray: str | None = None) -> Runner:
    """Choose where items run.

    :param concurrency: The number of items that run at the same time in each process.
    :param workers: The number of processes. If None, items run only in this process.
    :param ray: The address of a Ray cluster on which the processes run. If None, they run on this machine.
    :returns: The runner.
    :raises ValueError: When ``ray`` is set without ``workers``.
    """
    if ray is not None:
        from prefrag.pipelines.runners.on_ray import OnRay

        if workers is None:
            raise ValueError("--ray needs --workers: the number of processes on the cluster.")
        return OnRay(ray, workers, concurrency)
    return InProcess(concurrency) if workers is None else Processes(workers, concurrency)
