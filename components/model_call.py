"""One call to a chat generator on behalf of a component that has a state."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from haystack import Document
from haystack.dataclasses import ChatMessage

from components.prompt_template import render_prompt
from components.reasoning_blocks import strip_reasoning
from components.state import RunError, State
from components.token_budget import Observations, fit_to_window

DEFAULT_CONTEXT_WINDOW = 8_192


class ChatGenerator(Protocol):
    """Any Haystack chat generator."""

    def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
        """:returns: ``replies``, the messages of the model."""


@dataclass(frozen=True)
class Prepared:
    """A call that is ready to be made.

    :param messages: What the model is sent.
    :param generation_kwargs: How it is to reply.
    :param state: The state, with what was cut from the prompt in its trace.
    """

    messages: list[ChatMessage]
    generation_kwargs: dict[str, Any]
    state: State


def passages(documents: Sequence[Document], note: str = "", fidelity: str = "paper") -> str:
    """:returns: Documents as a model is shown them: numbered, with title and source.

    The published code leaves a plus behind each title and no line between the passages.
    """
    return render_prompt("passages", documents=documents, note=note, as_published=fidelity == "authors-code")


class ModelCall:
    """A component's way to its model: keeps the window, counts the call, and loses no trace when the model fails.

    :param caller: Under what name the calls are counted.
    :param chat_generator: The model.
    :param generation_kwargs: OpenAI-style parameters of every call.
    """

    def __init__(self, caller: str, chat_generator: ChatGenerator, generation_kwargs: dict[str, Any] | None = None):
        self.caller = caller
        self.chat_generator = chat_generator
        self.generation_kwargs = {"temperature": 0.1, "top_p": 0.9, "max_tokens": 512, **(generation_kwargs or {})}

    @property
    def is_embedded(self) -> bool:
        """:returns: Whether the model is the small one that runs in this process."""
        return bool(getattr(self.chat_generator, "is_embedded", False))

    @property
    def context_window(self) -> int:
        """:returns: Tokens that the model holds, prompt and reply together."""
        return int(getattr(self.chat_generator, "context_window", None) or DEFAULT_CONTEXT_WINDOW)

    def warm_up(self) -> None:
        """Load or connect the model."""
        if hasattr(self.chat_generator, "warm_up"):
            self.chat_generator.warm_up()

    def prepare(self, state: State, prompt: str, observations: Observations, render: Any, **kwargs: Any) -> Prepared:
        """Fit a prompt into the model's window.

        :param state: The state of the run.
        :param prompt: The prompt file.
        :param observations: The documents of each observation, oldest first.
        :param render: Gives the values of the template for (possibly fewer) documents of each observation.
        :param kwargs: Further generation parameters of this call.
        :returns: The call.
        :raises RunError: When the prompt does not fit even without documents, or cannot be filled.
        """
        generation_kwargs = {**self.generation_kwargs, **kwargs}
        window = self.context_window
        reply_tokens = min(int(generation_kwargs.get("max_tokens") or 512), window // 2)
        try:
            fitted = fit_to_window(
                lambda kept: render_prompt(prompt, **render(kept)),
                observations,
                context_window=window,
                reply_tokens=reply_tokens,
            )
        except ValueError as error:
            raise RunError(f"The {self.caller} cannot ask its model: {error}", state) from error
        if fitted.documents_cut or fitted.documents_shortened:
            state = state.with_event(
                "cut",
                caller=self.caller,
                documents_cut=fitted.documents_cut,
                documents_shortened=fitted.documents_shortened,
                context_window=window,
            )
        return Prepared([ChatMessage.from_user(fitted.prompt)], generation_kwargs, state)

    def send(self, call: Prepared) -> tuple[str, State]:
        """Make the call.

        :param call: See :meth:`prepare`.
        :returns: The text of the reply without thinking blocks, and the state with the call counted.
        :raises RunError: When the model fails.
        """
        try:
            output = self.chat_generator.run(messages=call.messages, generation_kwargs=call.generation_kwargs)
        except Exception as error:
            raise self._failed(error, call.state) from error
        return self._received(output, call.state)

    async def send_async(self, call: Prepared) -> tuple[str, State]:
        """As :meth:`send`, without blocking the event loop."""
        run_async = getattr(self.chat_generator, "run_async", None)
        try:
            if run_async is not None:
                output = await run_async(messages=call.messages, generation_kwargs=call.generation_kwargs)
            else:
                output = await asyncio.to_thread(
                    self.chat_generator.run, messages=call.messages, generation_kwargs=call.generation_kwargs
                )
        except Exception as error:
            raise self._failed(error, call.state) from error
        return self._received(output, call.state)

    def _failed(self, error: Exception, state: State) -> RunError:
        state = state.with_event("error", caller=self.caller, message=str(error))
        return RunError(f"The {self.caller}'s model failed: {error}", state)

    def _received(self, output: dict[str, Any], state: State) -> tuple[str, State]:
        replies = output.get("replies") or []
        if not replies:
            raise self._failed(ValueError("it sent no reply"), state)
        return strip_reasoning(replies[0].text or ""), state.with_call(self.caller, replies[0].meta)
