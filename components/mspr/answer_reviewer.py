"""The component that lets a model review each answer before the answer is accepted.

The model writes a text about three aspects of the answer (effectiveness, completeness and correctness), and then a
label, True or False. An answer with the label False leads to one more search.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Literal

from haystack import component

from prefrag.components.block import check_choice
from prefrag.components.both_ways import as_blocking
from prefrag.components.generators.json_reply import object_schema, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, PreparedCall
from prefrag.components.generators.token_budget import Observations
from prefrag.components.judge.model_judge import read_verdict
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.reasoner.reply_formats.fields import with_evaluation
from prefrag.components.state.citations import known_marks, prompt_marks, without_codes
from prefrag.components.state.passages import passages
from prefrag.components.state.state import Label, RunError, State
from prefrag.components.text.sentences import cut_text

# The aspects of an answer that a review describes in words.
_ASPECTS = ("effectiveness", "completeness", "correctness")
# The JSON schema of a review: a text for each aspect of the answer, and the label.
_SCHEMA = object_schema(
    **{aspect: {"type": "string", "maxLength": 240} for aspect in _ASPECTS}, label={"enum": ["True", "False"]}
)

# The note in the trace of a run without a model.
NOT_REVIEWED = "The answer was not reviewed, because that needs a language model."


@component
class AnswerReviewer:
    """Accept an answer, or search a source with the original question.

    This is the step CAR of the paper MSPR, section III.D.

    Each call has exactly one output: ``accepted``, or ``search_<source>`` for one of the sources. After a positive
    review, the answer is labelled CORRECT. After a negative review, it is labelled INCORRECT.
    """

    def __init__(
        self,
        sources: Sequence[str],
        chat_generator: ChatGenerator,
        supplement_source: str,
        enabled: bool = True,
        on_doubt: Literal["keep", "end"] = "keep",
        prompt: str = "answer_reviewer",
        generation_kwargs: dict[str, object] | None = None,
    ):
        """Set up the component.

        :param sources: The names of the sources. Each source has an output ``search_<source>``.
        :param chat_generator: The model that reviews.
        :param supplement_source: The source to search after a negative review. If the run is not allowed to search it,
            the preferred source is searched.
        :param enabled: False accepts every answer without a review, as in the ablation without CAR (table II).
        :param on_doubt: What to do if the review cannot be read, even after a second call. ``keep`` accepts the answer
            without a label, because in the paper only the label False leads to a search. ``end`` ends the run with an
            error.
        :param prompt: The prompt file.
        :param generation_kwargs: OpenAI-style parameters. None means temperature 0.1 and top_p 0.9.
        :raises ValueError: When ``supplement_source`` is none of the sources, ``on_doubt`` has another value, or the
            prompt file does not exist.
        """
        if supplement_source not in sources:
            raise ValueError(f"supplement_source is '{supplement_source}': set it to one of {list(sources)}.")
        check_choice(("keep", "end"), on_doubt=on_doubt)
        prompt_path(prompt)

        self.sources = list(sources)
        self.chat_generator = chat_generator
        self.supplement_source = supplement_source
        self.enabled = enabled
        self.on_doubt = on_doubt
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self._call = ModelCall("reviewer", chat_generator, generation_kwargs)
        outputs: dict[str, type[State]] = {f"search_{source}": State for source in self.sources}
        component.set_output_types(self, **outputs, accepted=State)

    def warm_up(self) -> None:
        """Prepare the model, if reviews are enabled."""
        if self.enabled and not self._call.is_absent:
            self._call.warm_up()

    async def run_async(self, state: State) -> dict[str, State]:
        """Review the answer, and choose the output.

        :param state: The state after an answer.
        :returns: The state under ``accepted`` or ``search_<source>``.
        :raises RunError: When the model fails, or the review cannot be read and ``on_doubt`` is ``end``. The error
            contains the state.
        """
        if not self.enabled:
            return {"accepted": state}
        if self._call.is_absent:
            return {"accepted": state.with_event("without_model", text=NOT_REVIEWED)}
        review, text, state = await self._call.send_until_read_async(self._prepare(state), _read)
        return self._route(review, text, state)

    run = as_blocking(run_async)

    def _prepare(self, state: State) -> PreparedCall:
        """Prepare the call that reviews the answer, with the passages and the last thought in its prompt."""
        marks = prompt_marks(state)

        def values(observations: Observations) -> dict[str, object]:
            """Return the variables of the prompt, with the passages that fit into it."""
            # One list of the documents of all steps.
            shown = list(chain.from_iterable(observations))
            return {
                "question": state.question,
                "observed": passages(shown, marks=marks, prompts=state.settings.prompts) if shown else "",
                "thought": state.step.thought,
                "answer": state.step.answer,
            }

        all_observations = [state.attached, *(step.shown for step in state.steps)]
        return self._call.prepare(
            state, self.prompt, all_observations, values, response_format=response_format("review", _SCHEMA)
        )

    def _route(self, review: tuple[bool, str] | None, text: str, state: State) -> dict[str, State]:
        """Record the review in the state and the trace, and choose the output.

        :param review: Whether the answer passed, and why. None if the review could not be read.
        :param text: The text of the model's reply. Its beginning is the explanation if the review could not be read.
        :param state: The state after the call.
        """
        # None means that the review could not be read.
        passed: bool | None = None
        if review is not None:
            passed, explanation = review
        else:
            explanation = " ".join(cut_text(text, 300).split())

        if passed is None and self.on_doubt == "end":
            raise RunError(
                f"The model's review could not be read, even when asked again: set on_doubt to keep, give the "
                f"reviewer another model, or raise {self._call.limit_setting} if replies are cut off (the model "
                f"replied: '{explanation}').",
                state,
            )

        if passed is not None:
            label = Label.CORRECT if passed else Label.INCORRECT
            reply = with_evaluation(state.step.reply, label, explanation)
            state = state.with_last(reply=reply, label=label, explanation=explanation)

        # Only a negative review leads to a search, and only as often as the settings allow.
        may_search = state.supplements < state.settings.max_supplements
        is_supplemented = passed is False and may_search
        state = state.with_event(
            "review",
            status=passed,
            # The model cites a passage as "1kx". The trace shows the mark that users know: "1".
            explanation=without_codes(explanation, known_marks(state)),
            parsed=passed is not None,
            supplement=is_supplemented,
        )
        if not is_supplemented:
            # The review was positive, could not be read, or was one negative review too many.
            return {"accepted": state}

        allowed = self.supplement_source in state.settings.sources
        source = self.supplement_source if allowed else state.settings.preferred
        state = replace(state, supplements=state.supplements + 1)
        state = state.with_event("search", source=source, query=state.query_for(source))
        return {f"search_{source}": state}


def _read(text: str) -> tuple[bool, str] | None:
    """Read from a reply whether the answer passed, and the texts about the aspects; None if there is no label."""
    passed, values = read_verdict(text, "label")
    if passed is None:
        return None
    explanations = [str(values[aspect]) for aspect in _ASPECTS if values.get(aspect)]
    return passed, " ".join(explanations)
