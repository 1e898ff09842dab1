"""Run a pipeline for a question, and return or stream its result.

:func:`stream` does the work: it runs the pipeline with Haystack's asynchronous engine and yields each event of the
trace. The components pass on a `State`, which contains the events so far. So new events are found in the outputs of the
components. The functions :func:`ask_async` and :func:`ask` return only the result. A run may also end with a question
to the user in place of an answer, which is called asking back.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from contextvars import Context, ContextVar, copy_context
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

from haystack.components.joiners import BranchJoiner
from haystack.core.errors import PipelineError, PipelineRuntimeError
from haystack.core.pipeline.base import PipelineBase
from haystack.errors import FilterError

from prefrag.audit_log import AuditLogFailed, audit, label_audit
from prefrag.components.generators.call_progress import CallProgress, followed
from prefrag.components.generators.model_call import ModelLeftOut, model_left_out
from prefrag.components.generators.model_server import ModelServerError
from prefrag.components.recording import RECORDING
from prefrag.components.state.answer_composer import awaited, compose
from prefrag.components.state.events import EventData
from prefrag.components.state.request_limits import check_filters, keep_newest_turns
from prefrag.components.state.result import Result
from prefrag.components.state.state import AskBack, Event, RunError, RunSettings, State
from prefrag.components.state.web_switch import CLOSED_BY_REQUEST, web_closed_by
from prefrag.components.web.query_form import query_form
from prefrag.components.web.query_origin import allowed_query
from prefrag.errors import BadInput, PrefragError, find_cause
from prefrag.pipelines.cancelling import cancel_tasks_at_end
from prefrag.pipelines.event_loop import run_to_end
from prefrag.pipelines.loading import Pipeline, find, load, read
from prefrag.pipelines.run_labels import label_run
from prefrag.settings import settings
from prefrag.tracing import measure_run, sent_to_tracing

T = TypeVar("T")

# The time at which a request arrived, in seconds of the event loop's clock. The time limit of its run begins at this
# time. If None, the time limit begins with the run.
arrived: ContextVar[float | None] = ContextVar("arrived", default=None)


class FailureStatus(TypedDict, total=False):
    """What a client is told about a failed run, see :class:`RunFailed`. A key is left out for the usual value."""

    http_status: int
    retry_after: float | None


class RunFailed(PrefragError, RuntimeError):
    """The error when a run ends early because something failed.

    :param message: What happened and what to do.
    :param result: The result so far: the trace, the steps, the documents, and the errors including ``message``.
    :param http_status: The HTTP status for a client. It is 504 after the deadline, 429 if the model server is busy, and
        422 for filters that do not fit the documents. It is 502 for all other failures.
    :param retry_after: The number of seconds after which the model server accepts another call. None if the server does
        not say it.
    """

    http_status = 502

    def __init__(self, message: str, result: Result, http_status: int = http_status, retry_after: float | None = None):
        super().__init__(message)
        self.result = result
        self.http_status = http_status
        if http_status == BadInput.http_status:
            self.exit_code = BadInput.exit_code
        self.retry_after = retry_after


def limit_deadline(deadline: float | None) -> float:
    """Limit the deadline of a request to ``PREFRAG_RUN_SECONDS``.

    :param deadline: The number of seconds that the run may take, from the request. None if the request sets none.
    :returns: The number of seconds that the run may take.
    :raises BadInput: When the deadline is not a number above zero.
    """
    longest = settings.run_seconds
    if deadline is None:
        return longest
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not deadline > 0:
        raise BadInput(f"deadline is {deadline!r}: give the seconds that the run may take, as a number above zero.")
    return min(deadline, longest)


async def stream(
    pipeline: Pipeline, question: str, *, deadline: float | None = None, progress: bool = False, **options: object
) -> AsyncGenerator[Event | Result, None]:
    """Run a pipeline and yield each event of its trace as it happens.

    To cancel the run with all its calls, close the generator, or cancel the task that waits for it.

    :param pipeline: A loaded pipeline with the components ``start`` and ``answer``.
    :param question: The question.
    :param deadline: The number of seconds after which the run is stopped. The maximum, and the default for None, is
        ``PREFRAG_RUN_SECONDS``.
    :param progress: Whether events ``progress`` are yielded, too, at most once a second. They are not in the trace.
        They say how many tokens a model has read (``read`` of ``total``) or ``written``. Only the server of llama.cpp
        reports these numbers.
    :param options: The options of :class:`~prefrag.components.state.run_options.RunOptions`.
    :returns: The events, then the result.
    :raises ValueError: When the question or an option is invalid.
    :raises RunFailed: When the run fails or is stopped.
    """
    seconds = limit_deadline(deadline)
    inputs, context = _prepare(pipeline, question, options)
    with measure_run(context) as measured:
        try:
            async with aclosing(_run(pipeline, inputs, context, seconds, progress)) as outputs:
                async for output in outputs:
                    if isinstance(output, dict):
                        measured.tags |= _count(output, _name_end(output))
                    yield output
        except RunFailed as error:
            status = "timed_out" if error.http_status == 504 else "failed"
            measured.tags |= _count(error.result, status)
            raise
        except (GeneratorExit, asyncio.CancelledError):
            if measured.tags["prefrag.status"] == "failed":
                measured.tags["prefrag.status"] = "cancelled"
            raise
        except ValueError:
            measured.tags["prefrag.status"] = "refused"
            raise


async def _run(
    pipeline: Pipeline, inputs: dict[str, Any], context: Context, deadline: float, progress: bool
) -> AsyncGenerator[Event | Result, None]:
    """Run a pipeline in a context for at most ``deadline`` seconds, and yield its events and its result.

    Raise RunFailed if the run fails or is stopped.
    """
    composer = pipeline.get_component("answer")
    # The composer appends its result to this list.
    results: list[Result] = []
    context.run(awaited.set, (composer, results))
    local = getattr(composer, "local_source", "local")
    reached = _Reached(inputs["question"], local)

    try:
        async with aclosing(_start_engine(pipeline, inputs, context, deadline, progress)) as outputs:
            async for output in outputs:
                if isinstance(output, Event):
                    # An event with the progress of a model call.
                    yield replace(output, step=reached.last_state.replies)
                    continue
                result = _find_result(output, results)
                if result:
                    yield result
                    return
                for event in reached.take_new_events(_states_in(output)):
                    yield event
    except AuditLogFailed as error:
        raise _make_failure(str(error), reached.last_state, local) from error
    except TimeoutError as error:
        message = (
            f"The run was given up after {deadline:g} s. Ask again, lower max_steps, or allow more with "
            "PREFRAG_RUN_SECONDS."
        )
        raise _make_failure(message, reached.last_state, local, http_status=504) from error
    except (PipelineError, PipelineRuntimeError) as error:
        cause = _find_cause(error)
        if isinstance(cause, AskBack):
            for event in reached.take_new_events([cause.state]):
                yield event
            yield compose(cause.state, local)
            return
        if isinstance(cause, RunError):
            reached.state = cause.state
        # Without a state, the first component has refused the question or an option.
        if reached.state is None and isinstance(cause, ValueError):
            raise cause from error
        raise _make_failure(str(cause), reached.last_state, local, **_find_status(error)) from error

    # Haystack ends without an output if a component waits for an input that never arrives.
    message = "The pipeline ended without an answer: a path through its connections leads nowhere."
    raise _make_failure(message, reached.last_state, local)


def _start_engine(
    pipeline: Pipeline, inputs: dict[str, Any], context: Context, deadline: float, progress: bool
) -> AsyncGenerator[Any, None]:
    """Return the generator of the outputs of components and, if wanted, of events with the progress of model calls.

    Before the run starts, the audit log gets an entry if a tracing backend gets spans of the run.
    """
    sent = sent_to_tracing()
    if sent:
        context.run(audit, "tracing", sent=sent)
    began = arrived.get() or asyncio.get_running_loop().time()
    # Haystack declares less than it returns: a generator, which can be closed.
    engine: Any = pipeline.run_async_generator({"start": inputs}, include_outputs_from=_list_watched(pipeline))
    outputs: AsyncGenerator[Any, None] = cancel_tasks_at_end(engine, began + deadline, context)
    return _with_progress(outputs, context) if progress else outputs


class _Reached:
    """How far a run has come: its last state, and the events that were yielded."""

    def __init__(self, question: str, local: str):
        # The state with the most events. None before the first component has ended.
        self.state: State | None = None
        self._first_state = State(question, RunSettings(sources=(), preferred=local))
        # The events that were yielded, by their `id`. The positions of events do not identify them. If several sources
        # are searched at the same time, each source continues the same state, so their new events have the same
        # position.
        self._seen: dict[int, Event] = {}

    @property
    def last_state(self) -> State:
        """The state that a failure reports, also if the run ends before its first component."""
        return self.state or self._first_state

    def take_new_events(self, states: Sequence[State]) -> Iterator[Event]:
        """Keep the state with the most events, and yield the events that are new."""
        for state in states:
            if self.state is None or len(state.events) >= len(self.state.events):
                self.state = state
            for event in state.events:
                if id(event) not in self._seen:
                    self._seen[id(event)] = event
                    yield event


def _list_watched(pipeline: PipelineBase) -> set[str]:
    """List the components whose outputs are watched, which are all but the last and the joiners.

    Joiners add nothing to the trace, and Haystack copies every watched output.
    """
    watched = set()
    for name, part in pipeline.walk():
        if name != "answer" and not isinstance(part, BranchJoiner):
            watched.add(name)
    return watched


def _find_result(output: Mapping[str, Mapping[str, Any]], results: Sequence[Result]) -> Result | None:
    """Return the result of a run, if it is among the outputs of components.

    The composer of this application has appended its result to ``results``, because `awaited` is set. Other components
    return their result.
    """
    if "answer" not in output:
        return None
    result: Result | None = output["answer"].get("result")
    if result:
        return result
    return results[0] if results else None


async def _with_progress(outputs: AsyncGenerator[T, None], context: Context) -> AsyncGenerator[T | Event, None]:
    """Yield the outputs of a run and, between them, events with the progress of its model calls."""
    loop = asyncio.get_running_loop()
    arriving = asyncio.Queue[T | Event | None]()

    def tell(counted: EventData) -> None:
        # A model call may run in its own thread, so the event is handed over to the thread of the event loop.
        loop.call_soon_threadsafe(arriving.put_nowait, Event("progress", 0, counted))

    async def receive() -> None:
        async with aclosing(outputs):
            async for output in outputs:
                arriving.put_nowait(output)

    context.run(followed.set, CallProgress(tell))
    # None at the end of the queue says that the run has ended.
    task = asyncio.create_task(receive())
    task.add_done_callback(lambda _: arriving.put_nowait(None))
    try:
        while True:
            output = await arriving.get()
            if output is None:
                break
            yield output
        # Raise the error of the run, if there was one.
        await task
    finally:
        task.cancel()
        await asyncio.wait([task])


def _name_end(result: Result) -> str:
    """Name how a run ended, for the spans: ``asked_back``, ``answered`` or ``not_answered``."""
    if result.get("asked_back"):
        return "asked_back"
    return "answered" if result.get("answered") else "not_answered"


def _states_in(output: Mapping[str, Mapping[str, object]]) -> list[State]:
    """List the states among the outputs of components."""
    states = []
    for outputs_of_component in output.values():
        states += [value for value in outputs_of_component.values() if isinstance(value, State)]
    return states


def _count(result: Result, status: str) -> dict[str, object]:
    """Return the tags of a run's span: its status, and the numbers of its searches and tokens."""
    usage = result.get("usage") or {}
    counts = result.get("counts") or {}
    return {
        "prefrag.status": status,
        "prefrag.searches": counts.get("total", 0),
        "gen_ai.usage.input_tokens": usage.get("prompt_tokens", 0),
        "gen_ai.usage.output_tokens": usage.get("completion_tokens", 0),
    }


async def begin(pipeline: Pipeline, question: str, **options: object) -> State:
    """Build the first state of a run, to check the question and the options without a run.

    :param pipeline: A loaded pipeline.
    :param question: The question.
    :param options: The options of :class:`~prefrag.components.state.run_options.RunOptions`.
    :returns: The first state.
    :raises ValueError: When the question or an option is invalid.
    """
    inputs, context = _prepare(pipeline, question, options)
    start: Any = pipeline.get_component("start")
    building = start.run_async(**inputs)
    try:
        started = await asyncio.get_running_loop().create_task(building, context=context)
    except AskBack as asked:
        # The question is valid, but the run will end with a question to the user.
        return asked.state
    state: State = started["state"]
    return state


async def ask_async(pipeline: Pipeline, question: str, **options: Any) -> Result:
    """Run a pipeline as :func:`stream` does, and return only the result.

    :param pipeline: A loaded pipeline.
    :param question: The question.
    :param options: The options of :func:`stream` and of
        :class:`~prefrag.components.state.run_options.RunOptions`.
    :returns: The result.
    :raises ValueError: When the question or an option is invalid.
    :raises RunFailed: When the run fails or is stopped.
    """
    result: Result = {}
    async for output in stream(pipeline, question, **options):
        if isinstance(output, dict):
            result = output
    return result


def ask(question: str, pipeline: str | Path | Pipeline = "prefrag", **options: object) -> Result:
    """Answer one question. This also works in a notebook, where an event loop is already running.

    Usage example, with the demo index:
    ```python
    from prefrag import pipelines

    print(pipelines.ask("Who founded the company that built the Aurora log?")["answer"])
    ```

    :param question: The question.
    :param pipeline: The name of a pipeline, the path of a YAML file, or a loaded pipeline.
    :param options: The options of :func:`stream` and of
        :class:`~prefrag.components.state.run_options.RunOptions`.
    :returns: The result.
    :raises ValueError: When the pipeline does not exist, or the question or an option is invalid.
    :raises RunFailed: When the run fails or is stopped.
    """
    loaded = _load_once(pipeline) if isinstance(pipeline, str | Path) else pipeline

    async def run() -> Result:
        return await ask_async(loaded, question, **options)

    return run_to_end(run)


def search_failures(result: Result) -> dict[str, str]:
    """Return the errors of the sources if every search of a run failed.

    :param result: The result of a run, also of a run that failed.
    :returns: The last error of each source, by the name of the source. Empty if a search succeeded.
    """
    searches = [event for event in result.get("trace") or () if event.get("kind") == "found"]
    for event in searches:
        if event.get("titles") or not event.get("error"):
            return {}
        # A search with an error and a provider did not fail. Some of its retrievers failed, but others searched.
        if event["provider"] not in ("", RECORDING):
            return {}
    return {str(event["source"]): str(event["error"]) for event in searches}


def refuse_unsearched(result: Result) -> Result:
    """Raise an error if every search of a run failed.

    :param result: The result of the run.
    :returns: The same result.
    :raises RunFailed: When every search failed.
    """
    failed = search_failures(result)
    if failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise RunFailed(f"No source could be searched, so the answer rests on no document. {reasons}", result)
    return result


def _load_once(pipeline: str | Path) -> Pipeline:
    """Load a pipeline, or return it from the cache if its file and the settings have not changed."""
    path = find(pipeline).resolve()
    current_folder = Path.cwd()
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith("PREFRAG_"))
    return _load(path, os.getpid(), current_folder, read(path), tuple(variables))


@lru_cache(maxsize=16)
def _load(path: Path, *depends_on: object) -> Pipeline:
    """Load a pipeline. ``depends_on`` has what the pipeline depends on, and is only a part of the cache's key."""
    return load(path)


def _prepare(pipeline: Pipeline, question: str, options: dict[str, Any]) -> tuple[dict[str, object], Context]:
    """Check the options of a run. Return the inputs of its first component, and the context in which it runs.

    The context has the labels for the audit log, and the options that no component takes as an input.
    """
    # The inputs are checked and shortened first, because Haystack takes seconds to copy large filters or a long
    # history.
    check_filters(options.get("filters"))
    inputs = {**options, "history": keep_newest_turns(options.get("history")) or None}
    context = copy_context()
    context.run(label_audit, **label_run(pipeline))

    inputs.pop("deadline", None)
    # If the API key already forbids web search, the reason to show stays that of the key.
    if inputs.pop("web", None) is False and not web_closed_by.get():
        context.run(web_closed_by.set, CLOSED_BY_REQUEST)
    if inputs.pop("model", None) is False:
        context.run(model_left_out.set, True)
    confirmed_query = inputs.pop("web_query", None)
    if confirmed_query is not None:
        if confirmed_query != query_form(question):
            raise BadInput("`web_query` is not the question in the form in which it would be sent: show that and ask.")
        context.run(allowed_query.set, confirmed_query)
    set_inputs = {name: value for name, value in inputs.items() if value is not None}
    return {"question": question, **set_inputs}, context


def _find_cause(error: Exception) -> BaseException:
    """Return the RunError behind an error of Haystack, or else its direct cause, or the error itself."""
    return find_cause(error, RunError) or error.__cause__ or error


def status_if_busy(error: BaseException) -> FailureStatus:
    """Return the HTTP status and the pause for a client if an overloaded model server refused a call.

    :param error: The error of the run.
    :returns: The arguments ``http_status`` (429) and ``retry_after`` (seconds) of :class:`RunFailed`. Empty for another
        error.
    """
    server_error = find_cause(error, ModelServerError)
    if server_error is None or server_error.status != 429:
        return {}
    return {"http_status": 429, "retry_after": server_error.retry_after}


def _find_status(error: Exception) -> FailureStatus:
    """Return the arguments of :class:`RunFailed` for the HTTP status. Empty for the usual status."""
    # If the filters do not fit the documents, or the method needs its model, the client has to change its request.
    is_refused = isinstance(_find_cause(error).__cause__, FilterError | ModelLeftOut)
    return {"http_status": BadInput.http_status} if is_refused else status_if_busy(error)


def _make_failure(message: str, state: State, local: str, **status: Unpack[FailureStatus]) -> RunFailed:
    """Make the error of a run that ends early. ``local`` is the local source, and ``status`` has the HTTP status."""
    return RunFailed(message, compose(state, local, error=message), **status)
