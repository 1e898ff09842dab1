"""The judge that calls a language model, as in the paper."""

from __future__ import annotations

from typing import Any, Literal, get_args

from haystack import default_to_dict

from prefrag.components.generators.json_reply import object_schema, read_verdict, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, Prepared
from prefrag.components.prompts.quotation import passages
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.state.state import RunError, State, Verdict

OnDoubt = Literal["keep", "end", "switch"]
_SCHEMA = object_schema(analysis={"type": "string"}, status={"enum": ["True", "False"]})


class ModelJudge:
    """Judge with a language model that compares new and observed passages (equation 3 and table 20 of PrefRAG)."""

    def __init__(
        self,
        chat_generator: ChatGenerator,
        prompt: str = "source_switch_judge",
        generation_kwargs: dict[str, Any] | None = None,
        on_doubt: OnDoubt = "keep",
    ):
        """Set up the judge.

        :param chat_generator: The model, any Haystack chat generator.
        :param prompt: A prompt file.
        :param generation_kwargs: OpenAI-style parameters; by default temperature 0.1, top_p 0.9.
        :param on_doubt: What happens when the verdict cannot be read twice, or was cut off: ``keep`` keeps the
            passages, so that no query is sent out without a verdict, ``end`` ends the run with an error, and
            ``switch`` sends the query to another source, as in the authors' code.
        :raises ValueError: When a setting is unknown or the prompt file does not exist.
        """
        if on_doubt not in get_args(OnDoubt):
            raise ValueError(f"on_doubt is '{on_doubt}': set it to {', '.join(get_args(OnDoubt))}.")
        prompt_path(prompt)
        self.chat_generator = chat_generator
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self.on_doubt: OnDoubt = on_doubt
        self.call = ModelCall("judge", chat_generator, generation_kwargs)

    def to_dict(self) -> dict[str, Any]:
        """Write the judge as a block of the pipeline's YAML.

        :returns: Its class and its settings as plain values.
        """
        return default_to_dict(
            self,
            chat_generator=self.chat_generator,
            prompt=self.prompt,
            generation_kwargs=self.generation_kwargs,
            on_doubt=self.on_doubt,
        )

    @property
    def can_judge(self) -> bool:
        """Whether there is a model on a server, or one in this process that was named for judging."""
        if self.call.is_absent:
            return False
        return not self.call.is_embedded or bool(getattr(self.chat_generator, "is_named_for_judging", False))

    def warm_up(self) -> None:
        """Load or connect the model."""
        self.call.warm_up()

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Judge the passages of the last search.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state with the call counted.
        :raises RunError: When the model fails, or in doubt where that ends a run; it holds the state.
        """
        return self._decide(*self.call.send_until_read(self.prepare(state), read_judgement))

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Judge as :meth:`judge` does, without blocking the event loop.

        :param state: The state after a search that found something.
        :returns: The verdict, and the state with the call counted.
        :raises RunError: When the model fails, or in doubt where that ends a run; it holds the state.
        """
        return self._decide(*await self.call.send_until_read_async(self.prepare(state), read_judgement))

    def prepare(self, state: State) -> Prepared:
        """Prepare the call that judges the last search, which also samples replies to train on.

        :param state: The state after a search that found something.
        :returns: The call.
        :raises RunError: When the prompt does not fit the window even without passages.
        """
        earlier = [state.attached, *(step.shown for step in state.steps[:-1])]

        def values(observations: Any) -> dict[str, Any]:
            observed = [document for documents in observations[:-1] for document in documents]
            return {
                "question": state.question,
                "observed": passages(observed) if observed else "",
                "new": passages(observations[-1]),
            }

        return self.call.prepare(
            state,
            self.prompt,
            [*earlier, state.step.searches[-1].documents],
            values,
            response_format=response_format("verdict", _SCHEMA),
        )

    def _decide(self, verdict: Verdict | None, text: str, state: State) -> tuple[Verdict, State]:
        if verdict is not None:
            return verdict, state
        excerpt = " ".join(text[:300].split())
        if self.on_doubt == "end":
            raise RunError(
                f"The judge's verdict could not be read twice: set on_doubt to keep or switch, give the judge another "
                f"model, or raise {self.call.limit_setting} where its replies are cut off (it replied: '{excerpt}').",
                state,
            )
        return Verdict(self.on_doubt == "keep", "model", excerpt, parsed=False), state


def read_judgement(text: str) -> Verdict | None:
    """Read a reply of the model.

    :param text: The reply.
    :returns: The verdict; None when it cannot be read.
    """
    status, values = read_verdict(text, "status")
    return None if status is None else Verdict(status, "model", str(values.get("analysis") or ""))
