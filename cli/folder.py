"""The command `prefrag FOLDER`: index a folder, follow its changes, and answer questions about it on a web page."""

import os
from pathlib import Path
from typing import Annotated

import typer

from prefrag.cli.env_file import load_env_file
from prefrag.cli.kept_model import ModelOption
from prefrag.cli.serve import choose_what_to_serve, run_server
from prefrag.cli.web_consent import ask_web_consent, can_ask_user
from prefrag.errors import BadInput, Missing

# The address on which the server listens. Only this machine can reach it.
_HOST = "127.0.0.1"


def follow_folder(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder; ./NAME if it is named like a command.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 1416,
    web: Annotated[
        bool | None,
        typer.Option("--web/--no-web", help="Whether questions may go to the web when the folder does not suffice."),
    ] = None,
    model: ModelOption = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Ask about a folder: index it, follow its changes, and open a web page. Replace FOLDER by its path."""
    # Heavy modules are imported where they are used, so that --help is instant.
    load_env_file()
    check_folder(folder)
    from prefrag.collections.local_collection import LocalCollection

    collection = LocalCollection.of_folder(folder)
    answer = ask_web_consent(web, collection)
    # Without a terminal nobody was asked. Then store no answer, so that the next start at a terminal asks.
    was_asked = web is not None or can_ask_user()
    if answer is not None and was_asked:
        collection.keep_consent(answer)
    choose_what_to_serve(pipeline=None, pipelines_dir=None, demo=False, collection=collection.name, model=model)
    typer.echo(
        f"The collection is {collection.name}. In another terminal, use prefrag ask --collection {collection.name}. "
        "To stop following the folder, press Ctrl-C here.",
        err=True,
    )
    # Log no requests, because their lines would hide the messages about the files.
    os.environ.setdefault("HAYHOOKS_LOG_LEVEL", "SUCCESS")
    real_folder = Path(os.path.realpath(folder.expanduser()))
    run_server(_HOST, port, folder=real_folder, opens_page=browser)


def check_folder(folder: Path) -> None:
    """Raise an error for a folder that cannot be followed.

    :param folder: The folder.
    :raises Missing: If the folder does not exist or cannot be read.
    :raises BadInput: If it is a file, or if it contains prefrag's own data in a folder that is not hidden.
    """
    from prefrag.components.document_stores.tantivy.index_location import data_directory

    real = Path(os.path.realpath(folder.expanduser()))
    try:
        with os.scandir(real):
            pass
    except FileNotFoundError:
        raise Missing(f"There is no folder {folder}.") from None
    except NotADirectoryError:
        raise BadInput(f"{folder} is a file: give the folder that it is in, or use prefrag index {folder}.") from None
    except OSError as error:
        raise Missing(f"The folder {folder} cannot be read ({error.strerror}).") from error
    data = Path(os.path.realpath(data_directory()))
    if data.is_relative_to(real):
        is_hidden = any(part.startswith(".") for part in data.relative_to(real).parts)
        if not is_hidden:
            raise BadInput(f"{folder} contains prefrag's own data ({data}): choose another folder, or one inside it.")
