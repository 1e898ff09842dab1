"""The commands `prefrag index`, `prefrag documents` and `prefrag collections`.

They index files, and they list and delete documents and collections. A collection is an index with its documents.
"""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from prefrag.cli.console import console, print_json
from prefrag.cli.env_file import report_unknown_settings
from prefrag.cli.errors import ANSWERED, SKIPPED
from prefrag.cli.web_consent import ask_web_consent, can_ask_user
from prefrag.components.text.counted import counted
from prefrag.components.text.one_line import one_line
from prefrag.errors import BadInput, Missing, PrefragError
from prefrag.worker_options import RayCluster

# Heavy modules are imported where they are used, so that --help is instant.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prefrag.collections.collection import Collection
    from prefrag.indexing.report import IndexReport, PrunePlan
    from prefrag.pipelines.runners.runner import Runner

# A message names at most this many missing files.
_MOST_NAMED = 5

# Options that several commands share.
CollectionOption = Annotated[
    str | None,
    typer.Option(
        "--collection",
        "--index",
        metavar="NAME",
        help="The collection: `default` if it exists, else a followed folder's or the demo.",
    ),
]
StoreOption = Annotated[
    Literal["tantivy", "elasticsearch"],
    typer.Option("--store", help="Local files (tantivy), or Elasticsearch at PREFRAG_ELASTICSEARCH_URL."),
]


def index_documents(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="JSONL corpora, files (text, Markdown, HTML, PDF, EPUB, Office, CSV, JSON, mail, code), or folders."
        ),
    ] = None,
    store: StoreOption = "tantivy",
    name: Annotated[
        str | None,
        typer.Option(
            "--collection", "--index", metavar="NAME", help="The collection, by default `default`; made if missing."
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(help="The language of a new collection: its stemmer and stop words. Else English."),
    ] = None,
    split_sources: Annotated[
        bool, typer.Option("--split-sources", help="Lines whose `source` is `web` go to a second collection, NAME-web.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Also delete passages from these paths if their file or line is gone.")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Fill a new index beside the old one and swap them (--store elasticsearch)."),
    ] = False,
    dense: Annotated[
        bool, typer.Option("--dense", help="Also embed what is new, for dense and hybrid retrieval (extra `dense`).")
    ] = False,
    model: Annotated[str | None, typer.Option(help="For --dense: the name of the pipeline's embedding model.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many processes convert and embed; by default only this one.")
    ] = None,
    ray: RayCluster = None,
    web: Annotated[
        bool | None,
        typer.Option("--web/--no-web", help="Whether questions may go to the web when the documents do not suffice."),
    ] = None,
) -> None:
    """Index documents. If run again, add only what is new or has changed, and list the files that are gone."""
    from prefrag.collections import indexing
    from prefrag.collections.opening import open_collection
    from prefrag.indexing.report import indexing_bar
    from prefrag.pipelines.runners import make_runner
    from prefrag.settings import settings

    report_unknown_settings()
    if not paths:
        # Without paths, the collection must exist.
        _store_web_choice(_find(name, store), web)
        return

    collection = open_collection(_choose_name(name), store)
    answer = ask_web_consent(web, collection)
    can_rebuild = store == "elasticsearch" and not split_sources
    if rebuild and not can_rebuild:
        raise BadInput(
            "--rebuild needs --store elasticsearch and no --split-sources. To rebuild a tantivy index, make it under "
            "another name and set PREFRAG_INDEX to that name."
        )

    runner = make_runner(workers=workers, ray=ray)

    def fill(target: Collection) -> IndexReport:
        """Index the files in a collection, store the choice about the web, and print what was done."""
        with indexing_bar(console(stderr=True)) as on_progress:
            report = indexing.index(
                paths,
                target,
                language=language,
                split_sources=split_sources,
                prune=prune,
                on_progress=on_progress,
                on_plan=_print_plan,
                runner=runner,
                links=settings.follow_links,
            )
        if answer is not None:
            # If every file was skipped, there is no collection. Then the choice about the web cannot be stored.
            with suppress(FileNotFoundError):
                target.keep_consent(answer)
        # A new index that replaces the old one has a name of its own, which the user does not see.
        _print_report(report, collection.name)
        if dense:
            _embed(target, model, runner)
        return report

    report = _rebuild(collection, fill, store, language, dense) if rebuild else fill(collection)
    raise typer.Exit(_exit_code(report))


def _store_web_choice(collection: Collection, web: bool | None) -> None:
    """Store whether questions about a collection may go to the web, for a command that names no files."""
    if web is None:
        raise BadInput("Give the files or folders to index.")
    collection.keep_consent(web)
    permission = "may" if web else "may not"
    typer.echo(f"Collection {collection.name}: questions about it {permission} go to the web.")


def _rebuild(
    collection: Collection,
    fill: Callable[[Collection], IndexReport],
    store: Literal["tantivy", "elasticsearch"],
    language: str | None,
    dense: bool,
) -> IndexReport:
    """Fill a new index and put it in the place of the old one."""
    from prefrag.collections.changes.rebuilding import rebuild_index
    from prefrag.collections.opening import open_collection

    reports: list[IndexReport] = []

    def fill_new(replacement: str) -> int:
        """Fill the new index. Return how many passages it has."""
        report = fill(open_collection(replacement, store))
        reports.append(report)
        return report.written - report.replaced

    rebuild_index(collection.name, fill_new, language=language, dense=dense)
    typer.echo(f"Collection {collection.name}: the new one has replaced the old one.")
    return reports[0]


def list_documents(
    name: CollectionOption = None,
    store: StoreOption = "tantivy",
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Print at most so many files; by default all.")] = None,
    offset: Annotated[int, typer.Option(min=0, help="Leave out so many files before them.")] = 0,
) -> None:
    """List the files and corpora of a collection, with the number of their passages."""
    from dataclasses import asdict

    from prefrag.indexing.report import Skipped, group_by_reason

    collection = _find(name, store)
    listed = collection.entries()
    end = None if limit is None else offset + limit
    shown = listed[offset:end]
    if as_json:
        # The titles are in the metadata. Without a limit, that of all files is read at once.
        shown_paths = [entry.path for entry in shown if entry.path]
        metadata = collection.metadata(None if limit is None else shown_paths)
        titles = {path: fields["title"] for path, fields in metadata.items() if "title" in fields}
        print_json([asdict(entry) | {"title": titles.get(entry.path or "", entry.title)} for entry in shown])
        return

    for entry in shown:
        place = one_line(entry.path) if entry.path else "not from a file"
        typer.echo(f"{entry.passages:>9,}  {place}")
    passages = counted(sum(entry.passages for entry in listed), "passage")
    files = counted(len(listed), "file")
    typer.echo(f"{passages} in {files}")

    reasons = collection.skipped() or {}
    lines = group_by_reason([Skipped(path, reason) for path, reason in sorted(reasons.items())])
    if lines:
        heading = f"{counted(len(reasons), 'file')} could not be read, or only in part:"
        text = "\n  ".join([heading, *lines])
        console(stderr=True).print(text, style="yellow", markup=False)


def delete_documents(
    targets: Annotated[
        list[str], typer.Argument(help="Ids of passages, or files, corpora or folders with everything below them.")
    ],
    name: CollectionOption = None,
    store: StoreOption = "tantivy",
) -> None:
    """Delete passages from a collection; the files themselves stay."""
    from prefrag.collections import indexing

    collection = _find(name, store)
    deletion = indexing.delete_documents(targets, collection)
    typer.echo(f"{counted(deletion.passages, 'passage')} deleted.")
    folder = collection.follows if deletion.passages else None
    if folder:
        typer.echo(
            f"Files that are still in {one_line(folder)} are indexed again when they change, or when `prefrag FOLDER` "
            "is started again: delete or move the files themselves to keep them out."
        )

    if deletion.unknown:
        # The user may have misspelt the name of a file. Look for a similar name.
        paths_by_name = {Path(entry.path).name: entry.path for entry in collection.entries() if entry.path}
        typed_name = Path(deletion.unknown[0]).name
        similar_names = get_close_matches(typed_name, paths_by_name, n=1)
        if similar_names:
            advice = f"Did you mean '{paths_by_name[similar_names[0]]}'?"
        else:
            advice = f"See what the collection contains: prefrag documents list{collection.options}"
        raise Missing(f"Not in the collection: {', '.join(deletion.unknown)}. {advice}")


def prune_documents(
    name: CollectionOption = None,
    store: StoreOption = "tantivy",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be deleted.")] = False,
) -> None:
    """Delete the passages of files that are gone and of lines that are no longer in their corpus."""
    from prefrag.collections import indexing

    collection = _find(name, store)
    report = indexing.prune(collection, on_plan=_print_plan, dry_run=dry_run)
    _print_report(report, collection.name)
    raise typer.Exit(_exit_code(report))


def list_collections(
    store: StoreOption = "tantivy",
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the collections: passages, files, size, time of the last change, and whether questions may go to the web."""
    from dataclasses import asdict

    from rich.filesize import decimal

    from prefrag.collections.opening import KINDS
    from prefrag.components.document_stores.tantivy.index_location import CORPUS_PREFIX

    listed = [collection.summary() for collection in KINDS[store].all()]
    if as_json:
        print_json([asdict(entry) for entry in listed])
        return
    if not listed:
        typer.echo("There is no collection yet. Make one with: prefrag index YOUR_FILES")
        return
    width = max(len(entry.name) for entry in listed)
    for entry in listed:
        if entry.problem is not None:
            console(stderr=True).print(f"{entry.name}: {one_line(entry.problem)}", style="yellow", markup=False)
            continue
        passages = counted(entry.passages or 0, "passage")
        files = counted(entry.files or 0, "file")
        size = decimal(entry.bytes)
        # The time up to the minute, such as "2026-05-04 12:30".
        changed = f"  {entry.changed.replace('T', ' ')[:16]} UTC" if entry.changed else ""
        web = {True: "web open", False: "web closed", None: "web closed until you open it"}[entry.web]
        made_for = "  made for --corpus" if entry.name.startswith(CORPUS_PREFIX) else ""
        typer.echo(f"{entry.name:<{width}}  {passages:>18}  {files:>13}  {size:>9}{changed}  {web}{made_for}")


def drop_collection(
    name: Annotated[str, typer.Argument(help="The name of the collection.")],
    store: StoreOption = "tantivy",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation; needed without a terminal.")] = False,
) -> None:
    """Delete a collection with its passages, its vectors and what was uploaded to it; your own files stay."""
    from prefrag.collections.opening import open_collection

    collection = open_collection(name, store)
    summary = collection.summary()
    passages = "its passages" if summary.passages is None else counted(summary.passages, "passage")
    for line in _what_points_to(collection):
        typer.echo(line, err=True)
    if not yes:
        if not can_ask_user():
            raise BadInput(
                f"Dropping the collection '{name}' needs --yes where there is no terminal. Nothing was deleted."
            )
        if not typer.confirm(f"Delete the collection '{name}' with {passages}?", default=False, err=True):
            typer.echo("Nothing was deleted.")
            return
    collection.drop()
    typer.echo(
        f"The collection '{name}' with {passages} is deleted, with what was uploaded to it. Your own files stay."
    )


def _what_points_to(collection: Collection) -> Iterator[str]:
    """Yield sentences about the keys and the folder that refer to a collection which is about to be deleted."""
    from haystack.document_stores.errors import DocumentStoreError

    from prefrag.server.access.keys import read_keys

    keys: list[str] = []
    try:
        keys = [key.name for key in read_keys() if collection.name in (key.collections or ())]
    except (PrefragError, OSError, DocumentStoreError) as error:
        yield f"The keys cannot be read, so those that name this collection are not listed. {one_line(str(error))}"
    if keys:
        yield (
            f"Keys name this collection: {', '.join(keys)}. They would open a new collection of the same name; revoke "
            "them with: prefrag keys revoke NAME"
        )
    if collection.follows:
        yield (
            f"It is kept up to date with {one_line(collection.follows)}: `prefrag {one_line(collection.follows)}` "
            "makes it again."
        )


def _print_plan(plan: PrunePlan) -> None:
    """Print how many passages will be deleted, and for which files."""
    typer.echo(f"To be deleted: {counted(plan.passages, 'passage')}.")
    for path, passages in plan.gone.items():
        typer.echo(f"{passages:>9,}  {one_line(path)}, which is gone")
    for path, passages in plan.shortened.items():
        typer.echo(f"{passages:>9,}  no longer in {one_line(path)}")


def _print_report(report: IndexReport, collection: str) -> None:
    """Print what an indexing has done. Skipped files go to stderr, everything else to stdout."""
    from prefrag.indexing.report import group_by_reason

    terminal = console(stderr=True)
    for line in group_by_reason(report.skipped):
        terminal.print(f"Skipped {line}", style="yellow", markup=False)
    for line in group_by_reason(report.read_in_part):
        terminal.print(f"Read in part {line}", style="yellow", markup=False)
    # `report.skipped` has files and some of the skipped lines of corpora.
    printed_lines = sum(skipped.line is not None for skipped in report.skipped)
    more_lines = report.skipped_lines - printed_lines
    if more_lines:
        terminal.print(f"Skipped {counted(more_lines, 'more line')}", style="yellow")
    skipped_files = len(report.skipped) - printed_lines

    passages = (
        f"{counted(report.written, 'passage')} written ({report.replaced:,} in place of earlier ones), "
        f"{report.unchanged:,} unchanged, {report.deleted:,} deleted"
    )
    files = f"{counted(report.files, 'file')} read, {skipped_files:,} skipped"
    typer.echo(f"Collection {collection}: {passages}; {files}, {report.seconds:.1f} s.")

    if report.other_kinds:
        from prefrag.indexing.discovery import describe_kinds

        heading, *kinds = describe_kinds(report.other_kinds)
        typer.echo("\n  ".join([f"{heading}:", *kinds]))
    sentence = report.describe_links()
    if sentence:
        typer.echo(sentence)

    gone = report.vanished
    if gone:
        names = ", ".join(one_line(path) for path in gone[:_MOST_NAMED])
        if len(gone) > _MOST_NAMED:
            names += ", ..."
        files_gone = counted(len(gone), "file")
        verb = "is" if len(gone) == 1 else "are"
        typer.echo(
            f"{files_gone} of these folders {verb} gone: {names}. Their passages stay; delete them with the same "
            "command and --prune."
        )


def _exit_code(report: IndexReport) -> int:
    """Return the exit code of an indexing: another one if files were skipped."""
    return SKIPPED if report.skipped else ANSWERED


def _embed(collection: Collection, model: str | None, runner: Runner) -> None:
    """Embed the new passages of a collection for dense retrieval. Show the progress and print what was done."""
    from rich.progress import Progress

    from prefrag.collections import embedding

    with Progress(console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("embedding", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        model = model or embedding.DEFAULT_MODEL
        report = embedding.embed_index(collection, model=model, on_progress=show, runner=runner)
    typer.echo(
        f"Collection {collection.name}: {counted(report.embedded, 'passage')} embedded, "
        f"{report.unchanged:,} unchanged, {report.deleted:,} vectors deleted, {report.seconds:.1f} s."
    )


def _find(name: str | None, store: str) -> Collection:
    """Return the collection for a command that reads or changes an existing collection."""
    from prefrag.collections.opening import open_collection

    return open_collection(_choose_name(name, store), store)


def _choose_name(name: str | None, existing_in: str = "") -> str:
    """Return the name of the collection for a command.

    Without a name in the command or the settings, it is ``"default"``. A command that needs an existing collection on
    this machine may get that of a followed folder or the demo instead.

    :param name: The name in the command. None if there is none.
    :param existing_in: The store in which the collection must exist. Empty if the command may make a new collection.
    """
    from prefrag.components.document_stores.tantivy.index_location import own_index
    from prefrag.settings import settings

    chosen_name = name or settings.index
    if chosen_name:
        return chosen_name
    return own_index() if existing_in == "tantivy" else "default"
