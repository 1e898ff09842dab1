"""The chat generator of a language model that runs in this process.

llama.cpp runs the model, which is a GGUF file. A model takes much memory, so all generators with the same settings
share one :class:`_Model`. Each :class:`_Model` has a thread, which loads the model and makes one call after the other.
The generators put their calls into the queue of this thread, and wait for the results.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib
import os
import queue
import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haystack import component
from haystack.dataclasses import ChatMessage

from prefrag.components.block import Block, check_above_zero, check_whole_number
from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.generators.context_window import PromptTooLong
from prefrag.components.generators.model_files import check_memory
from prefrag.components.generators.model_host import THIS_MACHINE
from prefrag.components.generators.token_probabilities import TokenLogprob, read_logprobs

CONTEXT_WINDOW = 4_096
"""The default context window in tokens. The model needs half a minute on one thread to read a prompt of this length."""

# Advice for users, as a part of error messages.
_CORRECT_PATH = "correct the path in PREFRAG_LLM_GGUF (for the judge, PREFRAG_JUDGE_GGUF; in a YAML, `model_path`)"
# Further advice: what users can do if they do not want a model in this process.
_INSTEAD = "or set PREFRAG_LLM_BASE_URL and PREFRAG_LLM_MODEL to use a model server instead"
# The number of prompt tokens that are read in one batch. A batch takes about a second, and a call can be stopped only
# between two batches.
_BATCH_TOKENS = 128
# The file in which a container states its processor time. It has two numbers in microseconds, such as "200000 100000".
# The first is the time that the container may use in each period, and the second is the length of a period.
_CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
# The maximum number of tokens of a reply, unless the call sets its own maximum.
_MAX_TOKENS = 512
# The size in MiB of the cache of prompts that the model has read. With this cache, three questions at the same time
# take half as long.
_PROMPT_CACHE_MIB = 128
# The maximum number of seconds to wait for the thread of a model when the process ends.
_EXIT_SECONDS = 5.0


@component
class EmbeddedChatGenerator(Block):
    """Call a model without a server: llama.cpp runs a GGUF file in this process.

    In one process, all instances with the same settings share one loaded model. The model answers one call at a time,
    because parallel calls would only slow each other down.

    Usage example:
    ```python
    from haystack.dataclasses import ChatMessage
    from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator

    generator = EmbeddedChatGenerator("model.gguf")
    schema = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
    response_format = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    messages = [ChatMessage.from_user("What is the capital of France?")]
    print(generator.run(messages, generation_kwargs={"response_format": response_format})["replies"][0].text)
    ```
    """

    model_host = THIS_MACHINE

    def __init__(
        self,
        model_path: str,
        context_window: int = CONTEXT_WINDOW,
        timeout: float = 120.0,
        adapter_path: str | None = None,
        threads: int | None = None,
    ):
        """Check the settings. The model is loaded by ``warm_up`` or by the first call.

        :param model_path: The path of a GGUF file.
        :param context_window: The maximum number of tokens of prompt and reply together.
        :param timeout: The seconds that a call may take. They include waiting in the queue and loading the model.
        :param adapter_path: The GGUF file of a LoRA adapter for this model, or None. The adapter stays in a separate
            file. If it were merged into 4-bit weights, its small changes would be lost by rounding.
        :param threads: The number of processor threads that run the model. If None, it is one less than the number of
            cores.
        :raises ValueError: When a number is not above zero.
        """
        whole_numbers = {"context_window": context_window}
        if threads is not None:
            whole_numbers["threads"] = threads
        check_whole_number(1, **whole_numbers)
        check_above_zero(timeout=timeout)
        self.model_path = model_path
        self.context_window = context_window
        self.timeout = timeout
        self.adapter_path = adapter_path
        self.threads = threads

    def warm_up(self) -> None:
        """Load the model, unless another instance has loaded it.

        :raises ImportError: When llama.cpp is not installed.
        :raises FileNotFoundError: When the model or the adapter does not exist.
        :raises RuntimeError: When llama.cpp cannot run the model or the adapter.
        :raises NotEnoughMemory: When the model does not fit into the memory that is free.
        :raises TimeoutError: When loading takes longer than ``timeout``.
        """
        self._wait(self._model.submit(None))

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None
    ) -> dict[str, list[ChatMessage]]:
        """Call the model. If the caller cancels the call, the model stops.

        :param messages: The conversation.
        :param generation_kwargs: Parameters under their OpenAI names: ``temperature``, ``top_p``, ``max_tokens``,
            ``stop``, ``seed``, ``logprobs`` and ``response_format``. The reply will follow the JSON schema in
            ``response_format``. Parameters of llama.cpp itself are accepted too.
        :returns: A dictionary with the following key:

            - ``replies``: A list with one message. Its ``meta`` has ``finish_reason``, ``usage`` and, on request,
              ``logprobs``.
        :raises ValueError: When the prompt does not fit into the context window, or when llama.cpp refuses a parameter.
        :raises TimeoutError: When the call takes longer than ``timeout``.
        """
        future = self._model.submit(self._body(messages, generation_kwargs))
        return {"replies": [await call_matching(self._wait, self._wait_async, future)]}

    run = as_blocking(run_async)

    @property
    def _model(self) -> _Model:
        """The model that this process shares between all generators with the same settings."""
        threads = self.threads or _free_cores()
        return _share_model(self.model_path, self.adapter_path, self.context_window, threads)

    def _wait(self, future: Future[ChatMessage]) -> ChatMessage:
        """Wait for the reply of a call, at most ``timeout`` seconds."""
        try:
            return future.result(self.timeout)
        except TimeoutError as error:
            raise self._timeout_error() from error
        finally:
            # After a timeout, this stops the call. A finished call is not affected.
            future.cancel()

    async def _wait_async(self, future: Future[ChatMessage]) -> ChatMessage:
        """Wait for the reply of a call without blocking the event loop. After a timeout, the call is cancelled."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.timeout)
        except TimeoutError as error:
            raise self._timeout_error() from error

    def _timeout_error(self) -> TimeoutError:
        """Make the error for a call that took too long, with advice for the user."""
        return TimeoutError(
            f"The model in this process did not reply within {self.timeout:g} seconds, including the wait in "
            f"the queue: raise `timeout`, send fewer calls at once, {_INSTEAD}."
        )

    def _body(self, messages: list[ChatMessage], generation_kwargs: Mapping[str, object] | None) -> dict[str, object]:
        """Build the request for llama.cpp, in the form of a chat completion."""
        if not messages:
            raise ValueError("There are no messages: send at least one.")
        options = dict(generation_kwargs or {})
        if options.pop("n", 1) != 1:
            raise ValueError("The model in this process gives one reply per call: leave `n` out.")
        if "max_completion_tokens" in options:
            options["max_tokens"] = options.pop("max_completion_tokens")

        return {
            "max_tokens": _MAX_TOKENS,
            **options,
            "messages": [message.to_openai_dict_format() for message in messages],
            # A call can be stopped only between two chunks. With `return_progress`, chunks arrive also while the model
            # reads the prompt.
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
        }


@dataclass(frozen=True)
class _Call:
    """A call in the queue of a model."""

    # The request for llama.cpp. None only loads the model.
    body: dict[str, object] | None
    # Gets the reply, or the error of the call.
    future: Future[ChatMessage] = field(default_factory=Future)


class _Model:
    """A loaded model and the one thread that calls it.

    When the process ends, :meth:`close` stops the running call and gives the thread five seconds to end. The thread is
    a daemon thread. So the interpreter then ends even if the thread still runs.
    """

    def __init__(self, path: str, adapter: str | None, context_window: int, threads: int):
        self._path = path
        self._adapter = adapter
        self._context_window = context_window
        self._threads = threads
        # llama.cpp ends its threads only when this object is freed. Threads that outlive the interpreter crash it.
        # The object must never be assigned to a local variable, because the traceback of an error would keep this
        # variable alive.
        self._server: Any = None
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="embedded-model", daemon=True)
        self._thread.start()

    def submit(self, body: dict[str, object] | None) -> Future[ChatMessage]:
        """Put a call into the queue. Without a body, the thread only loads the model.

        :param body: The request for llama.cpp, or None.
        :returns: The future of the reply.
        """
        call = _Call(body)
        self._calls.put(call)
        return call.future

    def close(self) -> None:
        """Stop the running call, drop the waiting calls, and free the model."""
        self._closing.set()
        self._calls.put(None)
        self._thread.join(_EXIT_SECONDS)

    def _work(self) -> None:
        """Make the calls of the queue, one after the other, until the model is closed. The thread runs this method."""
        # `close` puts None into the queue.
        while (call := self._calls.get()) is not None:
            if self._is_unwanted(call):
                call.future.cancel()
                continue
            try:
                reply = self._reply(call)
            except Exception as error:
                if call.future.set_running_or_notify_cancel():
                    call.future.set_exception(error)
            else:
                if call.future.set_running_or_notify_cancel():
                    call.future.set_result(reply)
        self._server = None

    def _is_unwanted(self, call: _Call) -> bool:
        """Check whether nobody waits for a call any more."""
        return call.future.cancelled() or self._closing.is_set()

    def _reply(self, call: _Call) -> ChatMessage:
        """Make a call, and return its reply. The model is loaded first, if necessary.

        :raises Exception: When the model cannot be loaded, refuses the call, or was stopped.
        """
        if self._server is None:
            # If loading fails, the next call tries to load the model again, because the user may have corrected the
            # file.
            self._server = load_model(self._path, self._adapter, self._context_window, self._threads)
        if call.body is None:
            return ChatMessage.from_assistant("")

        chunks: list[dict[str, object]] = []

        def receive(chunk: dict[str, object]) -> bool:
            """Store a chunk of the reply. If the result is true, llama.cpp stops."""
            chunks.append(chunk)
            return self._is_unwanted(call)

        self._server.handle_chat_completions(call.body, receive)
        return _join_chunks(chunks)


def _join_chunks(chunks: list[dict[str, Any]]) -> ChatMessage:
    """Put a reply together from its chunks.

    :raises ValueError: When a chunk is an error.
    :raises RuntimeError: When the last chunk is missing.
    """
    texts: list[str] = []
    finish_reason: str | None = None
    usage: dict[str, int] = {}
    logprobs: list[TokenLogprob] = []
    for chunk in chunks:
        if "error" in chunk:
            raise _refusal(chunk["error"])
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta", {})
            texts.append(delta.get("content") or "")
            finish_reason = choice.get("finish_reason") or finish_reason
            logprobs += read_logprobs(choice.get("logprobs"))
        usage = chunk.get("usage") or usage

    if finish_reason is None:
        raise RuntimeError("The model in this process was stopped in the middle of its reply.")
    counts = {name: usage.get(name, 0) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    first_chunk = chunks[0]
    model_name = Path(first_chunk.get("model", "")).name
    meta: dict[str, object] = {"model": model_name, "index": 0, "finish_reason": finish_reason, "usage": counts}
    if logprobs:
        meta["logprobs"] = {"content": logprobs}
    return ChatMessage.from_assistant("".join(texts), meta=meta)


def _refusal(error: dict[str, object]) -> ValueError:
    """Make the error for a call that llama.cpp has refused, with advice for the user."""
    if error.get("type") == "exceed_context_size_error":
        return PromptTooLong(
            f"The prompt has {error.get('n_prompt_tokens')} tokens, but the window holds only "
            f"{error.get('n_ctx')}: shorten the prompt, set a larger window (PREFRAG_LLM_CONTEXT, or "
            f"`context_window` in the YAML), {_INSTEAD}."
        )
    message = error.get("message", error)
    return ValueError(f"The model in this process refused the call. Correct the parameters: {message}")


def _free_cores() -> int:
    """Return the number of threads for a model: one less than the number of cores, and at least 1.

    One core is left to all other programs. llama.cpp's threads use their cores even while they wait for each other. If
    another program takes one of these cores, all threads stand still. On two busy cores, one thread wrote a reply in 28
    seconds, and two threads had not ended after 100 seconds.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        # The system may let this process use only some of the cores. 0 stands for this process.
        cores = len(os.sched_getaffinity(0))
    usable_cores = min(cores, _read_quota(cores))
    return max(1, usable_cores - 1)


def _read_quota(cores: int) -> int:
    """Read how many cores a container may use.

    :param cores: The number of cores of the machine.
    :returns: The whole number of cores that the quota allows, at most ``cores``. Without a quota, ``cores``.
    """
    try:
        quota, period = _CPU_QUOTA.read_text(encoding="utf-8").split()
        return min(cores, int(quota) // int(period))
    except (OSError, ValueError):
        # There is no container, or its quota is "max".
        return cores


def load_model(
    path: str,
    adapter: str | None,
    context_window: int,
    threads: int | None = None,
    key: str | None = None,
    port: int = 0,
) -> object:
    """Load a model. llama.cpp then also serves it on the loopback interface.

    :param path: The GGUF file of the model.
    :param adapter: The GGUF file of a LoRA adapter for it, or None.
    :param context_window: The maximum number of tokens of prompt and reply together.
    :param threads: The processor threads that run the model, or None for one less than there are cores.
    :param key: The API key that the server asks for. With None, it is a random one that nobody knows.
    :param port: The port, or 0 for any that is free.
    :returns: The server object of llama.cpp. The model is freed when the object is.
    :raises ImportError: When llama.cpp is not installed.
    :raises FileNotFoundError: When the model or the adapter does not exist.
    :raises RuntimeError: When llama.cpp cannot run the model or the adapter.
    :raises NotEnoughMemory: When the model does not fit into the memory that is free.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no model at {path}: {_CORRECT_PATH}, {_INSTEAD}.")
    if adapter is not None and not Path(adapter).is_file():
        raise FileNotFoundError(f"There is no adapter at {adapter}: correct `adapter_path`, or leave it out.")
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ImportError(
            f'A GGUF file needs llama.cpp: run `pip install "prefrag[llama]"`, {_INSTEAD}.', name="xllamacpp"
        ) from error
    check_memory(Path(path))

    params = xllamacpp.CommonParams()
    params.model.path = path
    if adapter is not None:
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(adapter)]
    params.n_ctx = context_window
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or _free_cores()
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.warmup = False
    params.verbosity = -1
    # llama.cpp always opens a port on the loopback interface. An API key keeps other programs from using it.
    params.api_keys = [key or secrets.token_urlsafe()]
    params.port = port
    params.ui = params.endpoint_slots = False
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        no_adapter = "" if adapter is None else f", or {adapter} is not a LoRA adapter for it"
        raise RuntimeError(
            f"{path} is not a GGUF file that llama.cpp can run{no_adapter}: {_CORRECT_PATH}, {_INSTEAD}."
        ) from error


# The models of this process. The key is the number of the process, the paths of model and adapter, and the window.
_models: dict[tuple[int, str, str | None, int], _Model] = {}
# Held while a model is looked up or added.
_models_lock = threading.Lock()


def _share_model(path: str, adapter: str | None, context_window: int, threads: int) -> _Model:
    """Return the model with these settings, which is made at the first call.

    The number of threads is no part of the key. A file is loaded only once, with the number of threads of the first
    call.
    """
    # A forked process does not have the threads of its parent, so it needs its own model.
    key = (os.getpid(), path, adapter, context_window)
    with _models_lock:
        if key not in _models:
            _models[key] = _Model(path, adapter, context_window, threads)
        return _models[key]


@atexit.register
def _close_models() -> None:
    """Close the models of this process. The models of a parent process are left alone."""
    for (process, *_), model in _models.items():
        if process == os.getpid():
            model.close()
