"""The component of FLARE that keeps a model's sentence if all its tokens are probable, and otherwise starts a search.

The model writes its chain of thought sentence by sentence, and returns the probability of each token. A token with a
low probability shows that the model is not sure of it.
"""

import re
from operator import itemgetter

from haystack import component

from prefrag.components.block import check_range
from prefrag.components.both_ways import as_async
from prefrag.components.reasoner.reply_formats.cot_format import ends_chain, read_chain
from prefrag.components.reasoner.reply_formats.fields import plain_query
from prefrag.components.state.state import Action, RunError, State

# The message of the error if the model returned no probabilities.
NO_PROBABILITIES = (
    "The model returned no log probabilities of its tokens, which this method needs to decide when to search. Use a "
    "server that supports `logprobs` (vLLM, llama.cpp, OpenAI), a GGUF file, or another method, such as ircot."
)


@component
class LookAhead:
    """Check the next sentence before it is kept (FLARE, Jiang et al. 2023, section 3.2).

    A sentence is kept if all its tokens are probable. Otherwise, its improbable tokens are masked (left out). The other
    tokens become a search query, and the model writes the sentence again. The second version is always kept. A kept
    sentence with the words "the answer is" contains the final answer.

    If the model must write another sentence, the output is ``kept``. In all other cases (a search, an answer, an
    unreadable reply, too many sentences), the output is ``state``. The router of the pipeline then reads from the state
    what comes next.

    Usage example:
    ```python
    from prefrag.components.flare.look_ahead import LookAhead

    look_ahead = LookAhead(threshold=0.8, mask=0.4)
    ```
    """

    def __init__(self, threshold: float = 0.8, mask: float = 0.4):
        """Set up the component.

        :param threshold: A sentence is kept if the probability of every token is above this number, from 0 to 1 (theta
            in the paper).
        :param mask: The query contains the tokens whose probability is above this number, from 0 to 1 (beta in the
            paper). With 0, the query contains all tokens.
        :raises ValueError: When a number is not between 0 and 1.
        """
        check_range(0, 1, threshold=threshold, mask=mask)
        self.threshold = threshold
        self.mask = mask

    @component.output_types(kept=State, state=State)
    def run(self, state: State) -> dict[str, State]:
        """Check the last sentence.

        :param state: The state after a reply in the format ``cot``, requested with ``logprobs``.
        :returns: A dictionary with the key ``kept`` if the model must write the next sentence, otherwise with the key
            ``state``. Its value is the new state.
        :raises RunError: When the model returned no log probabilities. The error contains the state.
        """
        step = state.step
        if not step.reply or step.action not in (Action.SEARCH, Action.NONE):
            # The reply is empty or unreadable, or there is no language model and the extractive reader took this step.
            return {"state": state}

        is_second_version = _is_written_again(state)
        if not step.tokens and not is_second_version:
            raise RunError(NO_PROBABILITIES, state.with_event("error", caller="look_ahead", message=NO_PROBABILITIES))

        # The least probable token and its probability. A second version of a sentence may have no tokens.
        token, lowest = min(step.tokens, key=itemgetter(1), default=("", None))
        masked: list[str] = []
        query = ""
        is_sure = is_second_version or lowest is None or lowest > self.threshold
        if not is_sure:
            masked = [text.strip() for text, probability in step.tokens if probability <= self.mask]
            query = self._query(state)

        state = state.with_event(
            "look_ahead",
            text=step.reply,
            lowest=None if lowest is None else round(lowest, 3),
            token=token.strip(),
            masked=masked,
            query=query,
            again=is_second_version,
        )

        if query:
            # The sentence is left out of the chain of thought, because the model writes it again after the search.
            return {"state": state.with_last(action=Action.SEARCH, reply="", thought=step.reply, query=query)}

        if ends_chain(step.reply):
            answer = read_chain(step.reply).answer
            if answer:
                state = state.with_last(action=Action.ANSWER, query="", answer=answer)
                state = state.with_event("answer", text=answer, label=None, forced=False)
            return {"state": state}

        if state.replies > state.settings.max_steps:
            return {"state": state}
        return {"kept": state.with_last(action=Action.NONE, query="", tool="", thought=step.reply)}

    run_async = as_async(run)

    def _query(self, state: State) -> str:
        """Make the query from the tokens of the sentence that the model is sure of. Empty if no word is left."""
        sure_text = ""
        for text, probability in state.step.tokens:
            sure_text += text if probability > self.mask else " "
        has_word = re.search(r"\w", sure_text) is not None
        return plain_query(sure_text) if has_word else ""


def _is_written_again(state: State) -> bool:
    """Check whether the sentence is a second version, because the first version had improbable tokens."""
    readable_steps = [step for step in state.steps[:-1] if step.action is not Action.UNREADABLE]
    if not readable_steps or readable_steps[-1].action is not Action.SEARCH:
        return False
    # When the first version led to a search, it was moved from the reply to the thought.
    step_before = readable_steps[-1]
    return bool(step_before.thought) and not step_before.reply
