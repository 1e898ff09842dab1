"""Run the same work on many items: in this process or in several."""

from prefrag.pipelines.runners.in_process import InProcess
from prefrag.pipelines.runners.processes import Processes
from prefrag.pipelines.runners.runner import Runner


def make_runner(concurrency: int = 1, workers: int | None = None, ray: str | None = None) -> Runner:
    """Choose where items run.

    Without ``workers``, items run only in this process. ``ray`` is the address of a Ray cluster on which the workers
    run, and needs ``workers``.
    """
    if ray is not None:
        from prefrag.pipelines.runners.on_ray import OnRay

        if workers is None:
            raise ValueError("--ray needs --workers: the number of processes on the cluster.")
        return OnRay(ray, workers, concurrency)
    return InProcess(concurrency) if workers is None else Processes(workers, concurrency)
