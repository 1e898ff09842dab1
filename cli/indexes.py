"""`prefrag indexes`: list the indexes, and drop one."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from prefrag.cli import web_consent
from prefrag.cli.console import console
from prefrag.cli.documents import Store, StoreOption
from prefrag.components.errors import BadInput


def list_indexes(
    store: StoreOption = Store.tantivy,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the indexes: passages, files, size, when they were written last, and whether questions may go to the web."""
    from dataclasses import asdict

    from rich.filesize import decimal

    from prefrag.components.text.one_line import one_line
    from prefrag.indexing import index_list

    listed = index_list.list_indexes(store.value)
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in listed], ensure_ascii=False, indent=2))
        return
    if not listed:
        typer.echo("There is no index yet. Make one with: prefrag index YOUR_FILES")
        return
    width = max(len(entry.name) for entry in listed)
    for entry in listed:
        if entry.problem is not None:
            console(stderr=True).print(f"{entry.name}: {one_line(entry.problem)}", style="yellow", markup=False)
            continue
        web = {True: "web", False: "no web", None: "web not decided"}[entry.web]
        changed = f"  {entry.changed.replace('T', ' ')[:16]}" if entry.changed else ""
        typer.echo(
            f"{entry.name:<{width}}  {entry.passages:>9,} passages  {entry.files:>7,} files  "
            f"{decimal(entry.bytes):>9}{changed}  {web}"
        )


def drop_index(
    name: Annotated[str, typer.Argument(help="The name of the index.")],
    store: StoreOption = Store.tantivy,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needed where there is no terminal.")] = False,
) -> None:
    """Delete an index with its passages, its vectors and what was uploaded to it; other files that it holds stay."""
    from prefrag.indexing import index_list

    summary = index_list.summarise_index(name, store.value)
    passages = "its passages" if summary.passages is None else f"{summary.passages:,} passages"
    if not yes:
        if not web_consent.is_terminal():
            raise BadInput(f"Dropping the index '{name}' needs --yes where nobody can be asked. Nothing was deleted.")
        if not typer.confirm(f"Delete the index '{name}' with {passages}?", default=False, err=True):
            typer.echo("Nothing was deleted.")
            return
    index_list.drop_index(name, store.value)
    typer.echo(f"The index '{name}' with {passages} is deleted, with what was uploaded to it. Other files stay.")
