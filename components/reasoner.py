"""The model that thinks, searches and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

from haystack import Document, component, default_from_dict, default_to_dict

from components.model_call import ChatGenerator, ModelCall, Prepared, passages
from components.prompt_template import prompt_path
from components.reply_formats import FORMATS, JsonFormat, TextFormat, Tool
from components.state import Action, State, Step

SEARCH_ENGINE = Tool(
    "Search_Engine",
    "A search engine over a knowledge base, "
    "for looking up facts about people, places, works, events and anything else.",
)
CONCISE = "the most concise answer to the original question, nothing but the answer itself"


@component
class Reasoner:
    """Renders the transcript, asks the model, and keeps the first step of its reply (section 3.2 of PrefRAG).

    ```python
    from components.chat_model import ChatModel
    from components.reasoner import Reasoner
    from components.state import RunSettings, State

    reasoner = Reasoner(chat_generator=ChatModel())
    reasoner.warm_up()
    state = State("Who designed the Aurora log?", RunSettings(sources=("local",), preferred="local"))
    print(reasoner.run(state=state)["state"].step)
    ```
    """

    def __init__(
        self,
        chat_generator: ChatGenerator,
        reply_format: Literal["auto", "text", "json", "guided"] = "auto",
        tools: Sequence[Tool | dict[str, Any]] | None = None,
        answer_format: str = CONCISE,
        must_answer: bool = False,
        prompt: str | None = None,
        generation_kwargs: dict[str, Any] | None = None,
    ):
        """
        :param chat_generator: The model, any Haystack chat generator.
        :param reply_format: ``text`` is the papers' format; ``json`` is constrained by a schema, for small models;
            ``guided`` also gives a choice of queries, for the smallest; ``auto`` takes ``guided`` for the embedded
            model and ``text`` for a model server.
        :param tools: The actions that are advertised: name, description, and the source that each stands for (none:
            the router chooses). By default the paper's single ``Search_Engine``.
        :param answer_format: What a final answer looks like, in words (table 19).
        :param must_answer: Make the model answer from what it has seen: the end of a run whose steps are used up.
        :param prompt: A prompt file of your own instead of the format's.
        :param generation_kwargs: OpenAI-style parameters; by default temperature 0.1, top_p 0.9 (section 4.3).
        :raises ValueError: For an unknown format, no tools, or a prompt file that does not exist.
        """
        if reply_format != "auto" and reply_format not in FORMATS:
            raise ValueError(f"reply_format is '{reply_format}': set it to auto, {' or '.join(FORMATS)}.")
        self.tools = [tool if isinstance(tool, Tool) else Tool(**tool) for tool in tools or [SEARCH_ENGINE]]
        if len({tool.name for tool in self.tools}) < len(self.tools):
            raise ValueError("Two tools have the same name: give each action a name of its own.")
        if prompt is not None:
            prompt_path(prompt)
        self.chat_generator = chat_generator
        self.reply_format = reply_format
        self.answer_format = answer_format
        self.must_answer = must_answer
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self._call = ModelCall("reasoner", chat_generator, generation_kwargs)

    def to_dict(self) -> dict[str, Any]:
        """:returns: The component as plain values."""
        return default_to_dict(
            self,
            chat_generator=self.chat_generator,
            reply_format=self.reply_format,
            tools=[asdict(tool) for tool in self.tools],
            answer_format=self.answer_format,
            must_answer=self.must_answer,
            prompt=self.prompt,
            generation_kwargs=self.generation_kwargs,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Reasoner:
        """:param data: See :meth:`to_dict`. :returns: The component."""
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """Load or connect the model."""
        self._call.warm_up()

    @component.output_types(state=State)
    def run(self, state: State) -> dict[str, State]:
        """
        :param state: The state so far.
        :returns: ``state`` with one more step.
        :raises RunError: When the model fails; it holds the state.
        """
        return {"state": self._replied(*self._call.send(self._prepare(state)))}

    @component.output_types(state=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """As :meth:`run`, without blocking the event loop."""
        return {"state": self._replied(*await self._call.send_async(self._prepare(state)))}

    @property
    def _format(self) -> TextFormat | JsonFormat:
        name = self.reply_format
        if name == "auto":
            name = "guided" if self._call.is_embedded else "text"
        return FORMATS[name]()

    def _prepare(self, state: State) -> Prepared:
        steps = state.steps
        if self.must_answer and state.settings.fidelity == "authors-code" and steps and not steps[-1].observed:
            # The published code drops the reply that broke the loop; the paper's transcript keeps it.
            steps = steps[:-1]

        def values(observations: Sequence[Sequence[Document]]) -> dict[str, Any]:
            return {
                "question": state.question,
                "history": state.history if not state.asked else (),
                "tools": self.tools,
                "tool_names": " or ".join(tool.name for tool in self.tools),
                "max_steps": state.settings.max_steps,
                "answer_format": self.answer_format,
                "must_answer": self.must_answer,
                "steps": [
                    {"reply": step.reply, "observation": _observation(step, shown, state.settings.fidelity)}
                    for step, shown in zip(steps, observations, strict=True)
                ],
            }

        form = self._format
        return self._call.prepare(
            state,
            self.prompt or form.prompt,
            [step.documents for step in steps],
            values,
            **form.generation_kwargs(self.tools, state, self.must_answer),
        )

    def _replied(self, text: str, state: State) -> State:
        step = self._format.read(text, self.tools, must_answer=self.must_answer, fidelity=state.settings.fidelity)
        state = state.with_step(replace(step, forced=self.must_answer))
        if step.thought:
            state = state.with_event("thought", text=step.thought)
        if step.action is Action.ANSWER:
            state = state.with_event(
                "answer", text=step.answer, label=step.label.value if step.label else None, forced=self.must_answer
            )
        return state


def _observation(step: Step, documents: Sequence[Document], fidelity: str) -> str | None:
    return passages(documents, step.note, fidelity) if step.observed else None
