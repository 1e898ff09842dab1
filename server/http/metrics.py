"""Metrics for Prometheus, by pipeline, role of the model, and kind of source. They name no keys and no indexes.

All worker processes write their metrics to files in the same folder, which ``prefrag serve`` makes. So any worker can
report the totals of all workers.
"""

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, make_asgi_app
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from prefrag.tracing import Measured, observers

# The environment variable that names the folder. The Prometheus client reads it too.
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# The content type of a reply with metrics.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# The upper limits of the histogram of runs, in seconds.
_RUN_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600)
# The upper limits of the histograms of model calls and searches, in seconds.
_STEP_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120)

# Use a separate registry, because other libraries in the process put their own metrics into the default one.
_registry = CollectorRegistry()

# The metrics. Each has its name, its description, and the labels by which it is counted.
_RUNS = Counter("prefrag_runs", "Runs that have ended.", ["pipeline", "status"], registry=_registry)
_RUN_SECONDS = Histogram(
    "prefrag_run_seconds", "How long runs took.", ["pipeline"], buckets=_RUN_BUCKETS, registry=_registry
)
_CALL_SECONDS = Histogram(
    "prefrag_model_call_seconds",
    "How long calls of models took, including retries.",
    ["role", "failed"],
    buckets=_STEP_BUCKETS,
    registry=_registry,
)
_SEARCH_SECONDS = Histogram(
    "prefrag_search_seconds", "How long searches took.", ["source", "failed"], buckets=_STEP_BUCKETS, registry=_registry
)
_TOKENS = Counter("prefrag_tokens", "Tokens, counted by the model servers.", ["role", "kind"], registry=_registry)
_HELD_BACK = Counter("prefrag_queries_held_back", "Queries that were not sent to the web.", registry=_registry)
REFUSED = Counter("prefrag_refused", "Questions refused because of a limit.", ["status"], registry=_registry)
WAITING = Gauge(
    "prefrag_waiting", "Requests that wait for their turn.", multiprocess_mode="livesum", registry=_registry
)
RUNNING = Gauge("prefrag_running", "Requests being answered.", multiprocess_mode="livesum", registry=_registry)


def count(measured: Measured) -> None:
    """Add a measurement to the metrics.

    :param measured: A run, a call of a model, or a search.
    """
    tags = measured.tags
    failed = "yes" if measured.error else "no"
    if measured.name == "prefrag.run":
        pipeline = tags["prefrag.pipeline"]
        _RUNS.labels(pipeline, tags["prefrag.status"]).inc()
        _RUN_SECONDS.labels(pipeline).observe(measured.seconds)
    elif measured.name == "gen_ai.chat":
        role = tags["prefrag.role"]
        _CALL_SECONDS.labels(role, failed).observe(measured.seconds)
        for kind in ("input", "output"):
            _TOKENS.labels(role, kind).inc(tags.get(f"gen_ai.usage.{kind}_tokens", 0))
    elif tags.get("prefrag.held_back"):
        _HELD_BACK.inc()
    else:
        source = "external" if tags["prefrag.external"] else "own"
        _SEARCH_SECONDS.labels(source, failed).observe(measured.seconds)


observers.append(count)


def write_metrics() -> bytes:
    """Write all metrics in the Prometheus text format."""
    return generate_latest(_gather())


def create_app() -> object:
    """Build the application for the separate metrics port."""
    return make_asgi_app(_gather())


def _gather() -> CollectorRegistry:
    """Return the metrics of all worker processes. If there is no shared folder, return those of this process."""
    if FOLDER_VARIABLE not in os.environ:
        return _registry
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


def forget_process(pid: int) -> None:
    """Stop counting the waiting and running requests of a process that has ended.

    :param pid: The id of the process.
    """
    if FOLDER_VARIABLE in os.environ:
        mark_process_dead(pid)
