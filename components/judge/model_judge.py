"""The judge that calls a language model, as in the paper."""

from __future__ import annotations

from typing import Any, Literal

from haystack import default_to_dict

from prefrag.components.generators.json_reply import object_schema, read_boolean, read_object, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, Prepared, passages
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.state.state import State, Verdict

_SCHEMA = object_schema(analysis={"type": "string", "maxLength": 600}, status={"enum": ["True", "False"]})


class ModelJudge:
    """Judge with a language model that compares new and observed passages (equation 3 and table 20 of PrefRAG)."""

    def __init__(
        self,
        chat_generator: ChatGenerator,
        prompt: str = "source_switch_judge",
        generation_kwargs: dict[str, Any] | None = None,
        on_unparsable: Literal["switch", "keep"] = "switch",
    ):
        """Set up the judge.

        :param chat_generator: The model, any Haystack chat generator.
        :param prompt: A prompt file.
        :param generation_kwargs: OpenAI-style parameters; by default temperature 0.1, top_p 0.9.
        :param on_unparsable: What happens when the model's verdict cannot be read.
        :raises ValueError: When a setting is unknown or the prompt file does not exist.
        """
        if on_unparsable not in ("switch", "keep"):
            raise ValueError(f"on_unparsable is '{on_unparsable}': set it to switch or keep.")
        prompt_path(prompt)
        self.chat_generator = chat_generator
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self.on_unparsable = on_unparsable
        self._call = ModelCall("judge", chat_generator, generation_kwargs)

    def to_dict(self) -> dict[str, Any]:
        """Write the judge as a block of the pipeline's YAML.

        :returns: Its class and its settings as plain values.
        """
        return default_to_dict(
            self,
            chat_generator=self.chat_generator,
            prompt=self.prompt,
            generation_kwargs=self.generation_kwargs,
            on_unparsable=self.on_unparsable,
        )

    @property
    def is_embedded(self) -> bool:
        """Whether the model is the embedded one."""
        return self._call.is_embedded

    def warm_up(self) -> None:
        """Load or connect the model."""
        self._call.warm_up()

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state with the call counted.
        :raises RunError: When the model fails; it holds the state.
        """
        text, state = self._call.send(self._prepare(state))
        return self._read(text), state

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge as :meth:`judge` does, without blocking the event loop.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state with the call counted.
        :raises RunError: When the model fails; it holds the state.
        """
        text, state = await self._call.send_async(self._prepare(state))
        return self._read(text), state

    def _prepare(self, state: State) -> Prepared:
        earlier = [state.attached, *(step.shown for step in state.steps[:-1])]

        def values(observations: Any) -> dict[str, Any]:
            observed = [document for documents in observations[:-1] for document in documents]
            return {
                "question": state.question,
                "observed": passages(observed) if observed else "",
                "new": passages(observations[-1]),
            }

        return self._call.prepare(
            state,
            self.prompt,
            [*earlier, state.step.searches[-1].documents],
            values,
            response_format=response_format("verdict", _SCHEMA),
        )

    def _read(self, text: str) -> Verdict:
        values = read_object(text) or {}
        analysis = str(values.get("analysis") or "")
        status = read_boolean(values.get("status")) if "status" in values else read_boolean(text)
        if status is not None:
            return Verdict(status, "model", analysis)
        return Verdict(self.on_unparsable == "keep", "model", analysis or text.strip()[:300], parsed=False)
