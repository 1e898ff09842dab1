"""Keep the model of a GGUF file loaded in a process of its own, so that other commands need not load it.

`prefrag model serve` runs llama.cpp's server on this machine. While the server runs, it is described in the data
folder: its address, its file and its key. Commands that would load the same file ask the server instead.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prefrag.components.document_stores.tantivy.index_location import data_directory, make_data_directory
from prefrag.components.generators.model_files import name_of_file
from prefrag.errors import BadInput
from prefrag.file_lock import take_lock
from prefrag.private_file import write_private

DEFAULT_PORT = 1417
"""The port on which the server listens. The one before it is that of `prefrag serve`."""

# How long a lock must be held before it counts as that of a server. A search for a model takes microseconds.
_LOCK_SECONDS = 0.3
# The wait between two attempts to take the lock.
_LOCK_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class WarmModel:
    """A model that a server of ours keeps loaded."""

    # The root of the server's OpenAI-compatible interface.
    base_url: str
    # The name under which the server knows the model.
    name: str
    # The real path of the model's file.
    gguf: str
    # The key without which the server refuses every call.
    api_key: str = field(repr=False)

    def runs(self, gguf: str) -> bool:
        """Check whether the server runs the model of this file."""
        return self.gguf == os.path.realpath(gguf)


@contextmanager
def keep_warm(gguf: Path, port: int, context_window: int, threads: int | None = None) -> Iterator[WarmModel]:
    """Load a model and serve it on this machine, until the block ends.

    :param gguf: The file of the model.
    :param port: The port of the loopback interface, or 0 for any that is free.
    :param context_window: The maximum number of tokens of prompt and reply together.
    :param threads: The processor threads that run the model, or None for one less than there are cores.
    :returns: The model, which other commands of this user find until then.
    :raises BadInput: When another such server runs, or the port is taken.
    :raises ImportError: When llama.cpp is not installed.
    :raises FileNotFoundError: When the file does not exist.
    :raises RuntimeError: When llama.cpp cannot run it.
    :raises NotEnoughMemory: When the model does not fit into the memory that is free.
    """
    # Imported here, because the other function needs neither Haystack nor llama.cpp.
    from prefrag.components.generators.embedded_chat_generator import load_model

    make_data_directory()
    with _lock_file().open("ab") as lock:
        if not take_lock(lock.fileno(), _LOCK_SECONDS, _LOCK_POLL_SECONDS):
            raise BadInput("Another `prefrag model serve` runs: stop it first, with Ctrl-C where it was started.")
        # A server that was killed has left its description. While this one loads, nobody may believe it.
        _state_file().unlink(missing_ok=True)
        _check_free(port)
        key = secrets.token_urlsafe()
        # The second argument is the adapter. This command has none.
        server: Any = load_model(str(gguf), None, context_window, threads, key, port)
        model = WarmModel(
            base_url=f"{server.listening_address}/v1",
            name=name_of_file(gguf.name),
            gguf=os.path.realpath(gguf),
            api_key=key,
        )
        # Other users of the machine can reach the port, so the key must be readable by this user alone.
        write_private(_state_file(), json.dumps(asdict(model)) + "\n")
        try:
            yield model
        finally:
            _state_file().unlink(missing_ok=True)


def find_warm_model() -> WarmModel | None:
    """Find the model that a server of this user keeps loaded; None if no such server runs."""
    try:
        model = WarmModel(**json.loads(_state_file().read_text(encoding="utf-8")))
        with _lock_file().open("ab") as lock:
            # After a kill, the description is still there. Another program may listen on that port by now, and must
            # get neither the key nor a prompt. The lock ended with the process. Another search for a model holds the
            # lock only for a moment.
            is_running = not take_lock(lock.fileno(), _LOCK_SECONDS, _LOCK_POLL_SECONDS)
            if not is_running:
                _state_file().unlink(missing_ok=True)
    except (OSError, ValueError, TypeError):
        return None
    has_all_texts = all(isinstance(value, str) for value in asdict(model).values())
    if not is_running or not has_all_texts:
        return None
    return model


def _check_free(port: int) -> None:
    """Raise BadInput if another program listens on the port. llama.cpp would say so only after it has loaded."""
    with socket.socket() as attempt:
        # A port whose last connections are still closing is free, on Linux and macOS.
        if os.name == "posix":
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError as error:
            raise BadInput(f"Port {port} is taken by another program: choose another with --port.") from error


def _state_file() -> Path:
    return data_directory() / "warm-model.json"


def _lock_file() -> Path:
    return data_directory() / "warm-model.lock"
