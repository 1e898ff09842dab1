"""The command `prefrag serve`, and what it shares with `prefrag FOLDER` and `prefrag mcp`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from prefrag.cli.env_file import find_unknown_settings, load_env_file
from prefrag.cli.errors import ANSWERED
from prefrag.cli.kept_model import ModelOption, apply_chosen_model
from prefrag.errors import BadInput, PrefragError

# Options that `prefrag serve` and `prefrag mcp` share.
PipelineOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME|FILE.yaml", help="A pipeline to serve (repeatable), or `all`; by default prefrag."),
]
PipelinesDirOption = Annotated[
    Path | None, typer.Option(help="A folder of your own YAML pipelines (PREFRAG_PIPELINES_DIR).")
]
DemoOption = Annotated[bool, typer.Option("--demo", help="Serve the invented documents of the demo.")]


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on. Serving other machines needs API keys.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 1416,
    workers: Annotated[int, typer.Option(min=1, help="The number of worker processes.")] = 1,
    pipeline: PipelineOption = None,
    pipelines_dir: PipelinesDirOption = None,
    demo: DemoOption = False,
    model: ModelOption = None,
    collections: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...", help="Further collections that a request may name, or `all` (PREFRAG_COLLECTIONS)."
        ),
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(min=1, help="Seconds that a run may take (PREFRAG_RUN_SECONDS).")
    ] = None,
) -> None:
    """Serve the pipelines over REST and the OpenAI chat protocol."""
    # Heavy modules are imported where they are used, so that --help is instant.
    from prefrag.server.access.keys import Keyring
    from prefrag.server.http.security import is_loopback

    # Read the .env file now, because the check below depends on its settings. The server reads the file too.
    load_env_file()
    keyring = Keyring()
    if not keyring.has_keys and not keyring.is_unreadable and not is_loopback(host):
        raise BadInput(
            f"{host} can be reached from other machines: make a key with `prefrag keys add NAME`, or set "
            f"PREFRAG_API_KEYS to one or more keys, separated by commas, or serve on 127.0.0.1."
        )
    if deadline is not None:
        os.environ["PREFRAG_RUN_SECONDS"] = str(deadline)
    if collections is not None:
        os.environ["PREFRAG_COLLECTIONS"] = collections
    choose_what_to_serve(pipeline, pipelines_dir, demo, model=model)
    run_server(host, port, workers)


def run_server(host: str, port: int, workers: int = 1, folder: Path | None = None, opens_page: bool = False) -> None:
    """Run the server until it is told to stop.

    :param host: The address to listen on.
    :param port: The port to listen on.
    :param workers: The number of worker processes.
    :param folder: The folder to follow, for `prefrag FOLDER`. None for `prefrag serve`.
    :param opens_page: Whether to open the page in the browser.
    :raises typer.Exit: With an exit code, if the server could not start or has failed.
    """
    from prefrag.audit_log import check_audit_log
    from prefrag.server.access.keys import Keyring
    from prefrag.server.access.page_token import offer_tokens, page_address
    from prefrag.server.http import supervisor
    from prefrag.server.http.head_limit import HeadLimit
    from prefrag.server.library.collections import listed_collections
    from prefrag.server.library.followed_folder import FOLDER_VARIABLE
    from prefrag.settings import settings

    keyring = Keyring()
    if keyring.is_required and not keyring.is_unreadable:
        # A worker that starts later must require a key even if the key store is gone by then.
        os.environ["PREFRAG_REQUIRE_KEY"] = "on"

    # Both raise an error if the settings are wrong.
    check_audit_log()
    listed_collections()
    os.environ.pop(FOLDER_VARIABLE, None)
    if folder is not None:
        os.environ[FOLDER_VARIABLE] = str(folder)

    if not keyring.is_required:
        typer.echo(
            "Without keys, any program on this machine may ask questions. Before you put a proxy or tunnel in front of "
            "this service, make a key (prefrag keys add NAME).",
            err=True,
        )
    if not (opens_page or sys.stdout.isatty()):
        # Without a terminal no token is printed, because the output may go to a file, which would store the token.
        typer.echo(f"The page is at {page_address(host, port)}", err=True)

    try:
        with offer_tokens(host, port, opens_page):
            supervisor.run(
                "prefrag.server.app:create_app",
                factory=True,
                host=host,
                port=port,
                workers=workers,
                http=HeadLimit,
                # Hayhooks passes uvicorn's messages to its own log.
                log_config=None,
                timeout_graceful_shutdown=settings.drain_seconds,
            )
    except SystemExit as error:
        # uvicorn has printed the reason, such as a port that is taken. So only replace the exit code.
        exit_code = PrefragError.exit_code if error.code else ANSWERED
        raise typer.Exit(exit_code) from error


def choose_what_to_serve(
    pipeline: list[str] | None,
    pipelines_dir: Path | None,
    demo: bool,
    collection: str | None = None,
    model: str | None = None,
) -> dict[str, Path]:
    """Choose the pipelines and the collection to serve. The options of a command override the environment.

    :param pipeline: Names of pipelines or paths of YAML files, or ``all``. None means what the environment says.
    :param pipelines_dir: A folder of the user's own YAML pipelines. None means what the environment says.
    :param demo: Whether to serve the invented documents of the demo.
    :param collection: The default collection. None means what the environment says.
    :param model: The model to use. None means the model that the user has chosen earlier, if any.
    :returns: The file or folder of each pipeline, by the name under which it is served.
    :raises BadInput: If a variable looks like a setting but is not.
    :raises FileNotFoundError: If an index is missing.
    """
    from prefrag.components.document_stores.tantivy.index_location import DEMO_INDEX, INDEX_VARIABLE
    from prefrag.server.chat.served_pipelines import check_index, choose_pipelines, skips_broken

    load_env_file()
    apply_chosen_model(model)
    if pipelines_dir is not None:
        os.environ["PREFRAG_PIPELINES_DIR"] = str(pipelines_dir.resolve())
    if pipeline:
        os.environ["PREFRAG_SERVE"] = ",".join(pipeline)
    if demo or collection is not None:
        os.environ[INDEX_VARIABLE] = DEMO_INDEX if demo else str(collection)

    files = choose_pipelines()
    unknown = find_unknown_settings(*files.values())
    if unknown:
        raise BadInput(" ".join(unknown))
    if not skips_broken():
        check_index(files.values())
    return files
