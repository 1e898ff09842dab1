"""The `prefrag` command line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import prefrag.evaluation.commands
import prefrag.training.commands

# Everything heavy is imported where it is used, so that help comes at once.
if TYPE_CHECKING:
    from rich.console import Console

    from prefrag.components.state.state import Event
    from prefrag.pipelines import indexing

ANSWERED, FAILED, WRONG_USE, MISSING, SKIPPED, INTERRUPTED = 0, 1, 2, 3, 4, 130
EXIT_CODES = (
    "Exit codes: 0 answered or done, 1 the run failed, 2 wrong use, 3 something needed is missing (a file, an index, "
    "a pipeline, an extra), 4 indexed but some files were skipped, 130 interrupted."
)
DEBUG_VARIABLE = "PREFRAG_DEBUG"
DEMO_QUESTIONS = Path(prefrag.__file__).parent / "demo" / "questions.jsonl"

app = typer.Typer(
    name="prefrag",
    help="Answers multi-hop questions from your own documents first, and from the web when a judge says so.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
documents = typer.Typer(
    help="List and delete what an index holds.", epilog=EXIT_CODES, no_args_is_help=True, pretty_exceptions_enable=False
)
app.add_typer(documents, name="documents")
train = typer.Typer(
    help="Train the small learned parts on questions with their gold passages.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(train, name="train")


class Store(StrEnum):
    """Where passages are kept."""

    tantivy = "tantivy"
    elasticsearch = "elasticsearch"


IndexOption = Annotated[
    str | None, typer.Option("--index", metavar="NAME", help="The index; by default `default`, else the demo's.")
]
StoreOption = Annotated[
    Store, typer.Option("--store", help="The embedded index, or Elasticsearch at PREFRAG_ELASTICSEARCH_URL.")
]


@app.command(epilog=EXIT_CODES)
def ask(
    question: Annotated[
        str | None, typer.Argument(help="The question; by default the first one of the demo, while that is used.")
    ] = None,
    pipeline: Annotated[
        str, typer.Option(metavar="NAME|FILE.yaml", help="A pipeline by its name, or a YAML file.")
    ] = "prefrag",
    corpus: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Ask this corpus in place of an index.")
    ] = None,
    web_corpus: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="A corpus that stands in for the web.")
    ] = None,
    index: IndexOption = None,
    source: Annotated[
        list[str] | None, typer.Option(help="A source that may be searched; repeat it for several. By default all.")
    ] = None,
    prefer: Annotated[str | None, typer.Option(metavar="SOURCE", help="The source that is searched first.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Documents a retrieval.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Steps, at most those of the pipeline.")] = None,
    filters: Annotated[
        str | None, typer.Option(metavar="JSON", help="Haystack metadata filter on the local documents.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print only the result, as JSON; the steps go to stderr.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Add the whole trace.")] = False,
) -> None:
    """Answer a question, showing each step as it happens."""
    with _errors():
        wishes = {
            "sources": source or None,
            "preferred": prefer,
            "top_k": top_k,
            "max_steps": max_steps,
            "filters": _filters(filters),
        }
        if corpus is not None and index is not None:
            raise ValueError("Give --corpus or --index, not both.")
        if index is not None:
            os.environ["PREFRAG_INDEX"] = index
        if corpus is not None:
            os.environ["PREFRAG_INDEX"] = _corpus_index(corpus)
        if web_corpus is not None:
            os.environ["PREFRAG_WEB_INDEX"] = _corpus_index(web_corpus)
        question = question if question is not None else _demo_question()
        loaded = _loaded(pipeline)
        show = _Steps(_console(stderr=as_json))
        show.start(question, _is_embedded(loaded))
        result, failure = _interruptible(_run(loaded, question, wishes, show))
        if as_json:
            shown = result if trace else {key: value for key, value in result.items() if key != "trace"}
            typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        else:
            show.result(result, trace, failure)
        if failure is not None:
            _fail(failure, FAILED)
        from prefrag.pipelines import search_failures

        if failed := search_failures(result):
            reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
            _fail(f"No source could be searched, so the answer rests on no document. {reasons}", FAILED)
        if not result.get("answer"):
            _fail("The model gave no answer. Ask again, or use a larger model.", FAILED)


@app.command("index", epilog=EXIT_CODES)
def index_documents(
    paths: Annotated[
        list[Path], typer.Argument(help="JSONL corpora, text, Markdown, HTML and PDF files, and folders of them.")
    ],
    store: StoreOption = Store.tantivy,
    index: Annotated[
        str | None, typer.Option("--index", metavar="NAME", help="The index, by default `default`; made if missing.")
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="The language of a new index: its stemmer and stop words. English if not given.")
    ] = None,
    split_sources: Annotated[
        bool, typer.Option("--split-sources", help="Lines whose `source` is `web` go to a second index, NAME-web.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Then take out what has lost its file or its line.")] = False,
    dense: Annotated[
        bool, typer.Option("--dense", help="Then embed what is new, for dense and hybrid retrieval (extra `dense`).")
    ] = False,
    model: Annotated[str | None, typer.Option(help="With --dense, the embedding model of the pipeline.")] = None,
) -> None:
    """Bring documents into an index; a second call only does what is new."""
    with _errors():
        from prefrag.pipelines import indexing

        name = _index_name(index)
        with _progress() as on_progress:
            report = indexing.index(
                paths,
                index=name,
                store=store.value,
                language=language,
                split_sources=split_sources,
                prune=prune,
                on_progress=on_progress,
            )
        code = _report(report, name)
        if dense:
            _embed(name, store.value, model)
        raise typer.Exit(code)


@documents.command("list", epilog=EXIT_CODES)
def list_documents(
    index: IndexOption = None,
    store: StoreOption = Store.tantivy,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the files and corpora of an index, with the number of their passages."""
    with _errors():
        from dataclasses import asdict

        from prefrag.pipelines import indexing

        listed = indexing.list_documents(_index_name(index), store.value)
        if as_json:
            typer.echo(json.dumps([asdict(entry) for entry in listed], ensure_ascii=False, indent=2))
            return
        for entry in listed:
            typer.echo(f"{entry.passages:>9,}  {entry.path or 'passages of another origin'}")
        total = sum(entry.passages for entry in listed)
        typer.echo(f"{total:>9,}  passages in {len(listed)} file{'' if len(listed) == 1 else 's'}")


@documents.command("delete", epilog=EXIT_CODES)
def delete_documents(
    targets: Annotated[
        list[str], typer.Argument(help="Ids of passages, files, corpora, or folders and all that is below them.")
    ],
    index: IndexOption = None,
    store: StoreOption = Store.tantivy,
) -> None:
    """Take passages out of an index; the files themselves stay."""
    with _errors():
        from prefrag.pipelines import indexing

        deletion = indexing.delete_documents(targets, index=_index_name(index), store=store.value)
        typer.echo(f"{deletion.passages:,} passages deleted.")
        if deletion.unknown:
            _fail(f"Not in the index: {', '.join(deletion.unknown)}.", MISSING)


@documents.command("prune", epilog=EXIT_CODES)
def prune_documents(index: IndexOption = None, store: StoreOption = Store.tantivy) -> None:
    """Take out the passages of files that are gone and of lines that left their corpus."""
    with _errors():
        from prefrag.pipelines import indexing

        name = _index_name(index)
        raise typer.Exit(_report(indexing.prune(name, store=store.value), name))


@app.command("pipelines", epilog=EXIT_CODES)
def list_pipelines(
    draw: Annotated[
        str | None, typer.Option(help="Draw this pipeline, a name or a YAML file, as a Mermaid flowchart.")
    ] = None,
) -> None:
    """List the names of the pipelines, or draw one."""
    with _errors():
        from prefrag.pipelines.loading import load, names

        if draw is not None:
            from prefrag.pipelines.drawing import mermaid

            typer.echo(mermaid(load(draw)))
            return
        for name in names():
            typer.echo(name)


@app.command(epilog=EXIT_CODES)
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; beyond this machine only with API keys.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535)] = 1416,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 1,
    pipeline: Annotated[
        list[str] | None, typer.Option(help="A pipeline to serve, repeatable, or `all`; by default prefrag.")
    ] = None,
    pipelines_dir: Annotated[
        Path | None, typer.Option(help="The folders with a pipeline_wrapper.py each; by default the shipped ones.")
    ] = None,
) -> None:
    """Serve the pipelines over REST and the OpenAI chat protocol."""
    with _errors():
        import uvicorn
        from dotenv import find_dotenv, load_dotenv

        from prefrag.service.server.folders import FOLDERS_VARIABLE, SERVE_VARIABLE, served
        from prefrag.service.server.security import KEYS_VARIABLE, api_keys, is_loopback

        # The application reads the same file; the decision below must not differ from its own.
        load_dotenv(find_dotenv(usecwd=True))
        keys = api_keys()
        if not keys and not is_loopback(host):
            raise ValueError(
                f"{host} can be reached from other machines: set {KEYS_VARIABLE} to one or more keys, "
                "separated by commas, or serve on 127.0.0.1."
            )
        if pipelines_dir is not None:
            os.environ[FOLDERS_VARIABLE] = str(pipelines_dir.resolve())
        if pipeline:
            os.environ[SERVE_VARIABLE] = ",".join(pipeline)
        served()
        try:
            uvicorn.run(
                "prefrag.service.server.app:create_app",
                factory=True,
                host=host,
                port=port,
                workers=workers,
                # Hayhooks sends uvicorn's messages through its own log.
                log_config=None,
                timeout_graceful_shutdown=10,
            )
        except SystemExit as error:
            # The port is taken, for example; uvicorn has said why, with an exit code of its own.
            raise typer.Exit(FAILED if error.code else ANSWERED) from error


# Asking


async def _run(pipeline: Any, question: str, wishes: dict[str, Any], show: _Steps) -> tuple[dict[str, Any], str | None]:
    """:returns: The result, as far as the run came, and why it broke off if it did."""
    from prefrag.components.state.state import Event
    from prefrag.pipelines import RunFailed, stream

    try:
        # The spinner turns only on a terminal.
        with show.console.status("thinking"):
            async for output in stream(pipeline, question, **wishes):
                if isinstance(output, Event):
                    show.event(output)
                else:
                    return output, None
    except RunFailed as error:
        return error.result, str(error)
    return {}, "The run ended without a result."


def _interruptible(run: Any) -> Any:
    runner = asyncio.Runner()
    try:
        result = runner.run(run)
    except KeyboardInterrupt:
        _console(stderr=True).print("Interrupted.")
        sys.stdout.flush()
        # The interpreter would wait for the thread in which the model still thinks.
        os._exit(INTERRUPTED)
    except BaseException:
        runner.close()
        raise
    runner.close()
    return result


def _loaded(name: str) -> Any:
    from prefrag.pipelines import load

    try:
        pipeline = load(name)
    except ValueError as error:
        raise FileNotFoundError(str(error)) from error
    pipeline.warm_up()
    for _, part in pipeline.walk():
        store: Any = getattr(getattr(part, "retriever", None), "document_store", None)
        if type(store).__name__ == "TantivyDocumentStore":
            # A source survives a missing index; whoever asks from a terminal wants to know it at once.
            store.count_documents()
    return pipeline


def _is_embedded(pipeline: Any) -> bool:
    return any(getattr(getattr(part, "chat_generator", None), "is_embedded", False) for _, part in pipeline.walk())


def _filters(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        filters = json.loads(text)
    except ValueError as error:
        raise ValueError(f"--filters is no JSON: {error}") from error
    if not isinstance(filters, dict):
        example = '{"field": "meta.year", "operator": ">", "value": 1990}'
        raise ValueError(f"--filters must be a JSON object, such as {example}.")
    return filters


def _demo_question() -> str:
    from prefrag.components.document_stores.tantivy.index import index_exists
    from prefrag.components.document_stores.tantivy.index_location import DEFAULT_INDEX, INDEX_VARIABLE, index_path

    chosen = os.environ.get(INDEX_VARIABLE) or None
    if chosen not in (None, "demo") or (chosen is None and index_exists(index_path(DEFAULT_INDEX))):
        raise ValueError(
            'Give a question: prefrag ask "QUESTION". The default one is for the demo, which --index demo still asks.'
        )
    with DEMO_QUESTIONS.open(encoding="utf-8") as lines:
        return str(json.loads(next(lines))["question"])


def _corpus_index(corpus: Path) -> str:
    """:returns: The name of the index of a corpus file, made when the file is new or has changed."""
    from prefrag.evaluation.corpora import evaluation_indexes

    skipped: list[indexing.Skipped] = []
    with _progress() as on_progress:
        name = evaluation_indexes(corpus, split=False, on_progress=on_progress, on_skipped=skipped.append).local
    for each in skipped:
        _console(stderr=True).print(f"Skipped {each}", markup=False, style="yellow")
    return name


# Printing


def _console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=not (sys.stderr if stderr else sys.stdout).isatty())


class _Steps:
    """Prints a run.

    :param console: Where to.
    """

    STYLES = {
        "thought": "italic",
        "search": "cyan",
        "found": "dim",
        "observation": "dim",
        "answer": "bold",
        "unreadable": "yellow",
        "unknown_action": "yellow",
        "exhausted": "yellow",
        "cut": "yellow",
        "error": "red",
    }

    def __init__(self, console: Console):
        self.console = console
        self._step = 0

    def start(self, question: str, embedded: bool) -> None:
        from prefrag.pipelines.trace_text import one_line

        self._print(f"Question: {one_line(question)}", "bold")
        if embedded:
            self._print(
                "The small embedded model answers: it proves the wiring, not the quality. "
                "Set PREFRAG_LLM_BASE_URL, PREFRAG_LLM_MODEL and PREFRAG_LLM_API_KEY to use a model server.",
                "dim",
            )

    def event(self, event: Event) -> None:
        from prefrag.pipelines.trace_text import trace_text

        if event.step > self._step:
            self._step = event.step
            self.console.print()
            self._print(f"Step {event.step}", "bold blue")
        self._print(trace_text(event), self._style(event), indent=2)

    def result(self, result: dict[str, Any], trace: bool, failure: str | None) -> None:
        from prefrag.pipelines.references import reference_text, references
        from prefrag.pipelines.trace_text import one_line

        self.console.print()
        if answer := result.get("answer_with_citations") or result.get("answer"):
            self._print(f"Answer: {one_line(answer)}", "bold green")
            if guess := result.get("guess"):
                self._print(f"The model's guess: {one_line(guess)}", "dim")
            label = result.get("label") or "no label"
            self._print(f"Label: {label}{' (forced: the steps were used up)' if result.get('forced') else ''}")
        numbered = references(result)
        if result.get("answer") and not numbered:
            self._print("No passage was found: the answer is the model's own.", "yellow")
        if numbered:
            self.console.print()
            self._print("Documents", "bold blue")
            for mark, document in numbered:
                self._print(reference_text(mark, document), "magenta" if mark.startswith("W") else "", indent=2)
            if result.get("uncited"):
                self._print("The answer cites no passage.", "dim", indent=2)
        # Why the run broke off is said at the very end.
        for error in [error for error in result.get("errors") or () if error != failure]:
            self._print(f"Problem: {one_line(error)}", "yellow")
        self.console.print()
        if "counts" in result:
            self._print(_counts(result), "dim")
            self._print(_left_house(result), "dim")
        if trace:
            self.console.print()
            self._print("Trace", "bold blue")
            for event in result.get("trace") or ():
                self._print(json.dumps(event, ensure_ascii=False))

    def _style(self, event: Event) -> str:
        if event.kind == "verdict":
            return "green" if event.data.get("status") else "yellow"
        if event.kind == "reflection":
            return "yellow" if event.data.get("supplement") else "green"
        if event.kind == "found" and event.data.get("error"):
            return "red"
        return self.STYLES.get(event.kind, "")

    def _print(self, text: str, style: str = "", indent: int = 0) -> None:
        from rich.padding import Padding
        from rich.text import Text

        line = Text(text, style)
        if self.console.soft_wrap:
            self.console.print(Text(" " * indent) + line)
        else:
            # A second line is indented a little more, so that the beginnings stand out.
            self.console.print(Padding(line, (0, 0, 0, indent), expand=False))


def _counts(result: dict[str, Any]) -> str:
    counts, usage = result["counts"], result["usage"]
    searches = ", ".join(f"{number['total']} {source}" for source, number in counts["sources"].items())
    return (
        f"{counts['total']} retrievals ({searches}), {usage['llm_calls']} model calls, "
        f"{usage['prompt_tokens']:,} tokens read and {usage['completion_tokens']:,} written, {usage['seconds']:.1f} s."
    )


def _left_house(result: dict[str, Any]) -> str:
    from prefrag.pipelines.trace_text import one_line

    sent = [f"{query['source']}: {one_line(query['query'])}" for query in result.get("queries_sent_out") or ()]
    return f"Queries that left the house: {'; '.join(sent)}" if sent else "No query left the house."


# Indexing


def _progress() -> Any:
    """:returns: See :func:`prefrag.pipelines.indexing.progress_bar.indexing_bar`, on stderr."""
    from prefrag.pipelines.indexing.progress_bar import indexing_bar

    return indexing_bar(_console(stderr=True))


def _report(report: indexing.IndexReport, index: str) -> int:
    """Say what an indexing did. :returns: The exit code."""
    console = _console(stderr=True)
    for skipped in report.skipped:
        console.print(f"Skipped {skipped}", style="yellow", markup=False)
    if hidden := report.skipped_lines - sum(skipped.line is not None for skipped in report.skipped):
        console.print(f"Skipped {hidden:,} more lines", style="yellow")
    typer.echo(
        f"Index {index}: {report.written:,} passages written ({report.replaced:,} in place of earlier ones), "
        f"{report.unchanged:,} unchanged, {report.deleted:,} deleted; {report.files:,} files read, "
        f"{len(report.skipped):,} skipped, {report.seconds:.1f} s."
    )
    for path in report.pruned:
        typer.echo(f"Gone: {path}")
    return SKIPPED if report.skipped else ANSWERED


def _embed(index: str, store: str, model: str | None) -> None:
    from rich.progress import Progress

    from prefrag.pipelines.indexing import embedding as dense_indexing

    with Progress(console=_console(stderr=True), transient=True) as bar:
        task = bar.add_task("embedding", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        report = dense_indexing.embed_index(
            index, store=store, model=model or dense_indexing.DEFAULT_MODEL, on_progress=show
        )
    typer.echo(
        f"Index {index}: {report.embedded:,} passages embedded, {report.unchanged:,} unchanged, "
        f"{report.deleted:,} vectors deleted, {report.seconds:.1f} s."
    )


def _index_name(index: str | None) -> str:
    return index or os.environ.get("PREFRAG_INDEX") or "default"


# Failing


@contextmanager
def _errors() -> Iterator[None]:
    """Turn what goes wrong into one line and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        _fail("Interrupted.", INTERRUPTED)
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE) == "1":
            raise
        if isinstance(error, (FileNotFoundError, ImportError)):
            _fail(error, MISSING)
        if isinstance(error, ValueError):
            _fail(error, WRONG_USE)
        _fail(error if str(error) else type(error).__name__, FAILED)


def _fail(message: object, code: int) -> NoReturn:
    from rich.text import Text

    from prefrag.pipelines.trace_text import one_line

    _console(stderr=True).print(Text("Error: ", "bold red") + Text(one_line(str(message)), "red"))
    raise typer.Exit(code)


_COMMANDS: dict[typer.Typer, list[Callable[..., None]]] = {
    app: [prefrag.evaluation.commands.evaluate, prefrag.evaluation.commands.report],
    train: [prefrag.training.commands.pairs, prefrag.training.commands.judge],
}
for _group, _commands in _COMMANDS.items():
    for _command in _commands:
        _group.command(epilog=EXIT_CODES)(_errors()(_command))


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
