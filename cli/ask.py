"""The command `prefrag ask`, and what it shares with `prefrag chat`.

:func:`ask` applies the options, loads the pipeline, runs it, and prints each step and the result. The other public
functions are these steps. `prefrag chat` calls them too.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from prefrag.cli.console import console, print_json
from prefrag.cli.documents import CollectionOption
from prefrag.cli.env_file import report_unknown_settings
from prefrag.cli.errors import INTERRUPTED
from prefrag.cli.kept_model import ModelOption, apply_chosen_model, offer_model
from prefrag.cli.web_consent import ask_before_sending, set_web
from prefrag.components.text.distinct import distinct
from prefrag.errors import BadInput, Missing, PrefragError

# Heavy modules are imported where they are used, so that --help is instant.
if TYPE_CHECKING:
    from prefrag.cli.run_printer import RunPrinter
    from prefrag.components.state.result import Result
    from prefrag.indexing.report import Skipped
    from prefrag.pipelines import Pipeline, RunFailed

T = TypeVar("T")
# How many seconds the trial of a model may take.
_TRIAL_SECONDS = 60.0
# How often a trial calls the model.
_TRIAL_CALLS = 4
# The question of the demo. Its answer needs several of the invented documents.
DEMO_QUESTION = "What is the name of the café in the museum led by the former chief scientist of the Lantern Survey?"

# Options that `prefrag ask` and `prefrag chat` share. Some have no help text here, such as `--prefer`. The module
# `prefrag.cli.main` gives them the description of the field in `RunOptions` that has the name of their parameter.
PipelineOption = Annotated[str, typer.Option(metavar="NAME|FILE.yaml", help="A pipeline's name, or a YAML file.")]
SourcesOption = Annotated[
    list[str] | None, typer.Option("--source", help="A source to search (repeatable); by default all.")
]
PreferredOption = Annotated[str | None, typer.Option("--prefer", metavar="SOURCE")]
NumberOption = Annotated[int | None, typer.Option()]
FoldersOption = Annotated[list[str] | None, typer.Option("--folder")]
KindsOption = Annotated[list[str] | None, typer.Option("--kind")]
DateOption = Annotated[str | None, typer.Option(metavar="DATE")]
FiltersOption = Annotated[str | None, typer.Option(metavar="JSON")]
DeadlineOption = Annotated[
    float | None, typer.Option(min=1, help="Seconds after which the run is stopped; by default 600.")
]
WebOption = Annotated[
    bool | None,
    typer.Option("--web/--no-web", help="Whether questions may go to the web; by default as set for the collection."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer and how sure it is.")]


def ask(
    question: Annotated[str | None, typer.Argument(help="The question. Only the demo has a default question.")] = None,
    pipeline: PipelineOption = "prefrag",
    corpus: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Search this corpus instead of a collection.")
    ] = None,
    web_corpus: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Search this corpus instead of the web.")
    ] = None,
    collection: CollectionOption = None,
    sources: SourcesOption = None,
    preferred: PreferredOption = None,
    top_k: NumberOption = None,
    max_steps: NumberOption = None,
    folders: FoldersOption = None,
    kinds: KindsOption = None,
    since: DateOption = None,
    until: DateOption = None,
    filters: FiltersOption = None,
    deadline: DeadlineOption = None,
    web: WebOption = None,
    model: ModelOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print only the result, as JSON; the steps go to stderr.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Also print the whole trace.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Answer a question, and show each step as it happens."""
    options = read_options(
        sources=sources,
        preferred=preferred,
        top_k=top_k,
        max_steps=max_steps,
        folders=folders,
        kinds=kinds,
        since=since,
        until=until,
        filters=filters,
    )
    if corpus is not None and collection is not None:
        raise BadInput("Give --corpus or --collection, not both.")
    set_up(pipeline, collection, deadline, web, model)
    if corpus is not None:
        os.environ["PREFRAG_INDEX"] = _index_corpus(corpus)
    if web_corpus is not None:
        os.environ["PREFRAG_WEB_INDEX"] = _index_corpus(web_corpus)

    if question is None:
        question = _choose_demo_question()
    if not as_json and not quiet and model is None:
        offer_model()
    with _without_garbage_collection():
        from prefrag.cli.run_printer import RunPrinter

        loaded = load(pipeline)

    printer = RunPrinter(console(stderr=as_json), quiet)
    collections = [] if corpus else _name_collections(loaded)
    printer.print_question(question, is_extractive(loaded), collections)
    began = time.monotonic()
    result, failure = _await_or_exit(run(loaded, question, options, printer))
    seconds = time.monotonic() - began

    if as_json:
        shown = result if trace else {key: value for key, value in result.items() if key != "trace"}
        print_json(shown)
    else:
        message = None if failure is None else str(failure)
        printer.print_result(result, trace, message)
    check_result(result, failure)
    if not as_json and not quiet:
        try_models_once(loaded, result, seconds)


def try_models_once(pipeline: object, result: Result, seconds: float) -> None:
    """Try a model that was never tried, to find out what it can do.

    The model is not tried if the calls of the last run were so slow that the trial would take over a minute.

    :param pipeline: The pipeline with the model.
    :param result: The result of the last run. It says how often a model was called.
    :param seconds: How long the last run took.
    """
    from prefrag.components.generators.ability_probe import find_untried, try_models

    calls = result["usage"]["llm_calls"]
    if not calls:
        return
    expected_seconds = seconds / calls * _TRIAL_CALLS
    if expected_seconds > _TRIAL_SECONDS or not find_untried(pipeline):
        return
    terminal = console(stderr=True)
    terminal.print("Trying once what this model can do (Ctrl-C skips it) ...", style="dim")
    with suppress(KeyboardInterrupt):
        try_models(pipeline, _TRIAL_SECONDS / _TRIAL_CALLS, wait=0.0)


def read_options(filters: str | None, **options: object) -> dict[str, object]:
    """Turn the options of a command into options of the run.

    :param filters: The filters as JSON. None means no filters.
    :param options: The other options, by their names in :class:`~prefrag.components.state.run_options.RunOptions`. None
        means the default of the pipeline.
    :raises BadInput: If the filters are not a JSON object.
    """
    return {**options, "filters": _read_filters(filters)}


def set_up(
    pipeline: str, collection: str | None, deadline: float | None, web: bool | None, model: str | None = None
) -> None:
    """Apply the options that affect the whole process. Most of them set an environment variable.

    :param pipeline: The name of the pipeline, or the path of its YAML file.
    :param collection: The collection to search. None means the default collection.
    :param deadline: After how many seconds a run is stopped. None means the default.
    :param web: Whether questions may go to the web. None means what is set for the collection.
    :param model: The model to use. None means the model that the user has chosen earlier, if any.
    """
    report_unknown_settings(pipeline)
    if deadline is not None:
        os.environ["PREFRAG_RUN_SECONDS"] = str(deadline)
    set_web(web)
    if collection is not None:
        os.environ["PREFRAG_INDEX"] = collection
    apply_chosen_model(model)


def _name_collections(pipeline: object) -> list[str]:
    """Return the names of the collections that a pipeline searches, without repetitions."""
    from prefrag.components.document_stores.index_name import name_index
    from prefrag.components.document_stores.store_kinds import find_stores

    return distinct(name_index(store) for store in find_stores(pipeline))


def is_extractive(pipeline: Pipeline) -> bool:
    """Check whether this pipeline has no language model, so that its extractive reader answers instead.

    :param pipeline: The pipeline.
    """
    return any(getattr(part, "is_extractive", False) for _, part in pipeline.walk())


def check_result(result: Result, failure: RunFailed | None) -> None:
    """Raise an error if a run did not succeed.

    :param result: The result of the run.
    :param failure: The error of the run. None if it did not break off.
    :raises RunFailed: If the run broke off, or if no source could be searched.
    :raises PrefragError: If the model gave no answer.
    """
    from prefrag.pipelines import refuse_unsearched

    if failure is not None:
        raise failure
    # This raises RunFailed if every search failed.
    refuse_unsearched(result)
    # A result without an answer can be a success: the model may have found that the documents do not state the answer.
    # Such a result has a certainty. It has none only if the model gave no answer at all.
    has_answer = result.get("answered")
    has_certainty = result.get("certainty")
    if not has_answer and not has_certainty:
        raise PrefragError("The model gave no answer. Ask again, or use a larger model.")


async def run(
    pipeline: Pipeline, question: str, options: dict[str, Any], printer: RunPrinter
) -> tuple[Result, RunFailed | None]:
    """Run a pipeline and print each step.

    :param pipeline: The pipeline.
    :param question: The question.
    :param options: The options of the run.
    :param printer: What prints the steps.
    :returns: The result, and the error if the run broke off. In this case the result has what was found until then.
    """
    from prefrag.components.state.state import Event
    from prefrag.pipelines import RunFailed, stream
    from prefrag.pipelines.trace_text import trace_text

    result: Result = {}
    try:
        with printer.console.status("thinking") as status:
            # If PREFRAG_WEB is "ask", the user is asked about each query to the web. The spinner pauses meanwhile.
            ask_before_sending(status)
            async for output in stream(pipeline, question, progress=True, **options):
                if isinstance(output, Event) and output.kind == "progress":
                    status.update(trace_text(output))
                elif isinstance(output, Event):
                    status.update("thinking")
                    printer.print_event(output)
                else:
                    result = output
    except RunFailed as error:
        return error.result, error
    return result, None


def _await_or_exit(started_run: Coroutine[Any, Any, T]) -> T:
    """Wait for a run and return its result. Ctrl-C ends the process at once."""
    import asyncio

    runner = asyncio.Runner()
    try:
        return runner.run(started_run)
    except KeyboardInterrupt:
        console(stderr=True).print("Interrupted.")
        sys.stdout.flush()
        # A normal exit, and closing the runner, would wait for the thread that still runs the model. So the process
        # ends here, without `finally`.
        os._exit(INTERRUPTED)
    finally:
        runner.close()


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause garbage collection while modules are imported and a pipeline is loaded.

    The objects that this makes are nearly all used until the process ends. So a collection would find nothing to
    delete, and collections would take an eighth of the time of `ask`. After the pause, these objects are "frozen":
    later collections pass over them.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def load(name: str) -> Pipeline:
    """Load a pipeline and open its indexes.

    :param name: The name of the pipeline, or the path of its YAML file.
    :raises Missing: If something that the pipeline needs is missing.
    :raises FileNotFoundError: If an index does not exist.
    """
    from prefrag import pipelines
    from prefrag.components.document_stores.store_kinds import find_stores, is_tantivy_store
    from prefrag.pipelines.wiring import find_empty_stores

    pipeline: Pipeline = pipelines.load(name)
    pipeline.warm_up()
    empty = find_empty_stores(pipeline)
    if empty:
        raise Missing(" ".join(empty))

    # If an index is missing, a run does not stop: only the searches in this index fail. But a user at the terminal
    # should see the error, so each index is opened here.
    for store in find_stores(pipeline):
        if is_tantivy_store(store):
            store.count_documents()
        else:
            from prefrag.components.document_stores.elasticsearch.consent import check_index

            check_index(store)
    return pipeline


def _read_filters(text: str | None) -> dict[str, object] | None:
    """Read the filters of ``--filters`` from JSON. None if the option was not given."""
    if text is None:
        return None
    try:
        filters = json.loads(text)
    except ValueError as error:
        raise BadInput(f"--filters is not valid JSON: {error}") from error
    if not isinstance(filters, dict):
        example = '{"field": "meta.year", "operator": ">", "value": 1990}'
        raise BadInput(f"--filters must be a JSON object, such as {example}.")
    return filters


def _choose_demo_question() -> str:
    """Return the question of the demo. Raise BadInput if another collection is chosen."""
    from prefrag.components.document_stores.tantivy.index_location import DEMO_INDEX, chosen_index

    if chosen_index() != DEMO_INDEX:
        raise BadInput('Give a question: prefrag ask "QUESTION". Only --collection demo works without one.')
    return DEMO_QUESTION


def _index_corpus(corpus: Path) -> str:
    """Index a corpus file if it is new or has changed, and return the name of the index."""
    from prefrag.evaluation.corpora import ensure_indexes
    from prefrag.indexing.report import indexing_bar

    terminal = console(stderr=True)
    skipped: list[Skipped] = []
    with indexing_bar(terminal) as on_progress:
        name = ensure_indexes(corpus, split=False, on_progress=on_progress, on_skipped=skipped.append).local
    for skip in skipped:
        terminal.print(f"Skipped {skip}", markup=False, style="yellow")
    return name
