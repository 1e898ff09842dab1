"""Step-back prompting (Zheng et al. 2023, "Take a Step Back"): also search for a more general question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haystack import component

from prefrag.components.generators.json_reply import object_schema, read_object, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, PreparedCall
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.state.state import Action, State, Step

_SCHEMA = object_schema(question={"type": "string", "minLength": 3, "maxLength": 600})


@component
class StepBackQuery:
    """Adds a step that searches for a more general question, which a model derives from the question."""

    def __init__(
        self, chat_generator: ChatGenerator, prompt: str | None = None, generation_kwargs: dict[str, Any] | None = None
    ):
        """Set up the component.

        :param chat_generator: The model, any Haystack chat generator.
        :param prompt: A prompt file; by default ``step_back.jinja`` beside this module.
        :param generation_kwargs: OpenAI-style parameters; by default temperature 0.1, top_p 0.9, max_tokens 256.
        :raises ValueError: When the prompt file does not exist.
        """
        self.chat_generator = chat_generator
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self._prompt = prompt or str(Path(__file__).with_name("step_back.jinja"))
        prompt_path(self._prompt)
        self._call = ModelCall("step_back", chat_generator, generation_kwargs, max_tokens=256)

    def warm_up(self) -> None:
        """Load or connect the model."""
        self._call.warm_up()

    @component.output_types(state=State)
    def run(self, state: State) -> dict[str, State]:
        """Add the step.

        :param state: The state so far.
        :returns: ``state`` with a step that searches for the more general question or, if the model's reply cannot be
            read, for the question itself.
        :raises RunError: When the model fails; it holds the state.
        """
        return {"state": self._search(*self._call.send(self._prepare(state)))}

    @component.output_types(state=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Do as :meth:`run` does, without blocking the event loop.

        :param state: The state so far.
        :returns: ``state`` with a step that searches for the more general question.
        :raises RunError: When the model fails; it holds the state.
        """
        return {"state": self._search(*await self._call.send_async(self._prepare(state)))}

    def _prepare(self, state: State) -> PreparedCall:
        return self._call.prepare(
            state,
            self._prompt,
            [],
            lambda _: {"question": state.question},
            response_format=response_format("question", _SCHEMA),
        )

    def _search(self, reply: str, state: State) -> State:
        general = (read_object(reply) or {}).get("question")
        query = general.strip() if isinstance(general, str) and general.strip() else state.question
        state = state.with_step(Step(Action.SEARCH, query=query))
        for source in state.settings.sources:
            state = state.with_event("search", source=source, query=query)
        return state
