"""The command `prefrag keys`. It makes, lists and revokes the API keys of `prefrag serve`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from prefrag.cli.console import console, print_json
from prefrag.cli.env_file import load_env_file
from prefrag.components.text.counted import counted
from prefrag.errors import BadInput


def add(
    name: Annotated[str, typer.Argument(help="The name of the key. It is not secret: the audit log shows it.")],
    collection: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A collection that the key may search (repeatable); by default all."),
    ] = None,
    web: Annotated[bool, typer.Option("--web/--no-web", help="Whether questions may go to the web.")] = True,
    write: Annotated[bool, typer.Option("--write", help="Let the key add and delete documents.")] = False,
    expires: Annotated[
        datetime | None,
        typer.Option(metavar="DATE", formats=["%Y-%m-%d"], help="The last day on which the key works (UTC)."),
    ] = None,
) -> None:
    """Make a key and print it. The key is shown only once."""
    from prefrag.server.access.keys import add_key, place_of_keys

    load_env_file()
    collections = collection or ()
    _check_collections(collections, write)
    last_day = None if expires is None else expires.date()
    secret = add_key(name, collections, web=web, writes=write, expires=last_day)
    typer.echo(secret)
    note = f"Copy the key now, because only its hash is stored ({place_of_keys()}). It works at once."
    console(stderr=True).print(note, markup=False, soft_wrap=True)


def _check_collections(names: Sequence[str], write: bool) -> None:
    """Raise BadInput for a key whose collection does not exist. A key that may write can make it by an upload."""
    from prefrag.collections.local_collection import LocalCollection
    from prefrag.components.document_stores.tantivy.index_location import DEMO_CORPORA, suggest_indexes
    from prefrag.settings import settings

    for name in names:
        # A collection that the settings name may be in Elasticsearch.
        is_in_settings = name in (*settings.collections, settings.index)
        if is_in_settings or name in DEMO_CORPORA or LocalCollection(name).exists:
            continue
        if not write:
            raise BadInput(
                f"There is no collection '{name}'.{suggest_indexes(name)} A key for a collection that an upload is to "
                "make needs --write; one in Elasticsearch has to be named in PREFRAG_COLLECTIONS."
            )
        note = f"The collection '{name}' does not exist yet: the first upload makes it."
        console(stderr=True).print(note, markup=False, soft_wrap=True)


def list_keys(as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the keys: what each key allows, and its last four characters."""
    from prefrag.server.access.keys import read_keys

    load_env_file()
    keys = read_keys()
    if as_json:
        print_json([key.model_dump(mode="json", exclude={"hash"}) for key in keys])
        return
    for key in keys:
        collections = "all collections" if key.collections is None else ", ".join(key.collections)
        web = "web open" if key.web else "web closed"
        work = "writes" if key.writes else "reads"
        allows = [collections, web, work, f"made {key.made.date()} UTC"]
        if key.expires is not None:
            verb = "expired" if key.has_expired else "expires"
            allows.append(f"{verb} {key.expires} UTC")
        typer.echo(f"{key.name}  ...{key.ending}  {'; '.join(allows)}")
    typer.echo(counted(len(keys), "key"))


def revoke(name: Annotated[str, typer.Argument(help="The name of the key.")]) -> None:
    """Revoke a key. A running server refuses it from the next request on."""
    from prefrag.server.access.keys import place_of_keys, revoke_key

    load_env_file()
    left = revoke_key(name)
    typer.echo(f"The key {name} is revoked; {left} left.")
    if not left:
        place = place_of_keys()
        note = f"Keys are still required: make a new key, or delete {place} to serve without keys."
        console(stderr=True).print(note, markup=False, soft_wrap=True)
