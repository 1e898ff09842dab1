"""The component that accepts an answer or starts one more search for a better one.

The model labels its own answer as CORRECT, PARTIALLY CORRECT or INCORRECT. PrefRAG calls this self-reflection. Only an
answer with one of the last two labels leads to one more search, which is called a supplement here.
"""

from dataclasses import replace
from typing import Any, Literal

from haystack import Document, component

from prefrag.components.block import check_choice
from prefrag.components.both_ways import as_blocking
from prefrag.components.generators.json_reply import object_schema, read_field, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, PreparedCall
from prefrag.components.generators.token_budget import Observations
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.reasoner.reply_formats import read_label
from prefrag.components.reasoner.reply_formats.fields import with_evaluation
from prefrag.components.state.citations import known_marks, prompt_marks, without_codes
from prefrag.components.state.passages import passages
from prefrag.components.state.state import Label, State

# The JSON schema of the model's reply, if the model is asked for the label in a separate call.
_SCHEMA = object_schema(
    explanation={"type": "string", "maxLength": 300},
    label={"enum": [label.value for label in Label]},
    suggestions={"type": "string", "maxLength": 300},
)
# Where the label of an answer comes from. `SelfReflector` explains the three values.
Reflection = Literal["reply", "call", "off"]


@component
class SelfReflector:
    """Accept an answer, or search every source once more with the original question (section 3.3 of PrefRAG).

    Each call has exactly one output: ``accepted`` or ``supplement``.
    """

    def __init__(
        self,
        reflection: Reflection | Literal[False] = "reply",
        chat_generator: ChatGenerator | None = None,
        prompt: str = "self_reflector",
        generation_kwargs: dict[str, object] | None = None,
        supplement: Literal["every", "others"] = "every",
    ):
        """Set up the component.

        :param reflection: Where an answer's label comes from.
            - ``reply`` reads the label in the reply with the answer, as in the paper.
            - ``call`` asks the model for the label in a separate call. It is for small models, which often write no
              label.
            - ``off`` accepts every answer (an ablation of table 2).
        :param chat_generator: The model. Only ``call`` needs it.
        :param prompt: The prompt file for ``call``.
        :param generation_kwargs: OpenAI-style parameters. None means temperature 0.1 and top_p 0.9.
        :param supplement: The sources that are searched once more. ``every`` means every source, as in the paper.
            ``others`` leaves out the preferred source, because the model has read its passages. If there is no other
            source, every source is searched.
        :raises ValueError: When the settings contradict each other, or the prompt file does not exist.
        """
        if reflection is False:
            # YAML reads `off` without quotes as false.
            reflection = "off"
        check_choice(("reply", "call", "off"), reflection=reflection)
        check_choice(("every", "others"), supplement=supplement)
        if reflection == "call" and chat_generator is None:
            raise ValueError("reflection: call needs a `chat_generator`: set one, or set reflection to reply.")
        prompt_path(prompt)

        self.reflection = reflection
        self.chat_generator = chat_generator
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self.supplement = supplement
        self._call: ModelCall | None = None
        if chat_generator is not None:
            self._call = ModelCall("reflector", chat_generator, generation_kwargs)

    def warm_up(self) -> None:
        """Load the model or connect to its server, if this component calls a model."""
        if self._call is not None and self.reflection == "call" and not self._call.is_absent:
            self._call.warm_up()

    @component.output_types(accepted=State, supplement=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Choose the output by the answer's label. With ``reflection: call``, first ask the model for the label.

        :param state: The state after an answer.
        :returns: The state under ``accepted`` or ``supplement``.
        :raises RunError: When the model fails. The error holds the state.
        """
        if self.reflection == "call" and self._call is not None and not self._call.is_absent:
            call = self._prepare(self._call, state)
            reflection, _, state = await self._call.send_until_read_async(call, _read)
            state = self._label(reflection, state)
        return self._route(state)

    run = as_blocking(run_async)

    def _prepare(self, call: ModelCall, state: State) -> PreparedCall:
        """Prepare the call that asks for the label, with the question, the passages and the answer in its prompt."""

        def values(observations: Observations) -> dict[str, object]:
            """Return the variables of the prompt, with the passages that fit into it."""
            shown: list[Document] = []
            for documents in observations:
                shown += documents
            observed = ""
            if shown:
                observed = passages(shown, marks=prompt_marks(state), prompts=state.settings.prompts)
            return {"question": state.question, "observed": observed, "answer": state.step.answer}

        observations = [state.attached, *(step.documents for step in state.steps)]
        return call.prepare(
            state, self.prompt, observations, values, response_format=response_format("reflection", _SCHEMA)
        )

    def _label(self, reflection: dict[str, Any] | None, state: State) -> State:
        """Put the model's label and its reasons into the last step."""
        if reflection is None:
            # The answer keeps the label from its own reply, if it has one. An unreadable reply is no reason to search
            # again.
            return state.with_event("unreadable", caller="reflector")
        reply = with_evaluation(state.step.reply, **reflection)
        return state.with_last(reply=reply, **reflection)

    def _route(self, state: State) -> dict[str, State]:
        """Choose the output by the label, and record the label in the trace."""
        label = state.step.label
        # An answer with a certainty was checked by code. If it also has no label, the model was not asked to evaluate
        # it.
        is_checked_by_code = state.step.certainty is not None and label is None
        if self.reflection == "off" or is_checked_by_code:
            return {"accepted": state}

        # An answer without a label is accepted. The event in the trace has the label None.
        is_negative = label in (Label.INCORRECT, Label.PARTIALLY_CORRECT)
        searches_again = is_negative and state.supplements < state.settings.max_supplements
        marks = known_marks(state)
        state = state.with_event(
            "reflection",
            label=label.value if label else None,
            explanation=without_codes(state.step.explanation, marks),
            suggestions=without_codes(state.step.suggestions, marks),
            supplement=searches_again,
        )
        if not searches_again:
            return {"accepted": state}

        sources = state.settings.sources
        if self.supplement == "others":
            others = tuple(source for source in sources if source != state.settings.preferred)
            # If there is no other source, the preferred source is searched again.
            sources = others or sources
        for source in sources:
            state = state.with_event("search", source=source, query=state.question)
        state = state.with_last(asked=sources)
        return {"supplement": replace(state, supplements=state.supplements + 1)}


def _read(text: str) -> dict[str, object] | None:
    """Read the label, the explanation and the suggestions of a reply; None if it has no label."""
    field, values = read_field(text, "label")
    # A reply that is not JSON may still contain a label in words.
    is_words = field is None and not values
    label = read_label(text if is_words else str(field or ""))
    if label is None:
        return None
    return {
        "label": label,
        "explanation": str(values.get("explanation") or ""),
        "suggestions": str(values.get("suggestions") or ""),
    }
