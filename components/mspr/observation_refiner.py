"""The component that summarises the passages of an earlier search if they are too long.

In a run of several searches, each prompt contains the passages of all earlier searches. Summaries keep the prompts
short.
"""

from collections.abc import Sequence
from dataclasses import replace

from haystack import Document, component

from prefrag.components.block import check_whole_number
from prefrag.components.both_ways import as_blocking
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, PreparedCall
from prefrag.components.generators.token_budget import Observations, rough_tokens
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.state.citations import prompt_marks
from prefrag.components.state.passages import passages
from prefrag.components.state.state import SUMMARY, State, Step


@component
class ObservationRefiner:
    """Summarise the passages of the search before the last, if they are too long (MSPR calls this ORS, section III.B).

    The component runs after a retrieval. The passages that this retrieval found stay whole, because the next action
    depends on their details. The summary of the earlier passages keeps everything that may matter for the question or
    for the current query.

    The summary replaces the earlier passages only in prompts. The run's result still contains the passages. Passages
    that do not fit into one call are summarised in parts. If the model cannot read all passages, they are not replaced.
    """

    def __init__(
        self,
        chat_generator: ChatGenerator,
        threshold: int = 1_500,
        enabled: bool = True,
        prompt: str = "observation_refiner",
        generation_kwargs: dict[str, object] | None = None,
    ):
        """Set up the component.

        :param chat_generator: The model that summarises.
        :param threshold: The number of tokens, as :func:`rough_tokens` counts them, above which the passages of a
            search are too long. The paper gives no number. It says only that HotpotQA's passages stay below the number.
            At top-k 5, about 3% of the searches on HotpotQA exceed this default, and 11% of those on 2WikiMultiHopQA.
        :param enabled: False summarises nothing, as in the ablation without ORS (table II).
        :param prompt: The prompt file.
        :param generation_kwargs: OpenAI-style parameters. None means temperature 0.1 and top_p 0.9.
        :raises ValueError: When the threshold is under 1, or the prompt file does not exist.
        """
        check_whole_number(1, threshold=threshold)
        prompt_path(prompt)
        self.chat_generator = chat_generator
        self.threshold = threshold
        self.enabled = enabled
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self._call = ModelCall("refiner", chat_generator, generation_kwargs)

    def warm_up(self) -> None:
        """Prepare the model, if summaries are enabled."""
        if self.enabled and not self._call.is_absent:
            self._call.warm_up()

    @component.output_types(state=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Summarise the passages of the search before the last, if they are too long.

        :param state: The state after a retrieval. The documents that it found have not been added to the step yet.
        :returns: ``state``, with a summary if the passages were too long.
        :raises RunError: When the model fails. The error contains the state.
        """
        number = self._find_too_long(state)
        if number is None:
            return {"state": state}
        summary, state = await self._summarise(state.steps[number].documents, state)
        return {"state": self._record(number, summary, state)}

    run = as_blocking(run_async)

    async def _summarise(self, documents: Sequence[Document], state: State) -> tuple[str, State]:
        """Summarise passages, in several calls if they do not fit into one call.

        The text of the result is empty if the model could not read a part of the passages.
        """
        summaries: list[str] = []
        # The groups of passages that are still to be summarised, in order.
        groups = [documents]
        while groups:
            group = groups.pop(0)
            call = self._prepare(group, state)
            is_cut = _was_cut(call.state, state)
            text = ""
            if not is_cut:
                text, state_after = await self._call.send_async(call)
                is_cut = _was_cut(state_after, state)
                state = state_after

            if is_cut and len(group) > 1:
                # The group does not fit into a call. Its two halves take its place.
                middle = len(group) // 2
                groups = [group[:middle], group[middle:], *groups]
            elif is_cut or not text.strip():
                return "", state
            else:
                summaries.append(text.strip())
        return "\n".join(summaries), state

    def _find_too_long(self, state: State) -> int | None:
        """Return the index of the step whose passages are to be summarised; None if there is none.

        The step is the last step before the current one that shows passages.
        """
        if not self.enabled or self._call.is_absent:
            return None
        # The steps before the last step that have passages.
        with_documents = [index for index, step in enumerate(state.steps[:-1]) if step.documents]
        if not with_documents:
            return None

        number = with_documents[-1]
        step = state.steps[number]
        if step.refined is not None or _tokens(step) <= self.threshold:
            return None
        return number

    def _prepare(self, documents: Sequence[Document], state: State) -> PreparedCall:
        """Prepare the call that summarises passages."""
        marks = prompt_marks(state)

        def values(observations: Observations) -> dict[str, object]:
            """Return the variables of the prompt, with the passages that fit into it."""
            return {
                "question": state.question,
                "query": state.query,
                "passages": passages(observations[0], marks=marks, prompts=state.settings.prompts),
                "marked": bool(marks),
            }

        return self._call.prepare(state, self.prompt, [documents], values)

    def _record(self, number: int, text: str, state: State) -> State:
        """Put a summary into a step, if the summary is shorter than the passages, and record it in the trace.

        :param number: The index of the step, counted from 0.
        :param text: The summary.
        :param state: The state after the model's calls.
        """
        step = state.steps[number]
        # The summary gets no citation mark. Its text repeats the passages' marks, so answers can cite the passages.
        summary = Document(
            id=f"refined-{number + 1}",
            content=text,
            meta={"title": "Summary of the passages", "source": step.source, "step": number + 1, SUMMARY: True},
        )
        shortened = replace(step, refined=summary)
        before = _tokens(step)
        after = _tokens(shortened)
        # If the summary is empty, or not shorter than the passages, it would only lose information.
        used = bool(summary.content) and after < before
        if used:
            steps = list(state.steps)
            steps[number] = shortened
            state = replace(state, steps=tuple(steps))
        return state.with_event("refined", of_step=number + 1, tokens_before=before, tokens_after=after, used=used)


def _was_cut(after: State, before: State) -> bool:
    """Check whether passages were left out of a prompt between two states, because they did not fit."""
    new_events = after.events[len(before.events) :]
    return any(event.kind == "cut" for event in new_events)


def _tokens(step: Step) -> int:
    """Estimate the tokens of a step's passages, or of the summary that replaces them.

    The passages are written in a fixed layout, so that the layout of the prompts does not matter.
    """
    texts = []
    for number, document in enumerate(step.shown, start=1):
        title = document.meta.get("title")
        source = document.meta.get("source")
        content = document.content or ""
        texts.append(f"[{number}] {title} ({source})\n{content}")
    return rough_tokens("\n\n".join(texts))
